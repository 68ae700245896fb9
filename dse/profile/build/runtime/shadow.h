/* What reading and writing changes in shadow memory, and the bytes that moved between those who did. */
#ifndef DSE_SHADOW_H
#define DSE_SHADOW_H
#include "flows.h"
#include "origins.h"
#include "pages.h"
#include "threads.h"

#ifdef DSE_TRANSFERS
/* Bytes that each access read of what each block wrote: (block plus one, site). An access that reads
 * from the same block as before adds to `recent` alone. */
static struct table reads;
static struct source {
    u64 bytes;
    u32 block; /* plus one */
} *recent; /* by site */

/* How many elements from the first on equal it, in all arrays given: to look through one of them and then
 * through the next would take the square of the time if the runs of the one are long. Blocks are compared at once. */
#define RUN(name, differ, ...)                                   \
    static u64 name(u64 count, __VA_ARGS__) {                    \
        u64 j = 1;                                               \
        while (j + 16 <= count) {                                \
            __typeof__(x[0] + 0) other = 0;                      \
            for (u64 stop = j + 16; j < stop; j++)               \
                other |= differ;                                 \
            if (other) {                                         \
                j -= 16;                                         \
                break;                                           \
            }                                                    \
        }                                                        \
        while (j < count && !(differ))                           \
            j++;                                                 \
        return j;                                                \
    }
RUN(equal_cells, x[j] ^ x[0], const u64 *x)
RUN(equal_kept, (x[j] ^ x[0]) | (y[j] ^ y[0]), const u64 *x, const u32 *y)
RUN(equal_touched, (x[j] ^ x[0]) | (y[j] ^ y[0]), const u32 *x, const u32 *y)
RUN(equal_places, x[j] ^ x[0], const place *x)

static __attribute__((noinline)) u64 touch_run(struct page *page, u64 word, u64 stop) {
    u32 toucher = page->toucher[word], touched = page->touched[word];
    u64 end = word + 1;
    if (end < stop && page->toucher[end] == toucher)
        end = word + equal_touched(stop - word, page->toucher + word, page->touched + word);
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

/* The invocation now running reads cells of `1 << unit` bytes each; returns how many, up to a split word. */
FAST u64 read_cells(u64 a, u64 *cell, u32 *kept, u64 cells, const u32 unit) {
    for (u64 i = 0, end; i < cells; i = end) {
        u64 old = cell[i];
        u32 history = kept[i], reader = (u32)(old >> 32);
        int whole = !reader || reader == current; /* else with their histories */
        end = i + (whole ? equal_cells(cells - i, cell + i) : equal_kept(cells - i, cell + i, kept + i));
        if (reader == current)
            continue;
        if (is_split(old))
            return i;
        u32 writer = (u32)old ? (u32)old : shadow_origin(a + (i << unit));
        u32 more = credit(writer, reader, history, (end - i) << unit);
        for (u64 k = i; k < end; k++)
            cell[k] = (u64)current << 32 | (u32)old;
        for (u64 k = i; k < end; k++)
            kept[k] = more;
    }
    return cells;
}

/* Reads chunks of one word, those from `at` to before `end`. */
static void read_parts(struct page *page, u64 a, u64 at, u64 end) {
    if (at >= end || page->cells[at / PARTS] >> 32 == current)
        return;
    split(page, at / PARTS);
    struct parts *parts = &page->parts[at / PARTS];
    read_cells(a, parts->cells + at % PARTS, parts->kept + at % PARTS, end - at, DSE_CHUNK);
    merge(page, at / PARTS);
}

static void read_words(struct page *page, u64 a, u64 word, u64 stop) {
    for (;; word++, a += 1 << WORD) {
        u64 seen = read_cells(a, page->cells + word, page->kept + word, stop - word, WORD);
        word += seen;
        a += seen << WORD;
        if (word >= stop)
            return;
        read_parts(page, a, word * PARTS, word * PARTS + PARTS);
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
    u64 end = a + bytes, at = word_at(a), stop = word_at(end - 1) + 1;
    while (a < end) {
        u64 start = a, run = equal_places(stop - at, page->blocks + at);
        a = ((a >> WORD) + run) << WORD;
        count_read(site, page->blocks[at], (a < end ? a : end) - start);
        at += run;
    }
}

/* How much of a run of bytes lies in the page that it begins in. */
static u64 in_page(u64 a, u64 bytes) {
    u64 room = (1 << PAGE) - (a & ((1 << PAGE) - 1));
    return bytes < room ? bytes : room;
}

/* A run of bytes in a page: its chunks, and which words it has whole. */
struct extent {
    u64 at, end, first, last; /* chunks before `end`, words before `last` */
};
FAST struct extent extent_of(u64 a, u64 n) {
    struct extent e = {shadow_at(a), shadow_at(a + n - 1) + 1, 0, 0};
    e.first = (e.at + PARTS - 1) / PARTS;
    e.last = e.end / PARTS;
    return e;
}
/* Where the part of a word ends that a run begins with, and where one begins that it ends with. */
FAST u64 head_end(struct extent e) { return e.first * PARTS < e.end ? e.first * PARTS : e.end; }
FAST u64 tail_start(struct extent e) { return e.first <= e.last ? e.last * PARTS : e.end; }

static __attribute__((noinline)) void shadow_read(u64 a, u64 bytes, u32 site) {
    marks_settle(a, bytes, 0);
    while (bytes) {
        u64 n = in_page(a, bytes), base = a >> PAGE << PAGE;
        struct page *page = shadow_of(a);
        struct extent e = extent_of(a, n);
        count_reads(a, n, page, site);
        read_parts(page, base + (e.at << DSE_CHUNK), e.at, head_end(e));
        if (e.first < e.last)
            read_words(page, base + (e.first << WORD), e.first, e.last);
        read_parts(page, base + (tail_start(e) << DSE_CHUNK), tail_start(e), e.end);
        touch_words(page, word_at(a), word_at(a + n - 1) + 1);
        a += n;
        bytes -= n;
    }
}

static void write_parts(struct page *page, u64 at, u64 end, u64 writer) {
    if (at >= end || page->cells[at / PARTS] == writer)
        return;
    split(page, at / PARTS);
    for (u64 i = at; i < end; i++)
        page->parts[at / PARTS].cells[i % PARTS] = writer;
    merge(page, at / PARTS);
}

/* Where memory is given out, by NO_BLOCK, a word that is not given out wholly keeps its block. */
static __attribute__((noinline)) void shadow_write(u64 a, u64 bytes, u64 writer, u32 block) {
    marks_settle(a, bytes, 1);
    u64 word = (1 << WORD) - 1;
    while (bytes) {
        u64 n = in_page(a, bytes);
        struct page *page = shadow_of(a);
        struct extent e = extent_of(a, n);
        write_parts(page, e.at, head_end(e), writer);
        for (u64 i = e.first; i < e.last; i++)
            page->cells[i] = writer;
        write_parts(page, tail_start(e), e.end, writer);
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

/* Whether an invocation may have read words that it has not touched: since they moved, or before the region. */
#ifdef DSE_REGION
static int read_unseen = 1;
#else
static int read_unseen;
#endif

/* Count what a site reads of whole words if it is the block's that it last read from. */
FAST int same_source(const struct page *page, u64 word, const u32 size, u32 site) {
    struct source *r = &recent[site];
    place from = (place)r->block, another = 0;
    for (u64 i = 0; i < words_of(size); i++)
        another |= page->blocks[word + i] ^ from;
    if (unlikely(another != 0))
        return 0;
    if (COUNTING)
        r->bytes += size;
    return 1;
}

/* Whether there is a word that the invocation now running has not touched. */
FAST int untouched(const struct page *page, u64 word, const u32 size) {
    u32 another = 0;
    for (u64 i = 0; i < words_of(size); i++)
        another |= page->toucher[word + i] < current;
    return another != 0;
}

/* The everyday cases, without a call. Reading: this invocation read all of it before, and the site
 * reads from the block that it last read from. */
FAST int shadow_known(u64 a, const u32 size, u32 site) {
    const struct page *page = shadow_seen(a);
    if (unlikely(!page || !one_page(a, size) || !aligned(a, size)))
        return 0;
    const u64 *cell = page->cells + word_at(a);
    u64 mine = (u64)current << 32, other = 0;
    for (u64 i = 0; i < words_of(size); i++)
        other |= (cell[i] ^ mine) & 0xffffffff00000000u;
    if (unlikely(read_unseen) && untouched(page, word_at(a), size))
        return 0;
    if (unlikely(other != 0)) {
        if (size >= 1 << WORD || !is_split(cell[0]))
            return 0;
        const u64 *part = page->parts[word_at(a)].cells + shadow_at(a) % PARTS;
        for (u64 i = 0; i < cells_of(a, size); i++)
            if (part[i] >> 32 != current)
                return 0;
    }
    return same_source(page, word_at(a), size, site);
}

/* Writing: the page is there, and a part of a word is not its first to change. */
FAST int shadow_take(u64 a, const u32 size, u32 block) {
    struct page *page = shadow_seen(a);
    if (unlikely(!page || !one_page(a, size) || !aligned(a, size)))
        return 0;
    u64 word = word_at(a), me = current;
    if (unlikely(untouched(page, word, size)))
        return 0;
    if (PARTS == 1 || size >= 1 << WORD) {
        for (u64 i = 0; i < words_of(size); i++)
            page->cells[word + i] = me;
    } else if (page->cells[word] != me) {
        if (unlikely(!is_split(page->cells[word])))
            return 0;
        for (u64 i = 0; i < cells_of(a, size); i++)
            page->parts[word].cells[shadow_at(a) % PARTS + i] = me;
        if (((a + size) & ((1 << WORD) - 1)) == 0)
            merge(page, word);
    }
    for (u64 i = 0; i < words_of(size); i++)
        page->blocks[word + i] = (place)(block + 1);
    return 1;
}

/* Reading what another invocation wrote: all of it by the same one, as a rule. */
FAST void shadow_learn(u64 a, const u32 size, u32 site) {
    struct page *page = shadow_seen(a);
    if (likely(page && one_page(a, size) && aligned(a, size)) && (PARTS == 1 || size >= 1 << WORD)) {
        u64 *cell = page->cells + word_at(a), old = cell[0], other = 0;
        u32 *kept = page->kept + word_at(a);
        for (u32 i = 1; i < words_of(size); i++)
            other |= (cell[i] ^ old) | (kept[i] ^ kept[0]);
        if (likely(!other && !is_split(old))) {
            touch_words(page, word_at(a), word_at(a) + words_of(size));
            if (unlikely(!same_source(page, word_at(a), size, site)))
                count_reads(a, size, page, site);
            if (old >> 32 == current)
                return;
            if (old == current && own_invocation == current && COUNTING) {
                *own_bytes += words_of(size) << WORD;
                for (u32 i = 0; i < words_of(size); i++) {
                    cell[i] = (u64)current << 32 | (u32)old;
                    kept[i] = own_history;
                }
                return;
            }
            u32 writer = (u32)old ? (u32)old : shadow_origin(a >> WORD << WORD);
            u32 more = credit(writer, (u32)(old >> 32), kept[0], words_of(size) << WORD);
            for (u32 i = 0; i < words_of(size); i++) {
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
    marks_settle(a, bytes, 1);
    while (bytes) {
        u64 n = in_page(a, bytes);
        if (shadow_seen(a) || shadow_origin(a) != WRITTEN_BY_NONE)
            shadow_write(a, n, WRITTEN_BY_NONE, NO_BLOCK);
        a += n;
        bytes -= n;
    }
}

/* Memory that the system gave with zeros: nobody wrote or touched it. */
static void shadow_zeros(u64 a, u64 bytes) { shadow_write(a, bytes, 1 + CONSTANTS, NO_BLOCK); }

/* Memory that was mapped. */
static void shadow_mapped(u64 a, u64 bytes, int input) {
    marks_settle(a, bytes, 1);
    span_mapped(a, bytes, input);
    while (bytes) {
        u64 n = in_page(a, bytes);
        if (shadow_seen(a))
            shadow_write(a, n, 1 + (input ? INPUT : UNKNOWN), NO_BLOCK);
        a += n;
        bytes -= n;
    }
}

static void move_chunk(struct page *to, u64 t, struct page *from, u64 f) {
    int parts = is_split(from->cells[f / PARTS]);
    u64 cell = parts ? from->parts[f / PARTS].cells[f % PARTS] : from->cells[f / PARTS];
    u32 kept = parts ? from->parts[f / PARTS].kept[f % PARTS] : from->kept[f / PARTS];
    split(to, t / PARTS);
    to->parts[t / PARTS].cells[t % PARTS] = cell;
    to->parts[t / PARTS].kept[t % PARTS] = kept;
    if ((t + 1) % PARTS == 0)
        merge(to, t / PARTS);
}

/* Memory whose content moved: its writers and readers move along. */
static void shadow_move(u64 to, u64 from, u64 bytes) {
    const u64 part = (1 << WORD) - 1;
    marks_settle(from, bytes, 1);
    marks_settle(to, bytes, 1);
    read_unseen = 1;
    for (u64 i = 0, step; i < bytes; i += step) {
        struct page *target = shadow_of(to + i), *source = shadow_of(from + i);
        u64 word = word_at(from + i);
        int whole = !((to + i) & part) && !((from + i) & part) && i + part < bytes;
        if (PARTS == 1 || (whole && !is_split(source->cells[word]))) {
            target->cells[word_at(to + i)] = source->cells[word];
            target->kept[word_at(to + i)] = source->kept[word];
            step = 1 << WORD;
        } else {
            move_chunk(target, shadow_at(to + i), source, shadow_at(from + i));
            step = 1 << DSE_CHUNK;
        }
    }
    for (u64 i = 0; i < bytes; i += 1 << WORD)
        shadow_of(to + i)->blocks[word_at(to + i)] = shadow_of(from + i)->blocks[word_at(from + i)];
}

#ifdef DSE_THREADS
/* Bytes that another thread wrote: no block of the profiled thread did. */
static void shadow_received(u64 a, u64 bytes) {
    shadow_write(a, bytes, 1 + THREADS, NO_BLOCK);
    shadow_of(a)->blocks[word_at(a)] = 0;
    shadow_of(a + bytes - 1)->blocks[word_at(a + bytes - 1)] = 0;
}

static u32 writer_of(u64 a) {
    const struct page *page = shadow_seen(a);
    u64 cell = page ? page->cells[word_at(a)] : 0;
    return (u32)(is_split(cell) ? page->parts[word_at(a)].cells[shadow_at(a) % PARTS] : cell);
}

/* Bytes that another thread read. It runs in no function of the profiled thread: they leave all that the writer ran in. */
static void shadow_sent(u64 a, u64 bytes) {
    for (u64 i = 0, end; i < bytes; i = end) {
        u32 writer = writer_of(a + i), others = origin_function(THREADS);
        for (end = i + 1; end < bytes && writer_of(a + end) == writer;)
            end++;
        if (writer < FIRST_INVOCATION || !COUNTING)
            continue;
        const struct node *origin = &nodes[invocation_node[writer]];
        flow(&moved, origin->function, others, end - i, 0);
        for (u32 s = origin->scope; s; s = scopes[s].parent)
            flow(&out, scopes[s].function, others, end - i, end - i);
    }
}

/* Memory that another thread gets: what the profiled thread wrote there is gone. */
static void others_clear(u64 a, u64 bytes) {
    for (u64 n; bytes; a += n, bytes -= n) {
        n = in_page(a, bytes);
        if (shadow_seen(a) || shadow_origin(a) != WRITTEN_BY_NONE)
            others_write(a, n);
    }
}
#endif

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
static void shadow_zeros(u64 a, u64 bytes) {}
static void shadow_mapped(u64 a, u64 bytes, int input) {}
static void shadow_move(u64 to, u64 from, u64 bytes) {}
#include "threads.h"
static void shadow_start(void) {}
#ifdef DSE_THREADS
static void others_clear(u64 a, u64 bytes) {}
#endif
#endif
#endif
