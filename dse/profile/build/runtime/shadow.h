/* Who last wrote and who last read each chunk of memory, and the bytes that moved between them.
 *
 * A cell is the writing invocation (low half) and the last reading one (high half; 0: none since the
 * write). For each word of memory (4 bytes, or a larger chunk) stands the block that last wrote in it,
 * plus one (0: no block of the program). Both live in pages on demand: 64 KiB of memory each.
 *
 * `kept` is the history of a chunk's value since it was written, void if nobody read it since;
 * `touched` that of a word, and `toucher` the invocation that touched it last (flows.h). */
#ifndef DSE_SHADOW_H
#define DSE_SHADOW_H
#include "flows.h"
#include "origins.h"

#ifndef DSE_CHUNK
#define DSE_CHUNK 0 /* log2 of the chunk's bytes */
#endif

#ifdef DSE_TRANSFERS
enum { PAGE = 16, WORD = DSE_CHUNK > 2 ? DSE_CHUNK : 2, WORDS = 1 << (PAGE - WORD), CELLS = 1 << (PAGE - DSE_CHUNK), WRITTEN_BY_NONE = 1 + UNKNOWN };

#ifdef DSE_WIDE
typedef u32 place; /* a block plus one */
#else
typedef u16 place;
#endif
enum { NO_BLOCK = 0xffffffffu };

struct page {
    u64 cells[CELLS];
    place blocks[WORDS];
    u32 kept[CELLS], touched[WORDS], toucher[WORDS];
};
enum { TOP = 1 << 15, BELOW = 1 << 16 };
static struct page ***const shadow_top = (struct page ***)PLACE(PLACE_SHADOW);
static struct page **const shadow_empty = (struct page **)(PLACE(PLACE_SHADOW) + 8 * TOP);
static u64 shadow_pages;
static char *shadow_arena;
static u64 shadow_room;

/* Bytes that each access read of what each block wrote: (block plus one, site). An access that reads
 * from the same block as before adds to `recent` alone. */
static struct table reads;
static struct source {
    u64 bytes;
    u32 block; /* plus one */
} *recent; /* by site */

static SLOW struct page *shadow_page(u64 a) {
    struct page ***slot = &shadow_top[(a >> 32) & 0x7fff];
    if (*slot == shadow_empty)
        *slot = reserve(8 * BELOW);
    struct page **page = &(*slot)[(a >> PAGE) & 0xffff];
    if (!*page) {
        if (shadow_room < sizeof **page) {
            shadow_room = 64 << 20;
            shadow_arena = reserve(shadow_room);
            madvise(shadow_arena, shadow_room, MADV_HUGEPAGE);
        }
        *page = (struct page *)shadow_arena;
        shadow_arena += sizeof **page;
        shadow_room -= sizeof **page;
        shadow_pages++;
    }
    return *page;
}

/* The page of an address, null where nothing touched it yet, and the place in it. */
FAST struct page *shadow_seen(u64 a) { return shadow_top[(a >> 32) & 0x7fff][(a >> PAGE) & 0xffff]; }
FAST u64 shadow_at(u64 a) { return (a & ((1 << PAGE) - 1)) >> DSE_CHUNK; }
FAST u64 word_at(u64 a) { return (a & ((1 << PAGE) - 1)) >> WORD; }
FAST struct page *shadow_of(u64 a) {
    struct page *page = shadow_seen(a);
    return likely(page) ? page : shadow_page(a);
}

/* How many numbers from the first on equal it; blocks of them are compared at once. */
#define RUN(name, type)                               \
    static u64 name(const type *x, u64 count) {       \
        u64 i = 1;                                    \
        for (; i + 16 <= count; i += 16) {            \
            type other = 0;                           \
            for (u32 k = 0; k < 16; k++)              \
                other |= x[i + k] ^ x[0];             \
            if (other)                                \
                break;                                \
        }                                             \
        while (i < count && x[i] == x[0])             \
            i++;                                      \
        return i;                                     \
    }
RUN(equal_cells, u64)
RUN(equal_words, u32)

static SLOW u64 touch_run(struct page *page, u64 word, u64 stop) {
    u32 toucher = page->toucher[word], touched = page->touched[word];
    u64 end = word + equal_words(page->toucher + word, stop - word);
    end = word + equal_words(page->touched + word, end - word);
    u32 more = touch(toucher, touched, end - word);
    for (u64 i = word; i < end; i++)
        page->toucher[i] = current;
    if (more != touched)
        for (u64 i = word; i < end; i++)
            page->touched[i] = more;
    return end;
}

/* A word that this invocation or one that it called touched is not new to anyone alive. */
FAST void touch_words(struct page *page, u64 word, u64 stop) {
    if (!COUNTING)
        return;
    while (word < stop)
        word = unlikely(page->toucher[word] < current) ? touch_run(page, word, stop) : word + 1;
}

static __attribute__((noinline)) void shadow_read_cells(u64 a, u64 *cell, u32 *kept, u64 cells) {
    for (u64 i = 0, end; i < cells; i = end) {
        u64 old = cell[i];
        u32 history = kept[i], reader = (u32)(old >> 32);
        end = i + equal_cells(cell + i, cells - i);
        if (reader == current)
            continue;
        if (reader)
            end = i + equal_words(kept + i, end - i);
        u32 writer = (u32)old ? (u32)old : shadow_origin(a + (i << DSE_CHUNK));
        u32 more = credit(writer, reader, history, (end - i) << DSE_CHUNK);
        for (u64 k = i; k < end; k++)
            cell[k] = (u64)current << 32 | (u32)old;
        for (u64 k = i; k < end; k++)
            kept[k] = more;
    }
}

/* A site reads `bytes` bytes that a block wrote. */
static void count_read(u32 site, u32 block, u64 bytes) {
    if (!COUNTING)
        return;
    struct source *r = &recent[site];
    if (r->block != block) {
        if (r->bytes)
            table_at(&reads, r->block, site)->first += r->bytes;
        *r = (struct source){0, block};
    }
    r->bytes += bytes;
}

static void count_reads(u64 a, u64 bytes, const struct page *page, u32 site) {
    u64 end = a + bytes, at = word_at(a);
    while (a < end) {
        u64 start = a;
        place from = page->blocks[at];
        do {
            a = ((a >> WORD) + 1) << WORD;
            at++;
        } while (a < end && page->blocks[at] == from);
        count_read(site, from, (a < end ? a : end) - start);
    }
}

/* How much of a run of bytes lies in the page that it begins in. */
static u64 in_page(u64 a, u64 bytes) {
    u64 room = (1 << PAGE) - (a & ((1 << PAGE) - 1));
    return bytes < room ? bytes : room;
}

static __attribute__((noinline)) void shadow_read(u64 a, u64 bytes, u32 site) {
    while (bytes) {
        u64 n = in_page(a, bytes), first = a >> DSE_CHUNK, last = (a + n - 1) >> DSE_CHUNK;
        struct page *page = shadow_of(a);
        count_reads(a, n, page, site);
        u64 at = shadow_at(a);
        shadow_read_cells(first << DSE_CHUNK, page->cells + at, page->kept + at, last - first + 1);
        touch_words(page, word_at(a), word_at(a + n - 1) + 1);
        a += n;
        bytes -= n;
    }
}

/* Where memory is given out, by NO_BLOCK, a word that is not given out wholly keeps its block. */
static __attribute__((noinline)) void shadow_write(u64 a, u64 bytes, u64 writer, u32 block) {
    u64 word = (1 << WORD) - 1;
    while (bytes) {
        u64 n = in_page(a, bytes), at = shadow_at(a), end = shadow_at(a + n - 1);
        struct page *page = shadow_of(a);
        for (u64 i = at; i <= end; i++)
            page->cells[i] = writer;
        u64 first = word_at(a), stop = word_at(a + n - 1) + 1;
        if (block == NO_BLOCK) {
            first += (a & word) != 0;
            stop -= ((a + n) & word) != 0;
        }
        for (u64 i = first; i < stop; i++)
            page->blocks[i] = (place)(block + 1);
        if (block != NO_BLOCK)
            touch_words(page, first, stop);
        a += n;
        bytes -= n;
    }
}

/* How many cells an access touches that lies in one page. */
FAST u64 cells_of(u64 a, const u32 size) {
    return DSE_CHUNK ? ((a + size - 1) >> DSE_CHUNK) - (a >> DSE_CHUNK) + 1 : size;
}
FAST int one_page(u64 a, const u32 size) { return (a & ((1 << PAGE) - 1)) + size <= 1 << PAGE; }
/* Whether an access lies in as few words as its size allows, which is how many. */
FAST u64 words_of(const u32 size) { return ((size - 1) >> WORD) + 1; }
FAST int aligned(u64 a, const u32 size) {
    return ((a & ((1 << WORD) - 1)) + size - 1) >> WORD == (size - 1) >> WORD;
}

/* The everyday cases, without a call. Reading: this invocation read all of it before, and the site
 * reads from the block that it last read from. */
FAST int shadow_known(u64 a, const u32 size, u32 site) {
    const struct page *page = shadow_seen(a);
    if (unlikely(!page || !one_page(a, size) || !aligned(a, size)))
        return 0;
    const u64 *cell = page->cells + shadow_at(a);
    const place *block = page->blocks + word_at(a);
    struct source *r = &recent[site];
    u64 mine = (u64)current << 32, other = 0;
    place from = (place)r->block, another = 0;
    for (u64 i = 0; i < cells_of(a, size); i++)
        other |= (cell[i] ^ mine) & 0xffffffff00000000u;
    if (unlikely(other != 0))
        return 0;
    for (u64 i = 0; i < words_of(size); i++)
        another |= block[i] ^ from;
    if (unlikely(another != 0))
        return 0;
    if (COUNTING)
        r->bytes += size;
    return 1;
}

/* Writing: the page is there. */
FAST int shadow_take(u64 a, const u32 size, u32 block) {
    struct page *page = shadow_seen(a);
    if (unlikely(!page || !one_page(a, size) || !aligned(a, size)))
        return 0;
    u64 at = shadow_at(a), word = word_at(a), me = current;
    u32 another = 0;
    for (u64 i = 0; i < words_of(size); i++)
        another |= page->toucher[word + i] < current;
    if (unlikely(another))
        return 0;
    for (u64 i = 0; i < cells_of(a, size); i++)
        page->cells[at + i] = me;
    for (u64 i = 0; i < words_of(size); i++)
        page->blocks[word + i] = (place)(block + 1);
    return 1;
}

/* Reading what another invocation wrote: all of it by the same one, as a rule. */
FAST void shadow_learn(u64 a, const u32 size, u32 site) {
    struct page *page = shadow_seen(a);
    if (DSE_CHUNK == 0 && likely(page && one_page(a, size))) {
        u64 *cell = page->cells + shadow_at(a), old = cell[0], other = 0;
        u32 *kept = page->kept + shadow_at(a);
        for (u32 i = 0; i < size; i++)
            other |= (cell[i] ^ old) | (kept[i] ^ kept[0]);
        if (likely(!other)) {
            touch_words(page, word_at(a), word_at(a + size - 1) + 1);
            count_reads(a, size, page, site);
            if (old >> 32 == current)
                return;
            u32 writer = (u32)old ? (u32)old : shadow_origin(a);
            u32 more = credit(writer, (u32)(old >> 32), kept[0], size);
            for (u32 i = 0; i < size; i++) {
                cell[i] = (u64)current << 32 | (u32)old;
                kept[i] = more;
            }
            return;
        }
    }
    shadow_read(a, size, site);
}

/* Memory that is given out anew: what it held is nobody's, as in a page that nothing touched yet. */
static void shadow_clear(u64 a, u64 bytes) {
    while (bytes) {
        u64 n = in_page(a, bytes);
        if (shadow_seen(a) || shadow_origin(a) != WRITTEN_BY_NONE)
            shadow_write(a, n, WRITTEN_BY_NONE, NO_BLOCK);
        a += n;
        bytes -= n;
    }
}

/* Memory that was mapped. */
static void shadow_mapped(u64 a, u64 bytes, int input) {
    span_mapped(a, bytes, input);
    while (bytes) {
        u64 n = in_page(a, bytes);
        if (shadow_seen(a))
            shadow_write(a, n, 1 + (input ? INPUT : UNKNOWN), NO_BLOCK);
        a += n;
        bytes -= n;
    }
}

/* Memory whose content moved: its writers and readers move along. */
static void shadow_move(u64 to, u64 from, u64 bytes) {
    for (u64 i = 0; i < bytes; i += 1 << DSE_CHUNK) {
        struct page *target = shadow_of(to + i), *source = shadow_of(from + i);
        target->cells[shadow_at(to + i)] = source->cells[shadow_at(from + i)];
        target->kept[shadow_at(to + i)] = source->kept[shadow_at(from + i)];
    }
    for (u64 i = 0; i < bytes; i += 1 << WORD)
        shadow_of(to + i)->blocks[word_at(to + i)] = shadow_of(from + i)->blocks[word_at(from + i)];
}

static struct table *all_reads(void) {
    for (u32 site = 0; site < __dse_site_count; site++)
        if (recent[site].bytes) {
            table_at(&reads, recent[site].block, site)->first += recent[site].bytes;
            recent[site].bytes = 0;
        }
    return &reads;
}

static void shadow_start(void) {
    reserve_at((u64)shadow_top, 8 * (TOP + BELOW));
    for (u32 i = 0; i < TOP; i++)
        shadow_top[i] = shadow_empty;
    flows_start();
    recent = reserve(sizeof *recent * ((u64)__dse_site_count + 1));
    shadow_spans();
}
#else
FAST int shadow_known(u64 a, const u32 size, u32 site) { return 1; }
FAST int shadow_take(u64 a, const u32 size, u32 block) { return 1; }
FAST void shadow_learn(u64 a, const u32 size, u32 site) {}
static void shadow_read(u64 a, u64 bytes, u32 site) {}
static void shadow_write(u64 a, u64 bytes, u64 writer, u32 block) {}
static void shadow_clear(u64 a, u64 bytes) {}
static void shadow_mapped(u64 a, u64 bytes, int input) {}
static void shadow_move(u64 to, u64 from, u64 bytes) {}
static void shadow_start(void) {}
#endif
#endif
