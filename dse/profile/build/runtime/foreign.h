/* Library functions whose reads and writes of the program's memory are known.
 *
 * The instrumented module calls __dse_call_NAME where the program calls NAME. FOREIGN lines name them: the
 * instrumentation reads this list. Each call is an invocation of a function of its own. */
#ifndef DSE_FOREIGN_H
#define DSE_FOREIGN_H
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

extern HIDDEN const u32 __dse_program_sites;

struct call {
    u32 at, site, block;
};

static struct call foreign_enter(u32 function) {
    u32 i = function - __dse_function_count;
    return (struct call){tree_enter(function), __dse_program_sites + 2 * i, __dse_block_count + i};
}
static void foreign_leave(struct call call) { tree_leave(call.at); }

#define FOREIGN(name) extern HIDDEN const u32 __dse_id_##name;
#define ENTER(name) struct call call = foreign_enter(__dse_id_##name)
#define LEAVE foreign_leave(call)
#define READ(p, n) range_read((u64)(p), (u64)(n), call.site, call.block)
#define WRITE(p, n) range_write((u64)(p), (u64)(n), call.site + 1, call.block)
#define COPY(to, from, n) __dse_copy((u64)(to), (u64)(from), (u64)(n), call.site, call.block)
#define SYSTEM_READ(p, n) system_read((u64)(p), (u64)(n), call.site, call.block)
#define SYSTEM_WRITE(p, n) system_write((u64)(p), (u64)(n), call.site + 1, call.block)
#define CLEAR(p, n) __dse_clear((u64)(p), (u64)(n))

/* name(parameters) = before; result = real call; after */
#define WRAP(type, name, parameters, arguments, before, after)     \
    HIDDEN type __dse_call_##name parameters {                          \
        ENTER(name);                                               \
        before;                                                    \
        type r = name arguments;                                   \
        after;                                                     \
        LEAVE;                                                     \
        return r;                                                  \
    }

typedef const char *text;
#define TEXT(s) READ(s, strlen(s) + 1)
#define PREFIX(s, n) READ(s, strnlen(s, n) + (strnlen(s, n) < (size_t)(n)))

FOREIGN(memcpy)
FOREIGN(memmove)
FOREIGN(memset)
FOREIGN(memcmp)
FOREIGN(memchr)
FOREIGN(strlen)
FOREIGN(strnlen)
FOREIGN(strcpy)
FOREIGN(strncpy)
FOREIGN(strcat)
FOREIGN(strncat)
FOREIGN(strcmp)
FOREIGN(strncmp)
FOREIGN(strchr)
FOREIGN(strrchr)
FOREIGN(strstr)
FOREIGN(strdup)
FOREIGN(atoi)
FOREIGN(atol)
FOREIGN(atof)
FOREIGN(strtol)
FOREIGN(strtoul)
FOREIGN(strtoll)
FOREIGN(strtoull)
FOREIGN(strtod)
FOREIGN(malloc)
FOREIGN(calloc)
FOREIGN(realloc)
FOREIGN(aligned_alloc)
FOREIGN(free)
FOREIGN(qsort)
FOREIGN(fread)
FOREIGN(fwrite)
FOREIGN(fgets)
FOREIGN(fputs)
FOREIGN(puts)
FOREIGN(fopen)
FOREIGN(read)
FOREIGN(write)
FOREIGN(getchar)
FOREIGN(putchar)
FOREIGN(printf)
FOREIGN(fprintf)
FOREIGN(sprintf)
FOREIGN(snprintf)
FOREIGN(vprintf)
FOREIGN(vfprintf)
FOREIGN(vsprintf)
FOREIGN(vsnprintf)
FOREIGN(scanf)
FOREIGN(fscanf)
FOREIGN(sscanf)
FOREIGN(getenv)
FOREIGN(time)
FOREIGN(gettimeofday)
FOREIGN(getrusage)
FOREIGN(clock_gettime)
FOREIGN(frexp)
FOREIGN(modf)
FOREIGN(_Znwm)
FOREIGN(_Znam)

WRAP(void *, memcpy, (void *d, const void *s, size_t n), (d, s, n), COPY(d, s, n), )
WRAP(void *, memmove, (void *d, const void *s, size_t n), (d, s, n), COPY(d, s, n), )
WRAP(void *, memset, (void *d, int c, size_t n), (d, c, n), , WRITE(d, n))
WRAP(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n), (READ(a, n), READ(b, n)), )
WRAP(void *, memchr, (const void *s, int c, size_t n), (s, c, n), ,
     READ(s, r ? (size_t)((char *)r - (char *)s) + 1 : n))
WRAP(size_t, strlen, (text s), (s), , READ(s, r + 1))
WRAP(size_t, strnlen, (text s, size_t n), (s, n), , READ(s, r + (r < n)))
WRAP(char *, strcpy, (char *d, text s), (d, s), TEXT(s), WRITE(d, strlen(d) + 1))
WRAP(char *, strncpy, (char *d, text s, size_t n), (d, s, n), PREFIX(s, n), WRITE(d, n))
WRAP(char *, strcat, (char *d, text s), (d, s), size_t k = strlen(d); READ(d, k + 1); TEXT(s),
     WRITE(d + k, strlen(d + k) + 1))
WRAP(char *, strncat, (char *d, text s, size_t n), (d, s, n), size_t k = strlen(d); READ(d, k + 1);
     PREFIX(s, n), WRITE(d + k, strlen(d + k) + 1))

/* How far a comparison looks: up to the first difference or the end. */
static size_t compared(text a, text b, size_t n) {
    size_t i = 0;
    while (i < n && a[i] == b[i] && a[i])
        i++;
    return i < n ? i + 1 : n;
}
WRAP(int, strcmp, (text a, text b), (a, b), size_t k = compared(a, b, ~(size_t)0); READ(a, k);
     READ(b, k), )
WRAP(int, strncmp, (text a, text b, size_t n), (a, b, n), size_t k = compared(a, b, n); READ(a, k);
     READ(b, k), )
WRAP(char *, strchr, (text s, int c), (s, c), , READ(s, r ? (size_t)(r - s) + 1 : strlen(s) + 1))
WRAP(char *, strrchr, (text s, int c), (s, c), TEXT(s), )
WRAP(char *, strstr, (text s, text p), (s, p), TEXT(p),
     READ(s, r ? (size_t)(r - s) + strlen(p) : strlen(s) + 1))
WRAP(char *, strdup, (text s), (s), TEXT(s), if (r) WRITE(r, strlen(r) + 1))
WRAP(int, atoi, (text s), (s), TEXT(s), )
WRAP(long, atol, (text s), (s), TEXT(s), )
WRAP(double, atof, (text s), (s), TEXT(s), )

/* Numbers read from a text: what was consumed and the character that ended it. */
#define NUMBER(type, name)                                                   \
    HIDDEN type __dse_call_##name(text s, char **end, int base) {                 \
        ENTER(name);                                                         \
        char *stop;                                                          \
        type r = name(s, &stop, base);                                       \
        READ(s, stop - s + 1);                                               \
        if (end) {                                                           \
            *end = stop;                                                     \
            WRITE(end, sizeof *end);                                         \
        }                                                                    \
        LEAVE;                                                               \
        return r;                                                            \
    }
NUMBER(long, strtol)
NUMBER(unsigned long, strtoul)
NUMBER(long long, strtoll)
NUMBER(unsigned long long, strtoull)
HIDDEN double __dse_call_strtod(text s, char **end) {
    ENTER(strtod);
    char *stop;
    double r = strtod(s, &stop);
    READ(s, stop - s + 1);
    if (end) {
        *end = stop;
        WRITE(end, sizeof *end);
    }
    LEAVE;
    return r;
}

/* glibc's `calloc` clears all of a block that has room in the heap, also where no block was before. The part of a block
 * for which the heap grows is new from the system, and so are blocks that have a mapping of their own, which glibc marks
 * in the word before them. Such memory is zero without a write. A block beyond the end is the first of a heap that has
 * grown for glibc itself. */
static int has_mapping(const void *block) {
    __asm__("" : "+r"(block)); /* to a compiler that knows where the block is from, this word is undefined */
    return (((const size_t *)block)[-1] & 2) != 0;
}

WRAP(void *, malloc, (size_t n), (n), , if (r) CLEAR(r, n))
WRAP(void *, aligned_alloc, (size_t a, size_t n), (a, n), , if (r) CLEAR(r, n))

HIDDEN void *__dse_call_calloc(size_t k, size_t n) {
    ENTER(calloc);
    u64 end = (u64)sbrk(0), bytes = k * n;
    char *r = calloc(k, n);
    if (r && OTHER_THREAD) {
        others_write((u64)r, bytes);
    } else if (r) {
        u64 old = has_mapping(r) ? 0 : (u64)r < end && end - (u64)r < bytes ? end - (u64)r : bytes;
        WRITE(r, old);
        shadow_zeros((u64)r + old, bytes - old);
        trace('Z', 0, 0, (u64)r + old, bytes - old, 0);
    }
    LEAVE;
    return r;
}

/* It has no effect on data, but a call through a pointer, such as an allocator's hook, is a call of it too. */
HIDDEN void __dse_call_free(void *block) {
    ENTER(free);
    free(block);
    LEAVE;
}

/* A block that moves keeps its writers and readers: nothing is transferred. The system moves a mapping without a copy. */
HIDDEN void *__dse_call_realloc(void *old, size_t n) {
    ENTER(realloc);
    size_t had = old ? malloc_usable_size(old) : 0, keep = had < n ? had : n;
    int copied = old && !has_mapping(old);
    char *r = realloc(old, n);
    if (r && (void *)r != old && keep && OTHER_THREAD)
        others_write((u64)r, keep);
    else if (r && (void *)r != old && keep) {
        if (copied) {
            cache_copy((u64)r, (u64)old, keep, call.site, call.block);
            trace('r', call.site, call.block, (u64)old, keep, 0);
            trace('w', call.site + 1, call.block, (u64)r, keep, 0);
        }
        shadow_move((u64)r, (u64)old, keep);
        trace('V', 0, 0, (u64)old, 0, 0);
        trace('v', 0, 0, (u64)r, keep, 0);
    }
    if (r && n > keep)
        CLEAR(r + keep, n - keep);
    LEAVE;
    return r;
}
HIDDEN void __dse_call_qsort(void *base, size_t k, size_t n, int (*compare)(const void *, const void *)) {
    STACK_AT(((u64)__builtin_frame_address(0) & -(u64)16) - 1024); /* for what it calls back */
    ENTER(qsort);
    READ(base, k * n);
    qsort(base, k, n, compare);
    WRITE(base, k * n);
    LEAVE;
}

/* glibc has the system read and write whole blocks in place, and copies the rest from and to its buffer. */
enum { FILE_BLOCK = 4096 };
static void file_read(struct call call, char *p, u64 bytes, u64 asked) {
    u64 whole = asked - asked % FILE_BLOCK, direct = bytes < whole ? bytes : whole;
    SYSTEM_WRITE(p, direct);
    WRITE(p + direct, bytes - direct);
}
static void file_written(struct call call, const char *p, u64 bytes) {
    u64 direct = bytes - bytes % FILE_BLOCK;
    SYSTEM_READ(p, direct);
    READ(p + direct, bytes - direct);
}
WRAP(size_t, fread, (void *p, size_t n, size_t k, FILE *f), (p, n, k, f), , file_read(call, p, r * n, n * k))
WRAP(size_t, fwrite, (const void *p, size_t n, size_t k, FILE *f), (p, n, k, f), file_written(call, p, n * k), )
WRAP(char *, fgets, (char *p, int n, FILE *f), (p, n, f), , if (r) WRITE(p, strlen(p) + 1))
WRAP(int, fputs, (text s, FILE *f), (s, f), TEXT(s), )
WRAP(int, puts, (text s), (s), TEXT(s), )
WRAP(FILE *, fopen, (text path, text mode), (path, mode), TEXT(path); TEXT(mode), )
WRAP(ssize_t, read, (int f, void *p, size_t n), (f, p, n), , if (r > 0) SYSTEM_WRITE(p, r))
WRAP(ssize_t, write, (int f, const void *p, size_t n), (f, p, n), SYSTEM_READ(p, n), )
/* As the headers define them in line, which -fno-inline keeps the program from using. */
HIDDEN int __dse_call_getchar(void) {
    ENTER(getchar);
    int r = getc(stdin);
    LEAVE;
    return r;
}
HIDDEN int __dse_call_putchar(int c) {
    ENTER(putchar);
    int r = putc(c, stdout);
    LEAVE;
    return r;
}
WRAP(char *, getenv, (text s), (s), TEXT(s), )
WRAP(time_t, time, (time_t *p), (p), , if (p) WRITE(p, sizeof *p))
WRAP(int, gettimeofday, (struct timeval *p, void *zone), (p, zone), , if (p) WRITE(p, sizeof *p))
WRAP(int, getrusage, (int who, struct rusage *p), (who, p), , WRITE(p, sizeof *p))
WRAP(int, clock_gettime, (clockid_t c, struct timespec *p), (c, p), , WRITE(p, sizeof *p))
extern double frexp(double, int *), modf(double, double *);
WRAP(double, frexp, (double x, int *e), (x, e), , WRITE(e, sizeof *e))
WRAP(double, modf, (double x, double *w), (x, w), , WRITE(w, sizeof *w))

/* One conversion of a format: its letter, the size of an integer or real, width and precision. */
struct conversion {
    char letter;
    int suppressed, size, width, precision, stars;
};
static text next_conversion(text p, struct conversion *c, int scanning) {
    *c = (struct conversion){.size = 4, .width = -1, .precision = -1};
    while (*p && *p != '%')
        p++;
    if (!*p)
        return 0;
    for (p++; *p == '-' || *p == '+' || *p == ' ' || *p == '#' || *p == '0' || *p == '\''; p++)
        ;
    if (*p == '*') {
        c->suppressed = scanning;
        c->stars += !scanning;
        p++;
    }
    if (*p >= '0' && *p <= '9')
        for (c->width = 0; *p >= '0' && *p <= '9'; p++)
            c->width = 10 * c->width + (*p - '0');
    if (*p == '.') {
        p++;
        if (*p == '*') {
            c->stars += 2;
            p++;
        } else
            for (c->precision = 0; *p >= '0' && *p <= '9'; p++)
                c->precision = 10 * c->precision + (*p - '0');
    }
    for (; *p && strchr("hlLjztq", *p); p++)
        c->size = *p == 'h' ? (c->size == 2 ? 1 : 2) : *p == 'L' ? 16 : 8;
    c->letter = *p;
    return *p ? p + 1 : 0;
}

static void format_reads(struct call call, text format, va_list list) {
    struct conversion c;
    READ(format, strlen(format) + 1);
    while ((format = next_conversion(format, &c, 0))) {
        if (c.letter == '%')
            continue;
        if (c.stars & 1)
            (void)va_arg(list, int);
        if (c.stars & 2)
            c.precision = va_arg(list, int);
        if (c.letter == 's') {
            text s = va_arg(list, text);
            if (s && c.size == 4)
                PREFIX(s, c.precision >= 0 ? (size_t)c.precision : ~(size_t)0 >> 1);
        } else if (c.letter == 'n')
            WRITE(va_arg(list, void *), c.size);
        else if (strchr("aAeEfFgG", c.letter)) {
            if (c.size == 16)
                (void)va_arg(list, long double);
            else
                (void)va_arg(list, double);
        } else if (c.size == 8 || c.letter == 'p')
            (void)va_arg(list, long);
        else
            (void)va_arg(list, int);
    }
}

/* The first `stored` conversions stored something. */
static void scan_writes(struct call call, text format, va_list list, int stored) {
    struct conversion c;
    READ(format, strlen(format) + 1);
    while ((format = next_conversion(format, &c, 1))) {
        if (c.letter == '[') {
            format += *format == '^';
            format += *format == ']';
            while (*format && *format != ']')
                format++;
            format += *format != 0;
        }
        if (c.letter == '%' || c.suppressed)
            continue;
        if (c.letter != 'n' && stored-- <= 0)
            return;
        char *p = va_arg(list, char *);
        if (c.letter == 's' || c.letter == '[')
            WRITE(p, strlen(p) + 1);
        else if (c.letter == 'c')
            WRITE(p, c.width > 0 ? c.width : 1);
        else
            WRITE(p, c.letter == 'p' ? 8 : c.size);
    }
}

#define PRINT(name, leading, real, after)                     \
    HIDDEN int __dse_call_##name leading {                         \
        ENTER(name);                                          \
        va_list list, copy;                                   \
        va_start(list, format);                               \
        va_copy(copy, list);                                  \
        format_reads(call, format, copy);                     \
        int r = real;                                         \
        va_end(copy);                                         \
        va_end(list);                                         \
        after;                                                \
        LEAVE;                                                \
        return r;                                             \
    }
#define PRINT_LIST(name, leading, real, after)                \
    HIDDEN int __dse_call_##name leading {                         \
        ENTER(name);                                          \
        va_list copy;                                         \
        va_copy(copy, list);                                  \
        format_reads(call, format, copy);                     \
        va_end(copy);                                         \
        int r = real;                                         \
        after;                                                \
        LEAVE;                                                \
        return r;                                             \
    }
#define STORED(n) (r < 0 ? 0 : n == 0 ? 0 : (size_t)r < n ? (size_t)r + 1 : n)
PRINT(printf, (text format, ...), vprintf(format, list), )
PRINT(fprintf, (FILE * f, text format, ...), vfprintf(f, format, list), )
PRINT(sprintf, (char *d, text format, ...), vsprintf(d, format, list), if (r >= 0) WRITE(d, r + 1))
PRINT(snprintf, (char *d, size_t n, text format, ...), vsnprintf(d, n, format, list),
      WRITE(d, STORED(n)))
PRINT_LIST(vprintf, (text format, va_list list), vprintf(format, list), )
PRINT_LIST(vfprintf, (FILE * f, text format, va_list list), vfprintf(f, format, list), )
PRINT_LIST(vsprintf, (char *d, text format, va_list list), vsprintf(d, format, list),
           if (r >= 0) WRITE(d, r + 1))
PRINT_LIST(vsnprintf, (char *d, size_t n, text format, va_list list), vsnprintf(d, n, format, list),
           WRITE(d, STORED(n)))

#define SCAN(name, leading, real)                             \
    HIDDEN int __dse_call_##name leading {                         \
        ENTER(name);                                          \
        va_list list, copy;                                   \
        va_start(list, format);                               \
        va_copy(copy, list);                                  \
        int r = real;                                         \
        scan_writes(call, format, copy, r);                   \
        va_end(copy);                                         \
        va_end(list);                                         \
        LEAVE;                                                \
        return r;                                             \
    }
SCAN(scanf, (text format, ...), vscanf(format, list))
SCAN(fscanf, (FILE * f, text format, ...), vfscanf(f, format, list))
HIDDEN int __dse_call_sscanf(text s, text format, ...) {
    ENTER(sscanf);
    TEXT(s);
    va_list list, copy;
    va_start(list, format);
    va_copy(copy, list);
    int r = vsscanf(s, format, list);
    scan_writes(call, format, copy, r);
    va_end(copy);
    va_end(list);
    LEAVE;
    return r;
}

#ifdef DSE_CXX
extern void *_Znwm(size_t), *_Znam(size_t);
WRAP(void *, _Znwm, (size_t n), (n), , CLEAR(r, n))
WRAP(void *, _Znam, (size_t n), (n), , CLEAR(r, n))
#endif
#endif
