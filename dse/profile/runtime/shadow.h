/* Who last wrote and who last read each chunk of memory, and the bytes that moved between them.
 *
 * A cell is the writing invocation (low half) and the last reading one (high half; 0: none since the
 * write). Cells live in pages on demand: 64 KiB of the program's memory each. */
#ifndef DSE_SHADOW_H
#define DSE_SHADOW_H
#include <fcntl.h>
#include "tree.h"

#ifndef DSE_CHUNK
#define DSE_CHUNK 0 /* log2 of the chunk's bytes */
#endif

#ifdef DSE_TRANSFERS
enum { PAGE = 16, CELLS = 1 << (PAGE - DSE_CHUNK), WRITTEN_BY_NONE = 1 + UNKNOWN };

static u64 **shadow_top[1 << 15];
static u64 *shadow_empty[1 << 16];
static u64 shadow_pages;
static char *shadow_arena;
static u64 shadow_room;

/* Matrices by (from, to): a row is touched only where something was counted. */
static u64 matrix_side, *moved, *entered, *left;

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

static SLOW u64 *shadow_page(u64 a) {
    u64 ***slot = &shadow_top[(a >> 32) & 0x7fff];
    if (*slot == shadow_empty)
        *slot = reserve(8 << 16);
    u64 **page = &(*slot)[(a >> PAGE) & 0xffff];
    if (!*page) {
        if (shadow_room < 8 * CELLS) {
            shadow_room = 64 << 20;
            shadow_arena = reserve(shadow_room);
        }
        *page = (u64 *)shadow_arena;
        shadow_arena += 8 * CELLS;
        shadow_room -= 8 * CELLS;
        shadow_pages++;
    }
    return *page;
}

FAST u64 *shadow_cell(u64 a) {
    u64 *page = shadow_top[(a >> 32) & 0x7fff][(a >> PAGE) & 0xffff];
    if (unlikely(!page))
        page = shadow_page(a);
    return page + ((a & ((1 << PAGE) - 1)) >> DSE_CHUNK);
}

/* The invocation now running reads `bytes` bytes that `writer` wrote and `reader` read last. */
static __attribute__((noinline)) void credit(u64 a, u32 writer, u32 reader, u64 bytes) {
    if (!COUNTING)
        return;
    if (!writer)
        writer = shadow_origin(a);
    struct frame *top = &frames[depth];
    struct node *source = &nodes[invocation_node[writer]];
    u32 from = source->function, since = writer > reader ? writer : reader;
    if (writer == current) {
        local_bytes[from] += bytes;
        return;
    }
    moved[from * matrix_side + top->function] += bytes;
    /* Into each live function and its callees: new to the outermost invocation that began after both
     * the write and the last read. */
    for (u32 at = top->outer; at && frames[at].invocation > since; at = frames[at - 1].outer)
        entered[from * matrix_side + frames[at].function] += bytes;
    if (writer < FIRST_INVOCATION)
        return;
    /* Out of each function and its callees: the outermost invocations around the writer that ended.
     * Those still alive are the frames that began no later than the writer. */
    for (u32 n = source->outer; n; n = nodes[nodes[n].parent].outer) {
        u32 at = nodes[n].depth;
        if (at <= depth && frames[at].invocation <= writer)
            break;
        left[nodes[n].function * matrix_side + top->function] += bytes;
    }
}

static __attribute__((noinline)) void shadow_read_cells(u64 a, u64 *cell, u64 cells) {
    u64 mine = (u64)current << 32;
    for (u64 i = 0; i < cells;) {
        u64 old = cell[i], n = 0;
        for (u64 other = 0; i + n + 8 <= cells; n += 8) { /* eight at once, where all are alike */
            for (u64 k = 0; k < 8; k++)
                other |= cell[i + n + k] ^ old;
            if (other)
                break;
            for (u64 k = 0; k < 8; k++)
                cell[i + n + k] = mine | (u32)old;
        }
        while (i + n < cells && cell[i + n] == old) {
            cell[i + n] = mine | (u32)old;
            n++;
        }
        if (old >> 32 != current)
            credit(a + (i << DSE_CHUNK), (u32)old, (u32)(old >> 32), n << DSE_CHUNK);
        i += n;
    }
}

static __attribute__((noinline)) void shadow_range(u64 a, u64 bytes, int write, u64 value) {
    u64 first = a >> DSE_CHUNK, last = (a + bytes - 1) >> DSE_CHUNK;
    while (first <= last) {
        u64 n = CELLS - (first & (CELLS - 1));
        if (n > last - first + 1)
            n = last - first + 1;
        u64 *cell = shadow_cell(first << DSE_CHUNK);
        if (write)
            for (u64 i = 0; i < n; i++)
                cell[i] = value;
        else
            shadow_read_cells(first << DSE_CHUNK, cell, n);
        first += n;
    }
}

/* The everyday cases, without a call. Reading: this invocation read all of it before. */
FAST int shadow_known(u64 a, const u32 size) {
    const u64 *page = shadow_top[(a >> 32) & 0x7fff][(a >> PAGE) & 0xffff];
    if (unlikely(!page || (a & ((1 << PAGE) - 1)) + size > 1 << PAGE))
        return 0;
    const u64 *cell = page + ((a & ((1 << PAGE) - 1)) >> DSE_CHUNK);
    u32 me = current, other = 0;
    u64 cells = DSE_CHUNK ? ((a + size - 1) >> DSE_CHUNK) - (a >> DSE_CHUNK) + 1 : size;
    for (u64 i = 0; i < cells; i++)
        other |= (u32)(cell[i] >> 32) ^ me;
    return !other;
}

/* Writing: the page is there. */
FAST int shadow_take(u64 a, const u32 size) {
    u64 *page = shadow_top[(a >> 32) & 0x7fff][(a >> PAGE) & 0xffff];
    if (unlikely(!page || (a & ((1 << PAGE) - 1)) + size > 1 << PAGE))
        return 0;
    u64 *cell = page + ((a & ((1 << PAGE) - 1)) >> DSE_CHUNK), me = current;
    u64 cells = DSE_CHUNK ? ((a + size - 1) >> DSE_CHUNK) - (a >> DSE_CHUNK) + 1 : size;
    for (u64 i = 0; i < cells; i++)
        cell[i] = me;
    return 1;
}

/* Reading what another invocation wrote: all of it by the same one, as a rule. */
FAST void shadow_learn(u64 a, const u32 size) {
    u64 *page = shadow_top[(a >> 32) & 0x7fff][(a >> PAGE) & 0xffff];
    if (DSE_CHUNK == 0 && likely(page && (a & ((1 << PAGE) - 1)) + size <= 1 << PAGE)) {
        u64 *cell = page + (a & ((1 << PAGE) - 1)), old = cell[0], other = 0;
        for (u32 i = 0; i < size; i++)
            other |= cell[i] ^ old;
        if (likely(!other)) {
            for (u32 i = 0; i < size; i++)
                cell[i] = (u64)current << 32 | (u32)old;
            credit(a, (u32)old, (u32)(old >> 32), size);
            return;
        }
    }
    shadow_range(a, size, 0, 0);
}

/* Memory that is given out anew: what it held is nobody's. */
static void shadow_clear(u64 a, u64 bytes) {
    if (bytes)
        shadow_range(a, bytes, 1, WRITTEN_BY_NONE);
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

static void shadow_start(char **arguments) {
    for (u32 i = 0; i < 1 << 15; i++)
        shadow_top[i] = shadow_empty;
    matrix_side = __dse_function_count + __dse_foreign_count + ORIGINS;
    moved = reserve(8 * matrix_side * matrix_side);
    entered = reserve(8 * matrix_side * matrix_side);
    left = reserve(8 * matrix_side * matrix_side);
    input_low = (u64)arguments;
    trace('I', 0, 0, input_low, 0, 0);
    shadow_spans();
}
#else
FAST int shadow_known(u64 a, const u32 size) { return 1; }
FAST int shadow_take(u64 a, const u32 size) { return 1; }
FAST void shadow_learn(u64 a, const u32 size) {}
static void shadow_range(u64 a, u64 bytes, int write, u64 value) {}
static void shadow_clear(u64 a, u64 bytes) {}
static void shadow_start(char **arguments) {}
#endif
#endif
