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
 * Eight blocks that touched a line in L1 lately are remembered beside the set and compared all at once. */
#ifndef DSE_CACHE_H
#define DSE_CACHE_H
#include "history.h"
#include "trace.h"
#ifdef __AVX2__
#include <immintrin.h>
#endif

enum { MEMBERS = 8 };

/* What a way of L1 holds. */
struct line {
    u32 stay, stay2; /* in L1, in L2 */
    u32 next;        /* the place of the next member */
    u32 second;      /* the way of L2 that has it */
    u32 members[MEMBERS]; /* places not yet taken repeat the owner */
};

/* A stay: the set of its readers, and of OWNER with twice the owner, plus one if it wrote. With no reader yet,
 * that item itself. */
#define OWNER ((u32)1 << 31)

#ifdef DSE_CACHES
/* The tags of a set stand side by side, the number of a line plus one, or 0 if empty; behind them stands when
 * each was used, in L2 also the stays of lines that L1 has not. So those of a set are compared at once. */
struct cache {
    u64 clock;
    u64 *ways2;
    u64 (*hits)[3]; /* by site */
    u64 *first, *second; /* stays in L1 and L2 that were counted, by set */
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

FAST u32 least(const u64 *x, const u32 count) {
    u64 low = x[0];
    for (u32 i = 1; i < count; i++)
        low = x[i] < low ? x[i] : low;
    return first_equal(x, count, low);
}

#define SECOND(ways) ((u64)(ways) * 2 + ((ways) + 1) / 2) /* numbers of a set of L2 */
FAST u32 *stay_of(u64 *ways2, const u32 w2, u32 second) {
    return (u32 *)(ways2 + second / w2 * SECOND(w2) + 2 * w2) + second % w2;
}

FAST u32 owned(u32 block, int write) { return OWNER | 2 * block | (u32)write; }

FAST void own(struct line *l, u32 block, int write) {
    l->stay = owned(block, write);
    l->next = 1;
    for (u32 i = 0; i < MEMBERS; i++)
        l->members[i] = block;
}

FAST int member(const struct line *l, u32 block) {
    u32 found = 0;
    for (u32 i = 0; i < MEMBERS; i++)
        found |= l->members[i] == block;
    return found != 0;
}

/* What stays became when a block joined them, lately. */
enum { JOINS = 1 << 12 };
static struct {
    u32 stay, block, more;
} joins[JOINS];

static u32 with(u32 set, u32 item) {
    u32 fresh, count;
    return history_with(set, &item, 1, &fresh, &count);
}

static __attribute__((noinline)) u32 joined(u32 at, u32 stay, u32 block) {
    u32 set = stay & OWNER ? with(0, stay) : stay, more = stay;
    if (set && (history_items[histories[set].start + histories[set].count - 1] & ~OWNER) >> 1 != block)
        more = with(set, block);
    joins[at].stay = stay;
    joins[at].block = block;
    return joins[at].more = more;
}

/* The stay with one reader more. */
FAST u32 join(u32 stay, u32 block) {
    u32 at = (stay * 0x9e3779b1u + block * 0x85ebca6bu) >> 20;
    return likely(joins[at].stay == stay && joins[at].block == block) ? joins[at].more
                                                                      : joined(at, stay, block);
}

FAST void count_stay(u64 *counts, u32 before, u32 after) {
    if (before == after)
        return;
    counts[after]++;
    if (!(before & OWNER))
        counts[before]--;
}

/* A block that is not among the members touches a line in L1. Who reads it in L1 has read it in L2. Outside of the
 * region of interest nobody joins. */
FAST void visit(struct cache *c, struct line *l, u32 block) {
    if (!COUNTING)
        return;
    u32 more = join(l->stay, block);
    if (more != l->stay) {
        u32 more2 = l->stay2 == l->stay ? more : join(l->stay2, block);
        count_stay(c->first, l->stay, more);
        count_stay(c->second, l->stay2, more2);
        l->stay = more;
        l->stay2 = more2;
    }
    l->members[l->next] = block;
    l->next = (l->next + 1) & (MEMBERS - 1);
}

/* A block touches a line that L1 has. */
FAST void meet(struct cache *c, struct line *l, u32 block, const int write) {
    if (!member(l, block))
        visit(c, l, block);
    if (write) {
        own(l, block, 1);
        l->stay2 = l->stay;
    }
}

/* Brings a line into L1, and into L2 if it is not there: 1 or 2, as `touch`. */
FAST int fill(struct cache *c, struct line *lines, u64 *ways1, const int s1, const u32 w1, const int s2, const u32 w2,
              u64 number, u32 block, int write) {
    u64 set2 = number & ((1u << s2) - 1), set = number & ((1u << s1) - 1);
    u64 *tags2 = c->ways2 + set2 * SECOND(w2), *used2 = tags2 + w2, *tags = ways1 + set * 2 * w1, *used = tags + w1;
    u32 *stays2 = (u32 *)(used2 + w2), way2 = first_equal(tags2, w2, number + 1), stay2 = owned(block, write);
    int level = way2 < w2 ? 1 : 2;
    if (level == 2) {
        way2 = least(used2, w2);
        if (tags2[way2]) { /* inclusion: what leaves L2 leaves L1 */
            u64 *old = ways1 + ((tags2[way2] - 1) & ((1u << s1) - 1)) * 2 * w1;
            u32 way = first_equal(old, w1, tags2[way2]);
            if (way < w1)
                old[way] = old[w1 + way] = 0;
        }
    } else if (COUNTING) {
        u32 more = join(stays2[way2], block);
        count_stay(c->second, stays2[way2], more);
        stay2 = write ? stay2 : more;
    } else if (!write) {
        stay2 = stays2[way2];
    }
    u32 way = w1 > 1 ? least(used, w1) : 0;
    struct line *l = lines + set * w1 + way;
    if (tags[way])
        *stay_of(c->ways2, w2, l->second) = l->stay2;
    tags2[way2] = tags[way] = number + 1;
    used2[way2] = used[way] = ++c->clock;
    own(l, block, write);
    l->stay2 = stay2;
    l->second = (u32)(set2 * w2 + way2);
    return level;
}

#define DECLARE(k, s1, w1, s2, w2, shift)                                                          \
    static struct cache cache_##k;                                                                 \
    static struct line *const lines_##k = (struct line *)PLACE(PLACE_CACHES + (k));                \
    static u64 *const ways_##k = (u64 *)(PLACE(PLACE_CACHES + (k)) + ((u64)1 << 29));              \
    static __attribute__((noinline)) int fill_##k(u64 number, u32 block, int write) {              \
        return fill(&cache_##k, lines_##k, ways_##k, s1, w1, s2, w2, number, block, write);        \
    }                                                                                              \
    FAST u64 *tags_##k(u64 number) { return ways_##k + (number & ((1u << (s1)) - 1)) * 2 * (w1); } \
    FAST u32 way_##k(u64 number) {                                                                 \
        return (w1) > 1 ? first_equal(tags_##k(number), w1, number + 1) : *tags_##k(number) != number + 1; \
    }                                                                                              \
    FAST struct line *line_##k(u64 number, u32 way) {                                              \
        return lines_##k + (number & ((1u << (s1)) - 1)) * (w1) + ((w1) > 1 ? way : 0);            \
    }                                                                                              \
    FAST void use_##k(u64 number, u32 way) {                                                       \
        if ((w1) > 1)                                                                              \
            tags_##k(number)[(w1) + way] = ++cache_##k.clock;                                      \
    }                                                                                              \
    /* One line touched by a block: 0 where L1 has it, 1 where L2 has it, 2 for memory. */         \
    FAST int touch_##k(u64 number, u32 block, const int write) {                                   \
        u32 way = way_##k(number);                                                                 \
        if (way == (w1))                                                                           \
            return fill_##k(number, block, write);                                                 \
        use_##k(number, way);                                                                      \
        meet(&cache_##k, line_##k(number, way), block, write);                                     \
        return 0;                                                                                  \
    }
DSE_CACHES(DECLARE)

static void cache_start(void) {
#define START_CACHE(k, s1, w1, s2, w2, shift)                                \
    cache_##k.first = reserve(sizeof(u64) * HISTORY_LIMIT);                  \
    cache_##k.second = reserve(sizeof(u64) * HISTORY_LIMIT);                 \
    reserve_at((u64)lines_##k, sizeof(struct line) * ((u64)(w1) << (s1)));   \
    reserve_at((u64)ways_##k, 2 * sizeof(u64) * ((u64)(w1) << (s1)));        \
    cache_##k.ways2 = reserve(sizeof(u64) * SECOND(w2) << (s2));             \
    madvise(cache_##k.ways2, sizeof(u64) * SECOND(w2) << (s2), MADV_HUGEPAGE); \
    cache_##k.hits = reserve(24 * ((u64)__dse_site_count + 1));
    DSE_CACHES(START_CACHE)
}

/* The everyday case, without a call: the line is in L1, and this block is among its members. */
FAST int cache_again(u64 a, const u32 size, u32 site, u32 block, const int write) {
#define AGAIN(k, s1, w1, s2, w2, shift)                                               \
    u64 n##k = a >> (shift);                                                          \
    u32 way##k = way_##k(n##k);                                                       \
    struct line *l##k = line_##k(n##k, way##k);                                       \
    if (unlikely(way##k == (w1) || !member(l##k, block) ||                            \
                 (a & ((1u << (shift)) - 1)) + size > 1u << (shift)))                 \
        return 0;
    DSE_CACHES(AGAIN)
#define COUNT_AGAIN(k, s1, w1, s2, w2, shift) \
    use_##k(n##k, way##k);                    \
    if (write) {                              \
        own(l##k, block, 1);                  \
        l##k->stay2 = l##k->stay;             \
    }                                         \
    if (COUNTING)                             \
        cache_##k.hits[site][0]++;
    DSE_CACHES(COUNT_AGAIN)
    return 1;
}

/* An access of up to 64 bytes counts once, at the deepest level of its lines. */
FAST u16 cache_access(u64 a, const u32 size, u32 site, u32 block, const int write) {
    u16 levels = 0;
#define ACCESS(k, s1, w1, s2, w2, shift)                                                 \
    {                                                                                    \
        int level = touch_##k(a >> (shift), block, write);       \
        if (size > 1 && unlikely(((a ^ (a + size - 1)) >> (shift)) != 0))                \
            for (u64 n = (a >> (shift)) + 1; n <= (a + size - 1) >> (shift); n++) {      \
                int other = touch_##k(n, block, write);          \
                level = other > level ? other : level;                                   \
            }                                                                            \
        if (COUNTING)                                                                    \
            cache_##k.hits[site][level]++;                                               \
        levels |= (u16)(level << (2 * (k)));                                             \
    }
    DSE_CACHES(ACCESS)
    return levels;
}

/* A run of bytes (a copy, a library call) counts once for each line. */
static void cache_range(u64 a, u64 bytes, u32 site, u32 block, int write) {
#define RANGE(k, s1, w1, s2, w2, shift)                                          \
    for (u64 n = a >> (shift); n <= (a + bytes - 1) >> (shift); n++) {           \
        int level = touch_##k(n, block, write);          \
        if (COUNTING)                                                            \
            cache_##k.hits[site][level]++;                                       \
    }
    DSE_CACHES(RANGE)
}
#else
static void cache_start(void) {}
FAST int cache_again(u64 a, const u32 size, u32 site, u32 block, const int write) { return 1; }
FAST u16 cache_access(u64 a, const u32 size, u32 site, u32 block, const int write) { return 0; }
static void cache_range(u64 a, u64 bytes, u32 site, u32 block, int write) {}
#endif
#endif
