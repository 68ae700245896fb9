/* A machine with a table of operations, a sort through a call-back, and a long jump on an error. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

typedef long operation(long, long);

static jmp_buf failed;

static long add(long a, long b) { return a + b; }
static long subtract(long a, long b) { return a - b; }
static long multiply(long a, long b) { return a * b % 10007; }
static long divide(long a, long b) {
    if (b == 0)
        longjmp(failed, 1);
    return a / b;
}

static operation *const operations[] = {add, subtract, multiply, divide};

struct step {
    int code;
    long value;
};

static long execute(const struct step *steps, int n) {
    long x = 1;
    for (int i = 0; i < n; i++)
        x = operations[steps[i].code](x, steps[i].value);
    return x;
}

static int by_value(const void *a, const void *b) {
    const struct step *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 24;
    struct step *steps = malloc((size_t)n * sizeof *steps);
    unsigned seed = 12345;
    volatile int failures = 0;
    long total = 0;
    for (int round = 0; round < 24; round++) {
        for (int i = 0; i < n; i++) {
            seed = seed * 1103515245u + 12345u;
            steps[i].code = (int)(seed >> 16 & 3);
            steps[i].value = (long)(seed >> 20 & 15);
        }
        if (setjmp(failed)) {
            failures++;
            continue;
        }
        qsort(steps, (size_t)n, sizeof *steps, by_value);
        total += execute(steps + (round & 1 ? n / 4 : 0), n - (round & 1 ? n / 4 : 0));
    }
    printf("%ld, %d failed\n", total, failures);
    free(steps);
    return 0;
}
