/* Formats numbers through functions with variable arguments, in registers and on the stack. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char out[4096];
static size_t length;

static void put(char c) {
    if (length < sizeof out - 1)
        out[length++] = c;
}

static void put_number(long x, int base) {
    char digits[24];
    int n = 0;
    unsigned long u = x < 0 ? -(unsigned long)x : (unsigned long)x;
    do
        digits[n++] = "0123456789abcdef"[u % (unsigned long)base];
    while (u /= (unsigned long)base);
    if (x < 0)
        put('-');
    while (n)
        put(digits[--n]);
}

static void put_list(const char *format, va_list list) {
    for (; *format; format++) {
        if (*format != '%') {
            put(*format);
            continue;
        }
        switch (*++format) {
        case 'd':
            put_number(va_arg(list, int), 10);
            break;
        case 'x':
            put_number(va_arg(list, long), 16);
            break;
        case 'f':
            put_number((long)(va_arg(list, double) * 100), 10);
            break;
        case 's':
            for (const char *s = va_arg(list, const char *); *s; s++)
                put(*s);
            break;
        default:
            put('%');
        }
    }
}

static void print(const char *format, ...) {
    va_list list;
    va_start(list, format);
    put_list(format, list);
    va_end(list);
}

static long sum(int n, ...) {
    va_list list, again;
    long total = 0;
    va_start(list, n);
    va_copy(again, list);
    for (int i = 0; i < n; i++)
        total += va_arg(list, long);
    for (int i = 0; i < n; i++)
        total ^= va_arg(again, long);
    va_end(again);
    va_end(list);
    return total;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 5;
    for (int i = 0; i < n; i++) {
        print("%d: %x %f %s%s\n", i, (long)i * i * 77, i / 3.0, i & 1 ? "odd" : "even", argv[0] ? "" : "!");
        print("%d %d %d %d %d %d %d %f %f\n", i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, 0.5, 1.5);
        print("%d\n", (int)sum(9, 1L, 2L, 3L, (long)i, 5L, 6L, 7L, 8L, 9L));
    }
    out[length] = 0;
    fputs(out, stdout);
    return 0;
}
