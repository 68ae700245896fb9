/* What memory held before the program wrote to it: what the loader put there, and the arguments. */
#ifndef DSE_ORIGINS_H
#define DSE_ORIGINS_H
#include <fcntl.h>
#include "trace.h"

#ifdef DSE_TRANSFERS
/* The address ranges that the loader filled, and where the arguments begin on the stack. */
static struct span {
    u64 low, high;
} spans[256];
static u32 span_count;
static u64 input_low;

static u32 shadow_origin(u64 a) {
    if (a >= input_low)
        return 1 + INPUT;
    for (u32 i = 0; i < span_count; i++)
        if (a >= spans[i].low && a < spans[i].high)
            return 1 + CONSTANTS;
    return 1 + UNKNOWN;
}

static u64 hex(const char **p) {
    u64 x = 0;
    for (;; (*p)++) {
        if (**p >= '0' && **p <= '9')
            x = 16 * x + (u64)(**p - '0');
        else if (**p >= 'a' && **p <= 'f')
            x = 16 * x + (u64)(**p - 'a' + 10);
        else
            return x;
    }
}

/* File-backed mappings, and the anonymous ones that follow one directly (zeroed static data). */
static void shadow_spans(void) {
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char text[1 << 16];
    size_t used = 0;
    ssize_t got;
    while (file >= 0 && used < sizeof text - 1 &&
           (got = read(file, text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)got;
    if (file >= 0)
        close(file);
    text[used] = 0;
    u64 end = 0;
    for (const char *p = text; *p && span_count < sizeof spans / sizeof *spans;) {
        struct span s = {hex(&p), 0};
        p++;
        s.high = hex(&p);
        int path = 0, special = 0;
        while (*p && *p != '\n') {
            path |= *p == '/';
            special |= *p == '[';
            p++;
        }
        if (*p)
            p++;
        if ((path || s.low == end) && !special) {
            spans[span_count++] = s;
            end = path ? s.high : 0;
            trace('M', 0, 0, s.low, (u32)((s.high - s.low) >> 12), 0);
        }
    }
}

static void shadow_input(u64 low) {
    input_low = low;
    trace('I', 0, 0, input_low, 0, 0);
}
#else
static void shadow_input(u64 low) {}
#endif
#endif
