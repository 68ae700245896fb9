/* A mix of small scientific loops in the manner of the Whetstone benchmark (Curnow and Wichmann, 1976).
 *
 *     whetstone [TIMES]
 *
 * Each part does what a part of that benchmark stands for, and knows its result: scalars, arrays, arrays passed to
 * functions, jumps, integers, sines, calls, references, square roots and logarithms. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 4, RING = 7 };

static int wrong;

static void expect(double value, double right, double tolerance, const char *what) {
    if (!(fabs(value - right) <= tolerance)) {
        printf("%s: %.12g, not %.12g\n", what, value, right);
        wrong = 1;
    }
}

/* Turn a vector by an angle of sine 3/5 and back: it comes home. */
static void scalars(int times) {
    double x = 1, y = 0.5;
    for (int i = 0; i < times; i++) {
        double turned = 0.8 * x - 0.6 * y;
        y = 0.6 * x + 0.8 * y;
        x = turned;
        turned = 0.8 * x + 0.6 * y;
        y = 0.8 * y - 0.6 * x;
        x = turned;
    }
    expect(x, 1, 1e-9, "scalars");
    expect(y, 0.5, 1e-9, "scalars");
}

/* Mix four elements with weights that sum to 1 in each row and column: their sum stays, all approach the mean. */
static void array_elements(int times) {
    double e[N] = {1, -1, 2, 4};
    for (int i = 0; i < times; i++) {
        double a = e[0], b = e[1], c = e[2], d = e[3];
        e[0] = (a + a + b + d) * 0.25;
        e[1] = (b + b + c + a) * 0.25;
        e[2] = (c + c + d + b) * 0.25;
        e[3] = (d + d + a + c) * 0.25;
    }
    expect(e[0] + e[1] + e[2] + e[3], 6, 1e-9, "array elements");
}

static void smooth(double *e, int rounds) {
    for (int j = 0; j < rounds; j++) {
        double first = e[0];
        for (int k = 0; k < N - 1; k++)
            e[k] = (e[k] + e[k + 1]) / 2;
        e[N - 1] = (e[N - 1] + first) / 2;
    }
}

static void array_as_argument(int times) {
    double e[N] = {1, -1, 2, 4};
    for (int i = 0; i < times; i++) {
        e[0] += 1.0 / times;
        smooth(e, 6);
    }
    expect(e[0] + e[1] + e[2] + e[3], 7, 1e-9, "array as argument");
}

/* A walk of three states: 0, 1, 2, 0, ... */
static void jumps(int times) {
    int state = 0, seen = 0;
    for (int i = 0; i < 3 * times; i++) {
        if (state == 0)
            state = 1;
        else if (state > 1)
            state = 0;
        else
            state = 2;
        if (state < 1)
            seen++;
    }
    expect(seen, times, 0, "jumps");
}

/* By Fermat 3^(p-1) = 1 modulo a prime p. */
static void integers(int times) {
    int product = 1, prime = 10007;
    for (int i = 0; i < times; i++)
        for (int k = 0; k < 8; k++)
            product = product * (k + 1) % prime;
    int power = 1;
    for (int i = 0; i < prime - 1; i++)
        power = power * 3 % prime;
    int factorial = 1;
    for (int i = 0; i < times % (prime - 1); i++)
        factorial = factorial * (40320 % prime) % prime;
    expect(power, 1, 0, "integers");
    expect(product, factorial, 0, "integers");
}

/* sin 2x / cos 2x by sums of angles: its arc tangent is 2x. */
static void sines(int times) {
    double x = 0.5, y = 0.25;
    for (int i = 0; i < times; i++) {
        x = 0.5 * atan(2 * sin(x) * cos(x) / (cos(x + x) + cos(x - x) - 1));
        y = 0.5 * atan(2 * sin(y) * cos(y) / (cos(y + y) + cos(y - y) - 1));
    }
    expect(x, 0.5, 1e-6, "sines");
    expect(y, 0.25, 1e-6, "sines");
}

static void halfway(double x, double y, double *z) {
    x = 0.5 * (x + y);
    y = 0.5 * (x + y);
    *z = (x + y) / 2;
}

/* z becomes (x + y) / 2, then (y + that) / 2; the mean of the two is (3 x + 5 y) / 8. */
static void calls(int times) {
    double z = 0;
    for (int i = 0; i < times; i++)
        halfway(1, 2, &z);
    expect(z, 1.625, 1e-12, "calls");
}

/* Turn a ring by one place, seven times a round. */
static void references(int times) {
    int ring[RING], at[RING];
    for (int i = 0; i < RING; i++) {
        ring[i] = i;
        at[i] = (i + 1) % RING;
    }
    for (int i = 0; i < RING * times; i++) {
        int first = ring[0], k = 0;
        for (; at[k]; k = at[k])
            ring[k] = ring[at[k]];
        ring[k] = first;
    }
    for (int i = 0; i < RING; i++)
        expect(ring[i], i, 0, "references");
}

/* The square root of exp(2 log x) is x. */
static void functions(int times) {
    double x = 0.75;
    for (int i = 0; i < times; i++)
        x = sqrt(exp(2 * log(x)));
    expect(x, 0.75, 1e-6, "functions");
}

int main(int argc, char **argv) {
    int times = argc > 1 ? atoi(argv[1]) : 10;
    scalars(30 * times);
    array_elements(12 * times);
    array_as_argument(14 * times);
    jumps(115 * times);
    integers(210 * times);
    sines(32 * times);
    calls(899 * times);
    references(88 * times);
    functions(93 * times);
    puts(wrong ? "WRONG" : "right");
    return wrong;
}
