/* Less usual constructs: computed jumps, complex and long numbers, vectors, atomics, variable arrays,
 * structures by value, thread-local data, inline assembly, aliases, bit fields. */
#include <complex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef float quad __attribute__((vector_size(16)));
struct small {
    short a, b;
};
struct large {
    long items[9];
    unsigned low : 3, middle : 7, high : 22;
};

static _Thread_local int calls;
static atomic_int total;

static int interpret(const unsigned char *code) {
    static const void *const labels[] = {&&stop, &&add, &&twice, &&back};
    int x = 1, left = 5;
    goto *labels[*code++];
add:
    x += *code++;
    goto *labels[*code++];
twice:
    x *= 2;
    goto *labels[*code++];
back:
    if (left-- > 0)
        code -= 4;
    goto *labels[*code++];
stop:
    return x;
}

static struct large fill(struct large v, struct small s) {
    for (int i = 0; i < 9; i++)
        v.items[i] += s.a * i - s.b;
    v.low = (unsigned)s.a;
    v.middle += v.low;
    v.high ^= v.middle;
    calls++;
    return v;
}

static long double series(int n) {
    long double sum = 0;
    for (int i = 1; i <= n; i++)
        sum += 1.0L / i;
    return sum;
}

static unsigned __int128 factorial(int n) { return n < 2 ? 1 : (unsigned __int128)n * factorial(n - 1); }

static double complex turn(double complex z, int n) { return n ? turn(z * (0.6 + 0.8 * I), n - 1) : z; }

static quad scale(quad v, float f) { return v * f + (quad){1, 2, 3, 4}; }

static int sum_of(int n, int columns) {
    int table[n][columns], sum = 0;
    int *copy = __builtin_alloca(sizeof(int) * (size_t)n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < columns; j++)
            table[i][j] = i * j;
    for (int i = 0; i < n; i++)
        copy[i] = table[i][columns - 1];
    for (int i = 0; i < n; i++)
        sum += copy[i];
    return sum;
}

static int assembly(int x) {
    int y = x;
#ifdef __x86_64__
    __asm__ volatile("addl $5, %0\n\t# done" : "+r"(y) : : "cc");
#else
    y += 5;
#endif
    return y;
}

int original(int x) { return 3 * x; }
int other(int x) __attribute__((alias("original")));

static const char *name_of(int x) {
    switch (x) {
    case 0:
    case 4:
        return "even";
    case 1 ... 3:
        return "low";
    case 1000000:
        return "far";
    default:
        return "none";
    }
}

int main(int argc, char **argv) {
    (void)argv;
    struct large v = {{0}, 1, 2, 3};
    for (int i = 0; i < 4; i++) {
        v = fill(v, (struct small){(short)i, (short)(i * argc)});
        atomic_fetch_add(&total, i);
        int expected = 3;
        atomic_compare_exchange_strong(&total, &expected, 40);
    }
    quad q = scale((quad){1, 2, 3, 4}, 2.5f);
    double complex z = turn(1, 8);
    unsigned __int128 f = factorial(25);
    printf("%d %ld %u %u %d %d\n", interpret((const unsigned char *)"\1\7\2\3\0"), v.items[8], v.middle, v.high,
           calls, total);
    printf("%.6Lf %.3f %.3f %llu %g %g\n", series(30), creal(z), cimag(z), (unsigned long long)(f >> 64),
           (double)q[0], (double)q[3]);
    printf("%d %d %d %s %s %s\n", sum_of(5, 4), assembly(argc), other(argc), name_of(4), name_of(argc),
           name_of(1000000));
    return 0;
}
