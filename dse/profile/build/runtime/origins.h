/* What memory held before the program wrote to it: what the loader put there, and the arguments. */
#ifndef DSE_ORIGINS_H
#define DSE_ORIGINS_H
#include <fcntl.h>
#include "trace.h"

#ifdef DSE_TRANSFERS
/* The address ranges that the loader filled, and where the arguments begin on the stack. */
enum { SPANS = 4096 };
static struct span {
    u64 low, high;
    u32 origin;
} spans[SPANS];
static u32 span_count;
static u64 input_low;

static u32 shadow_origin(u64 a) {
    if (a >= input_low)
        return 1 + INPUT;
    for (u32 i = 0; i < span_count; i++)
        if (a >= spans[i].low && a < spans[i].high)
            return spans[i].origin;
    return 1 + UNKNOWN;
}

/* Memory that was mapped: input, or nobody's. What was there before is forgotten. */
static void span_mapped(u64 low, u64 bytes, int input) {
    u64 high = (low + bytes + 4095) & -(u64)4096;
    for (u32 i = 0; i < span_count; i++) {
        struct span *s = &spans[i];
        if (s->low >= high || s->high <= low)
            continue;
        if (s->low < low && s->high > high && span_count < SPANS)
            spans[span_count++] = (struct span){high, s->high, s->origin};
        if (s->low < low)
            s->high = low;
        else
            s->low = s->high > high ? high : s->high;
    }
    for (u32 i = 0; input && i <= span_count && i < SPANS; i++)
        if (i == span_count || spans[i].low == spans[i].high) {
            spans[i] = (struct span){low, high, 1 + INPUT};
            span_count += i == span_count;
            break;
        }
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
    for (const char *p = text; *p && span_count < SPANS;) {
        struct span s = {hex(&p), 0, 1 + CONSTANTS};
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
