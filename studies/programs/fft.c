/* Fast Fourier transforms there and back, in double precision.
 *
 *     fft [POINTS [TIMES]]        a power of two
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void reorder(double *re, double *im, int n) {
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double r = re[i], m = im[i];
            re[i] = re[j];
            im[i] = im[j];
            re[j] = r;
            im[j] = m;
        }
    }
}

static void transform(double *re, double *im, const double *cosine, const double *sine, int n, int sign) {
    reorder(re, im, n);
    for (int size = 2; size <= n; size *= 2) {
        int half = size / 2, step = n / size;
        for (int start = 0; start < n; start += size)
            for (int k = 0; k < half; k++) {
                double c = cosine[k * step], s = sign * sine[k * step];
                int a = start + k, b = a + half;
                double r = re[b] * c - im[b] * s, m = re[b] * s + im[b] * c;
                re[b] = re[a] - r;
                im[b] = im[a] - m;
                re[a] += r;
                im[a] += m;
            }
    }
}

static double real_part(int i) {
    return i % 7 - 3;
}

static double imaginary_part(int i) {
    return i % 5 - 2;
}

/* How far element k of a transform is from its definition. */
static double distance(double r, double m, int n, int k) {
    for (int i = 0; i < n; i++) {
        double angle = 6.283185307179586 * (double)((long long)i * k % n) / n;
        r -= real_part(i) * cos(angle) - imaginary_part(i) * sin(angle);
        m -= real_part(i) * sin(angle) + imaginary_part(i) * cos(angle);
    }
    return hypot(r, m);
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 64, times = argc > 2 ? atoi(argv[2]) : 1;
    double *re = malloc((size_t)n * sizeof *re), *im = malloc((size_t)n * sizeof *im);
    double *cosine = malloc((size_t)n * sizeof *cosine), *sine = malloc((size_t)n * sizeof *sine);
    for (int i = 0; i < n; i++) {
        cosine[i] = cos(6.283185307179586 * i / n);
        sine[i] = sin(6.283185307179586 * i / n);
        re[i] = real_part(i);
        im[i] = imaginary_part(i);
    }
    double error = 0;
    for (int t = 0; t < times; t++) {
        transform(re, im, cosine, sine, n, 1);
        if (t == 0)
            error = distance(re[n / 3], im[n / 3], n, n / 3);
        transform(re, im, cosine, sine, n, -1);
        for (int i = 0; i < n; i++) {
            re[i] /= n;
            im[i] /= n;
        }
    }
    for (int i = 0; i < n; i++)
        error += fabs(re[i] - real_part(i)) + fabs(im[i] - imaginary_part(i));
    printf("error below %g\n", error / n < 1e-9 ? 1e-9 : 1.0);
    return !(error / n < 1e-9);
}
