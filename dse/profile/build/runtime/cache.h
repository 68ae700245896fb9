/* Inclusive two-level caches, and which block's data each block finds in a first-level line.
 *
 * DSE_CACHES(X) lists the configurations: X(number, log2 L1 sets, L1 ways, log2 L2 sets, L2 ways,
 * log2 line). Replacement is least recently used, allocation on read and write; a line that leaves
 * L2 leaves L1 as well.
 *
 * A stay of a line begins where a block brings it in or writes it: that block is its owner. The blocks that
 * touch it until it is written again or leaves are its readers, the next writer among them, which needs what is there.
 * A line has a stay in L1 and one in L2, which a write ends both. Stays are counted by owner, whether the
 * owner wrote, and the set of readers, so that it can be told afterwards which of them cross between two cores.
 * The count of a set follows what stands in the lines: it moves on with each reader that joins.
 *
 * Most accesses find a line of L1 where that line was found last, and their block among those that touched it lately,
 * both of which are looked up and not searched for: a table of places by a line's number, one of blocks beside the line. */
#ifndef DSE_CACHE_H
#define DSE_CACHE_H
#include "history.h"
#include "trace.h"
#ifdef __AVX2__
#include <immintrin.h>
#endif

enum { MEMBERS = 8, SEATS = 1 << 11, MANY = 64 };
#ifndef DSE_FILLS
#define DSE_FILLS 0 /* where the clock of L2 ends, 0 for as far as it goes: tests let it end early */
#endif

/* What a way of L1 holds. */
struct line {
    u32 members[MEMBERS]; /* by the last bits of their numbers; places not yet taken repeat the owner */
    u32 stay, stay2;      /* in L1, in L2 */
    u32 second;           /* where L2 has its stay */
    u32 spare;
};

/* A stay: the set of its readers, and of OWNER with twice the owner, plus one if it wrote. With no reader yet,
 * that item itself. */
#define OWNER ((u32)1 << 31)

#ifdef DSE_CACHES
/* A tag is the number of a line plus one, or 0 if empty. Those of a set of L1 stand side by side, and so does when each
 * was used. In L2 they stand in groups, with when each was used and the stays of lines that L1 has not: a line of the
 * host's cache for four ways, most often the first four of the set. More than MANY ways are one group, and looked through
 * as fast as can be. */
struct cache {
    u64 clock;
    u32 fills; /* of L1 so far: the clock of L2 */
    u64 *sets2;
    u64 (*hits)[3];  /* by site */
    u64 (*stays)[2]; /* in L1 and L2 that were counted, by set */
};

/* Which of four numbers equal one, as bits. */
FAST u32 equal_of_4(const u64 *x, u64 to) {
#ifdef __AVX2__
    __m256i equal = _mm256_cmpeq_epi64(_mm256_loadu_si256((const __m256i *)x), _mm256_set1_epi64x((long long)to));
    return (u32)_mm256_movemask_pd(_mm256_castsi256_pd(equal));
#else
    return (x[0] == to) | (u32)(x[1] == to) << 1 | (u32)(x[2] == to) << 2 | (u32)(x[3] == to) << 3;
#endif
}

/* The first of some numbers that equals one; `count` if none does. */
FAST u32 first_equal(const u64 *x, const u32 count, u64 to) {
    u32 i = 0;
    for (; i + 16 <= count; i += 16) {
        u32 equal = equal_of_4(x + i, to) | equal_of_4(x + i + 4, to) << 4 | equal_of_4(x + i + 8, to) << 8 |
                    equal_of_4(x + i + 12, to) << 12;
        if (equal)
            return i + (u32)__builtin_ctz(equal);
    }
    u32 equal = (u32)1 << (count - i);
    for (u32 bit = 0; i + 4 <= count; i += 4, bit += 4)
        equal |= equal_of_4(x + i, to) << bit;
    for (; i < count; i++)
        equal |= (u32)(x[i] == to) << (i % 16);
    return count / 16 * 16 + (u32)__builtin_ctz(equal);
}

/* The place of the least. Few numbers are looked at one by one: the last one written may be on its way to memory yet, and
 * is then read on its own at once, with others only after it has arrived. */
FAST u32 least(const u64 *x, const u32 count) {
    u64 low = x[0];
    u32 at = 0;
    for (u32 i = 1; i < count; i++) {
        at = count <= 16 && x[i] < low ? i : at;
        low = x[i] < low ? x[i] : low;
    }
    return count <= 16 ? at : first_equal(x, count, low);
}

#define GROUP(w2) ((u32)((w2) < 4 || (w2) > MANY ? (w2) : 4))
#define SET2(w2) (((w2) + GROUP(w2) - 1) / GROUP(w2) * 2 * GROUP(w2)) /* numbers of a set */
FAST u64 *group_of(u64 *set, u32 way, const u32 w2) { return set + way / GROUP(w2) * 2 * GROUP(w2); }
FAST u64 *tag_of(u64 *set, u32 way, const u32 w2) { return group_of(set, way, w2) + way % GROUP(w2); }
FAST u32 *used_of(u64 *set, u32 way, const u32 w2) { return (u32 *)(group_of(set, way, w2) + GROUP(w2)) + way % GROUP(w2); }
FAST u32 *stay_of(u64 *set, u32 way, const u32 w2) { return used_of(set, way, w2) + GROUP(w2); }

/* The way of a set of L2 that has a tag; at least `w2` if none has. */
FAST u32 way_with(u64 *set, const u32 w2, u64 tag) {
    for (u32 way = 0; way < w2; way += GROUP(w2)) {
        u32 at = first_equal(group_of(set, way, w2), GROUP(w2), tag);
        if (at < GROUP(w2))
            return way + at;
    }
    return w2;
}

FAST int among_16(const u32 *x, u32 value) {
    u32 found = 0;
    for (u32 i = 0; i < 16; i++)
        found |= x[i] == value;
    return found != 0;
}

FAST u32 oldest(u64 *set, const u32 w2) {
    u32 way = 0, low = *used_of(set, 0, w2);
    for (u32 i = 1; i < w2; i++) {
        u32 used = *used_of(set, i, w2);
        way = w2 <= MANY && used < low ? i : way;
        low = used < low ? used : low;
    }
    if (w2 <= MANY)
        return way;
    while (way + 16 <= w2 && !among_16(used_of(set, way, w2), low))
        way += 16;
    while (*used_of(set, way, w2) != low)
        way++;
    return way;
}

/* The clock of L2 has ended: of the ways of each set the order is kept. */
static SLOW void renumber(struct cache *c, const int s2, const u32 w2) {
    u32 *before = reserve(sizeof *before * w2);
    for (u64 n = 0; n < (u64)1 << s2; n++) {
        u64 *set = c->sets2 + n * SET2(w2);
        for (u32 i = 0; i < w2; i++)
            before[i] = *used_of(set, i, w2);
        for (u32 i = 0; i < w2; i++) {
            u32 rank = before[i] != 0;
            for (u32 k = 0; k < w2; k++)
                rank += before[k] && before[k] < before[i];
            *used_of(set, i, w2) = rank;
        }
    }
    c->fills = w2 + 1;
}

FAST u32 owned(u32 block, int write) { return OWNER | 2 * block | (u32)write; }

FAST void own(struct line *l, u32 block, int write) {
    l->stay = owned(block, write);
    for (u32 i = 0; i < MEMBERS; i++)
        l->members[i] = block;
}

FAST int member(const struct line *l, u32 block) {
    return l->members[block % MEMBERS] == block;
}

/* What stays became when a block joined them, lately. */
enum { JOINS = 1 << 12 };
static struct {
    u64 both; /* the stay and the block */
    u32 more;
} joins[JOINS];

static u32 with(u32 set, u32 item) {
    u32 fresh, count;
    return history_with(set, &item, 1, &fresh, &count);
}

RARE u32 joined(u32 at, u32 stay, u32 block) {
    u32 set = stay & OWNER ? with(0, stay) : stay, more = stay;
    if (set && (history_items[histories[set].start + histories[set].count - 1] & ~OWNER) >> 1 != block)
        more = with(set, block);
    joins[at].both = (u64)stay << 32 | block;
    return joins[at].more = more;
}

/* The stay with one reader more; an owner is none. */
FAST u32 join(u32 stay, u32 block) {
    if ((stay ^ owned(block, 0)) <= 1)
        return stay;
    u32 at = (stay * 0x9e3779b1u + block * 0x85ebca6bu) >> 20;
    return likely(joins[at].both == ((u64)stay << 32 | block)) ? joins[at].more : joined(at, stay, block);
}

FAST void count_stay(u64 (*counts)[2], int level, u32 before, u32 after) {
    if (before == after)
        return;
    counts[after][level]++;
    if (!(before & OWNER))
        counts[before][level]--;
}

/* A block that is not among the members touches a line in L1. Who reads it in L1 has read it in L2. Outside of the
 * region of interest nobody joins. */
FAST void visit(struct cache *c, struct line *l, u32 block) {
    if (!COUNTING)
        return;
    u32 more = join(l->stay, block);
    if (more != l->stay) {
        u32 more2 = l->stay2 == l->stay ? more : join(l->stay2, block);
        count_stay(c->stays, 0, l->stay, more);
        count_stay(c->stays, 1, l->stay2, more2);
        l->stay = more;
        l->stay2 = more2;
    }
    l->members[block % MEMBERS] = block;
}

/* Brings a line into L1, and into L2 if it is not there: 1 or 2, as `touch`. */
FAST int fill(struct cache *c, struct line *lines, u64 *tags, u64 *used, u32 *seat, const int s1, const u32 w1,
              const int s2, const u32 w2, u64 number, u32 block, int write) {
    u64 *set2 = c->sets2 + (number & ((1u << s2) - 1)) * SET2(w2);
    u32 way2 = way_with(set2, w2, number + 1), stay2 = owned(block, write);
    int level = way2 < w2 ? 1 : 2;
    if (level == 2) {
        way2 = oldest(set2, w2);
        u64 *tag = tag_of(set2, way2, w2);
        if (*tag) { /* inclusion: what leaves L2 leaves L1 */
            u64 old = ((*tag - 1) & ((1u << s1) - 1)) * w1;
            u32 way = first_equal(tags + old, w1, *tag);
            if (way < w1)
                tags[old + way] = used[old + way] = 0;
        }
        *tag = number + 1;
    } else if (COUNTING) {
        u32 old = *stay_of(set2, way2, w2), more = join(old, block);
        count_stay(c->stays, 1, old, more);
        stay2 = write ? stay2 : more;
    } else if (!write) {
        stay2 = *stay_of(set2, way2, w2);
    }
    u64 set = (number & ((1u << s1) - 1)) * w1, at = set + (w1 > 1 ? least(used + set, w1) : 0);
    struct line *l = lines + at;
    if (tags[at])
        ((u32 *)c->sets2)[l->second] = l->stay2;
    tags[at] = number + 1;
    used[at] = ++c->clock;
    *seat = (u32)at;
    if (unlikely(++c->fills == DSE_FILLS))
        renumber(c, s2, w2);
    *used_of(set2, way2, w2) = c->fills;
    own(l, block, write);
    l->stay2 = stay2;
    l->second = (u32)(stay_of(set2, way2, w2) - (u32 *)c->sets2);
    return level;
}

/* What is seldom called takes its arguments where a hook has its own: no register is saved to move them. */
#define DECLARE(k, s1, w1, s2, w2, shift)                                                               \
    static struct cache cache_##k;                                                                      \
    static struct line *const lines_##k = (struct line *)PLACE(PLACE_CACHES + (k));                     \
    static u64 *const tags_##k = (u64 *)(PLACE(PLACE_CACHES + (k)) + ((u64)4 << 27));                   \
    static u64 *const used_##k = (u64 *)(PLACE(PLACE_CACHES + (k)) + ((u64)5 << 27));                   \
    static u32 *const seats_##k = (u32 *)(PLACE(PLACE_CACHES + (k)) + ((u64)6 << 27));                  \
    FAST u64 set_##k(u64 number) { return (number & ((1u << (s1)) - 1)) * (w1); }                       \
    FAST u32 *seat_##k(u64 number) { return seats_##k + ((number ^ number / SEATS) & (SEATS - 1)); }    \
    RARE void visit_##k(u64 a, u32 site, u32 block, struct line *l) { visit(&cache_##k, l, block); }    \
    /* A block touches a line that L1 has. */                                                           \
    FAST void meet_##k(u64 a, u32 site, u32 block, u64 seat, const int write) {                         \
        struct line *l = lines_##k + seat;                                                              \
        if ((w1) > 1)                                                                                   \
            used_##k[seat] = ++cache_##k.clock;                                                         \
        if (unlikely(!member(l, block)))                                                                \
            visit_##k(a, site, block, l);                                                               \
        if (write) {                                                                                    \
            own(l, block, 1);                                                                           \
            l->stay2 = l->stay;                                                                         \
        }                                                                                               \
    }                                                                                                   \
    /* One line touched by a block: 0 where L1 has it, 1 where L2 has it, 2 for memory. */              \
    FAST int find_##k(u64 a, u32 site, u32 block, int write) {                                          \
        u64 number = a >> (shift);                                                                      \
        u32 way = first_equal(tags_##k + set_##k(number), w1, number + 1);                              \
        if (way == (w1))                                                                                \
            return fill(&cache_##k, lines_##k, tags_##k, used_##k, seat_##k(number), s1, w1, s2, w2,    \
                        number, block, write);                                                          \
        *seat_##k(number) = (u32)set_##k(number) + way;                                                 \
        meet_##k(a, site, block, set_##k(number) + way, write);                                         \
        return 0;                                                                                       \
    }                                                                                                   \
    RARE int search_##k(u64 a, u32 site, u32 block, int write) {                                        \
        return find_##k(a, site, block, write);                                                         \
    }                                                                                                   \
    /* The same, where it lies where it is looked for first, as a rule. */                              \
    FAST int touch_##k(u64 a, u32 site, u32 block, const int write) {                                   \
        u64 number = a >> (shift), seat = (w1) > 1 ? *seat_##k(number) : set_##k(number);               \
        if (unlikely(tags_##k[seat] != number + 1))                                                     \
            return search_##k(a, site, block, write);                                                   \
        meet_##k(a, site, block, seat, write);                                                          \
        return 0;                                                                                       \
    }                                                                                                   \
    /* Several lines: the deepest level. */                                                             \
    RARE int across_##k(u64 a, u32 site, u32 block, u64 last, int write) {                              \
        int deepest = 0;                                                                                \
        for (u64 n = a >> (shift); n <= last; n++) {                                                    \
            int level = touch_##k(n << (shift), site, block, write);                                    \
            deepest = level > deepest ? level : deepest;                                                \
        }                                                                                               \
        return deepest;                                                                                 \
    }                                                                                                   \
    /* Lines one after the other, most of which are found nowhere: without a call for each. */          \
    static void range_##k(u64 n, u64 last, u32 site, u32 block, int write) {                            \
        for (; n <= last; n++) {                                                                        \
            int level = find_##k(n << (shift), site, block, write);                                     \
            if (COUNTING)                                                                               \
                cache_##k.hits[site][level]++;                                                          \
        }                                                                                               \
    }                                                                                                   \
    /* A copy: each line when the first of its bytes is copied. It is read at one site, written at the next. */ \
    static void copy_##k(u64 to, u64 from, u64 bytes, u32 site, u32 block) {                            \
        for (u64 read = 0, written = 0; read < bytes || written < bytes;) {                             \
            int write = written < read;                                                                 \
            u64 n = (write ? to + written : from + read) >> (shift), next = (n + 1) << (shift);         \
            range_##k(n, n, site + (u32)write, block, write);                                           \
            if (write)                                                                                  \
                written = next - to;                                                                    \
            else                                                                                        \
                read = next - from;                                                                     \
        }                                                                                               \
    }
DSE_CACHES(DECLARE)

static void cache_start(void) {
#define START_CACHE(k, s1, w1, s2, w2, shift)                                  \
    cache_##k.stays = reserve(2 * sizeof(u64) * HISTORY_LIMIT);                \
    reserve_at((u64)lines_##k, sizeof(struct line) * ((u64)(w1) << (s1)));     \
    reserve_at((u64)tags_##k, sizeof(u64) * ((u64)(w1) << (s1)));              \
    reserve_at((u64)used_##k, sizeof(u64) * ((u64)(w1) << (s1)));              \
    reserve_at((u64)seats_##k, sizeof(u32) * SEATS);                           \
    cache_##k.sets2 = reserve(sizeof(u64) * SET2(w2) << (s2));                 \
    madvise(cache_##k.sets2, sizeof(u64) * SET2(w2) << (s2), MADV_HUGEPAGE);   \
    cache_##k.hits = reserve(24 * ((u64)__dse_site_count + 1));
    DSE_CACHES(START_CACHE)
}

/* An access of up to 64 bytes counts once, at the deepest level of its lines. */
FAST u16 cache_access(u64 a, const u32 size, u32 site, u32 block, const int write) {
    u16 levels = 0;
#define ACCESS(k, s1, w1, s2, w2, shift)                                                            \
    {                                                                                               \
        u64 last = (a + size - 1) >> (shift);                                                       \
        int several = size > 1 && a >> (shift) != last, level;                                      \
        if (unlikely(several))                                                                      \
            level = across_##k(a, site, block, last, write);                                        \
        else                                                                                        \
            level = touch_##k(a, site, block, write);                                               \
        if (COUNTING)                                                                               \
            cache_##k.hits[site][level]++;                                                          \
        levels |= (u16)(level << (2 * (k)));                                                        \
    }
    DSE_CACHES(ACCESS)
    return levels;
}

/* A run of bytes (a copy, a library call) counts once for each line. */
static void cache_range(u64 a, u64 bytes, u32 site, u32 block, int write) {
#define RANGE(k, s1, w1, s2, w2, shift) range_##k(a >> (shift), (a + bytes - 1) >> (shift), site, block, write);
    DSE_CACHES(RANGE)
}
static void cache_copy(u64 to, u64 from, u64 bytes, u32 site, u32 block) {
#define COPY_LINES(k, s1, w1, s2, w2, shift) copy_##k(to, from, bytes, site, block);
    DSE_CACHES(COPY_LINES)
}
#else
static void cache_start(void) {}
FAST u16 cache_access(u64 a, const u32 size, u32 site, u32 block, const int write) { return 0; }
static void cache_range(u64 a, u64 bytes, u32 site, u32 block, int write) {}
static void cache_copy(u64 to, u64 from, u64 bytes, u32 site, u32 block) {}
#endif
#endif
