/* Tagged values: a union read as it was written, and a float taken apart through a union. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum kind { WHOLE, REAL, PAIR };

struct value {
    enum kind kind;
    union {
        int64_t whole;
        double real;
        struct {
            int32_t first, second;
        } pair;
    } as;
};

union bits {
    float number;
    uint32_t word;
    uint8_t bytes[4];
};

static struct value make(uint32_t x) {
    struct value v = {.kind = x % 3};
    if (v.kind == WHOLE)
        v.as.whole = (int64_t)x * 7 - 50;
    else if (v.kind == REAL)
        v.as.real = x / 8.0;
    else {
        v.as.pair.first = (int32_t)(x & 15);
        v.as.pair.second = (int32_t)(x >> 4);
    }
    return v;
}

static double number(const struct value *v) {
    switch (v->kind) {
    case WHOLE:
        return (double)v->as.whole;
    case REAL:
        return v->as.real;
    case PAIR:
        return v->as.pair.first + 100.0 * v->as.pair.second;
    }
    return 0;
}

static int exponent(float x) {
    union bits b = {.number = x};
    return (int)(b.word >> 23 & 255) - 127;
}

static int low_byte(float x) {
    union bits b;
    b.number = x;
    return b.bytes[0] ^ b.bytes[3];
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 40;
    struct value *values = calloc((size_t)n, sizeof *values);
    double sum = 0;
    int powers = 0, bytes = 0;
    for (int i = 0; i < n; i++)
        values[i] = make((uint32_t)i * 2654435761u >> 20);
    for (int i = 0; i < n; i++) {
        double x = number(&values[i]);
        sum += x;
        powers += exponent((float)x + 1);
        bytes ^= low_byte((float)x);
    }
    printf("%.3f %d %d\n", sum, powers, bytes);
    free(values);
    return 0;
}
