/* Successive over-relaxation of Laplace's equation on a square.
 *
 *     sor [SIDE [SWEEPS]]
 *
 * The edges hold x^2 - y^2, whose five-point difference vanishes everywhere: it is the solution inside as well. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double solution(int x, int y) {
    return (double)x * x - (double)y * y;
}

static void fill(double *u, int side) {
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            int inside = x > 0 && y > 0 && x < side - 1 && y < side - 1;
            u[y * side + x] = inside ? 0 : solution(x, y);
        }
}

/* One sweep in place; returns the largest change. */
static double sweep(double *u, int side, double factor) {
    double largest = 0;
    for (int y = 1; y < side - 1; y++) {
        double *row = u + y * side;
        for (int x = 1; x < side - 1; x++) {
            double mean = 0.25 * (row[x - 1] + row[x + 1] + row[x - side] + row[x + side]);
            double change = factor * (mean - row[x]), size = fabs(change);
            row[x] += change;
            if (size > largest)
                largest = size;
        }
    }
    return largest;
}

static double worst(const double *u, int side) {
    double error = 0;
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            error = fmax(error, fabs(u[y * side + x] - solution(x, y)));
    return error;
}

int main(int argc, char **argv) {
    int side = argc > 1 ? atoi(argv[1]) : 16, most = argc > 2 ? atoi(argv[2]) : 1000, sweeps = 0;
    double *u = malloc((size_t)(side * side) * sizeof *u);
    /* The best factor for this problem (Young). */
    double factor = 2 / (1 + sin(3.14159265358979323846 / (side - 1))), change = 1;
    fill(u, side);
    for (; sweeps < most && change > 1e-11 * side * side; sweeps++)
        change = sweep(u, side, factor);
    int right = worst(u, side) < 1e-8 * side * side;
    printf("%d sweeps\n%s\n", sweeps, right ? "right" : "WRONG");
    free(u);
    return !right;
}
