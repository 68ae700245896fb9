/* Shadow memory: for each chunk of memory who last wrote and who last read it.
 *
 * A cell is the writing invocation (low half) and the last reading one (high half; 0: none since the
 * write). For each word of memory (4 bytes, or a larger chunk) stands the block that last wrote in it,
 * plus one (0: no block of the program). Both live in pages on demand: 64 KiB of memory each.
 *
 * `kept` is the history of a chunk's value since it was written, void if nobody read it since;
 * `touched` that of a word, and `toucher` the invocation that touched it last (flows.h).
 *
 * The chunks of a word have one cell and one history as long as they are equal. A word whose chunks are not
 * is SPLIT: theirs stand in the page's parts, until they are equal again. */
#ifndef DSE_PAGES_H
#define DSE_PAGES_H
#include "base.h"

#ifndef DSE_CHUNK
#define DSE_CHUNK 0 /* log2 of the chunk's bytes */
#endif

#ifdef DSE_TRANSFERS
enum { PAGE = 16, WORD = DSE_CHUNK > 2 ? DSE_CHUNK : 2, WORDS = 1 << (PAGE - WORD), CELLS = 1 << (PAGE - DSE_CHUNK), WRITTEN_BY_NONE = 1 + UNKNOWN };
enum { PARTS = 1 << (WORD - DSE_CHUNK) }; /* chunks of a word */

#ifdef DSE_WIDE
typedef u32 place; /* a block plus one */
#else
typedef u16 place;
#endif
enum { NO_BLOCK = 0xffffffffu };

#define SPLIT ((u64)1 << 32) /* read by an origin, as no cell is */

struct parts {
    u64 cells[CELLS];
    u32 kept[CELLS];
};
struct page {
    u64 cells[WORDS];
    place blocks[WORDS];
    u32 kept[WORDS], touched[WORDS], toucher[WORDS];
    struct parts *parts;
};
enum { TOP = 1 << 15, BELOW = 1 << 16 };
static struct page ***const shadow_top = (struct page ***)PLACE(PLACE_SHADOW);
static struct page **const shadow_empty = (struct page **)(PLACE(PLACE_SHADOW) + 8 * TOP);
static u64 shadow_bytes;

/* Zeroed memory for pages and their parts. */
static SLOW void *shadow_new(u64 bytes) {
    static char *arena;
    static u64 room;
    if (room < bytes) {
        room = 64 << 20;
        arena = reserve(room);
        madvise(arena, room, MADV_HUGEPAGE);
    }
    void *p = arena;
    bytes = (bytes + 63) & -(u64)64;
    arena += bytes;
    room -= bytes;
    shadow_bytes += bytes;
    return p;
}

static SLOW struct page *shadow_page(u64 a) {
    struct page ***slot = &shadow_top[(a >> 32) & 0x7fff];
    if (*slot == shadow_empty)
        *slot = reserve(8 * BELOW);
    struct page **page = &(*slot)[(a >> PAGE) & 0xffff];
    if (!*page)
        *page = shadow_new(sizeof **page);
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

FAST int is_split(u64 cell) { return PARTS > 1 && cell == SPLIT; }

/* Give each chunk of a word its own cell. */
FAST void split(struct page *page, u64 word) {
    u64 cell = page->cells[word];
    if (PARTS == 1 || cell == SPLIT)
        return;
    if (unlikely(!page->parts))
        page->parts = shadow_new(sizeof *page->parts);
    for (u32 i = 0; i < PARTS; i++) {
        page->parts->cells[word * PARTS + i] = cell;
        page->parts->kept[word * PARTS + i] = page->kept[word];
    }
    page->cells[word] = SPLIT;
}

/* Give a split word one cell again if its chunks are equal. */
FAST void merge(struct page *page, u64 word) {
    const u64 *cell = page->parts->cells + word * PARTS;
    const u32 *kept = page->parts->kept + word * PARTS;
    u64 other = 0;
    for (u32 i = 1; i < PARTS; i++)
        other |= (cell[i] ^ cell[0]) | (cell[0] >> 32 ? kept[i] ^ kept[0] : 0);
    if (!other) {
        page->cells[word] = cell[0];
        page->kept[word] = kept[0];
    }
}

#endif
#endif
