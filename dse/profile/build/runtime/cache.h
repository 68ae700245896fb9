/* Inclusive two-level caches, and which block's data each block finds in a first-level line.
 *
 * DSE_CACHES(X) lists the configurations: X(number, log2 L1 sets, L1 ways, log2 L2 sets, L2 ways,
 * log2 line). Replacement is least recently used, allocation on read and write; a line that leaves
 * L2 leaves L1 as well.
 *
 * A resident L1 line knows its owner (the block that last wrote it, or that brought it in), whether
 * it was written, and its members: the blocks that touched it since. A block that is not a member counts
 * one crossing from the owner, dirty if the line was written, clean otherwise, and becomes one. At
 * most MEMBERS blocks are remembered; the oldest is forgotten first. They are compared all at once. */
#ifndef DSE_CACHE_H
#define DSE_CACHE_H
#include "trace.h"

enum { MEMBERS = 8 };

struct line {
    u64 tag; /* line number + 1; 0 is empty */
    u64 used;
    u64 state; /* the owner, the place of the next member << 32, whether written << 40 */
    u64 pad;
    u32 members[MEMBERS]; /* places not yet taken repeat the owner */
};
struct second {
    u64 tag, used;
};

#ifdef DSE_CACHES
struct recent { /* the crossing that a block counted last */
    struct pair *pair;
    u32 owner;
};
struct cache {
    u64 clock;
    u32 *latest; /* by L1 set of several ways: the way touched last */
    u64 (*hits)[3]; /* by site */
    struct table crossings;
    struct recent *recent; /* by block */
};

/* The state of a line that a block just wrote or brought in. */
FAST u64 owned(u32 block, int write) { return (u64)write << 40 | (u64)1 << 32 | block; }

FAST void own(struct line *l, u32 block, int write) {
    l->state = owned(block, write);
    for (u32 i = 0; i < MEMBERS; i++)
        l->members[i] = block;
}

FAST int member(const struct line *l, u32 block) {
    u32 found = 0;
    for (u32 i = 0; i < MEMBERS; i++)
        found |= l->members[i] == block;
    return found != 0;
}

static __attribute__((noinline)) struct pair *crossing(struct cache *c, u32 owner, u32 block) {
    u64 capacity = c->crossings.capacity;
    struct pair *p = table_at(&c->crossings, owner, block);
    if (c->crossings.capacity != capacity) /* the table has moved */
        memset(c->recent, 0, sizeof *c->recent * (__dse_block_count + __dse_foreign_count));
    c->recent[block] = (struct recent){p, owner};
    return p;
}

/* A block that is not a member touches a line: a crossing. */
FAST void cross(struct cache *c, struct line *l, u32 block, int write) {
    if (COUNTING) {
        struct recent *r = &c->recent[block];
        u32 owner = (u32)l->state;
        struct pair *p = likely(r->pair && r->owner == owner) ? r->pair : crossing(c, owner, block);
        if (l->state >> 40)
            p->first++;
        else
            p->second++;
    }
    if (!write) {
        u32 next = l->state >> 32 & (MEMBERS - 1);
        l->members[next] = block;
        l->state += next == MEMBERS - 1 ? -((u64)next << 32) : (u64)1 << 32;
    }
}

/* A block touches a line that L1 has. */
FAST void meet(struct cache *c, struct line *l, u32 block, const int write) {
    if (!member(l, block))
        cross(c, l, block, write);
    if (write)
        own(l, block, 1);
}

/* Brings a line into L1, and into L2 if it is not there: 1 or 2, as `touch`. */
FAST int fill(struct cache *c, struct line *l1, const int s1, const int w1, struct second *l2,
              const int s2, const int w2, u64 number, u32 block, int write) {
    struct second *set = l2 + (number & ((1u << s2) - 1)) * w2, *found = set;
    int level = 2;
    for (int i = 0; i < w2; i++) {
        if (set[i].tag == number + 1) {
            found = &set[i];
            level = 1;
            break;
        }
        if (set[i].used < found->used)
            found = &set[i];
    }
    if (level == 2 && found->tag) { /* inclusion: what leaves L2 leaves L1 */
        struct line *old = l1 + ((found->tag - 1) & ((1u << s1) - 1)) * w1;
        for (int i = 0; i < w1; i++)
            if (old[i].tag == found->tag)
                old[i].tag = old[i].used = 0;
    }
    found->tag = number + 1;
    found->used = ++c->clock;
    struct line *lines = l1 + (number & ((1u << s1) - 1)) * w1, *l = lines;
    for (int i = 1; i < w1; i++)
        if (lines[i].used < l->used)
            l = &lines[i];
    l->tag = number + 1;
    l->used = c->clock;
    if (w1 > 1)
        c->latest[number & ((1u << s1) - 1)] = (u32)(l - lines);
    own(l, block, write);
    return level;
}

#define DECLARE(k, s1, w1, s2, w2, shift)                                                    \
    static struct cache cache_##k;                                                           \
    static struct line *const first_##k = (struct line *)PLACE(PLACE_CACHES + (k));          \
    static struct second *second_##k;                                                        \
    static __attribute__((noinline)) int fill_##k(u64 number, u32 block, int write) {        \
        return fill(&cache_##k, first_##k, s1, w1, second_##k, s2, w2, number, block, write); \
    }                                                                                        \
    /* One line touched by a block: 0 where L1 has it, 1 where L2 has it, 2 for memory. */   \
    FAST int touch_##k(u64 number, u32 block, const int write) {                             \
        struct line *l = first_##k + (number & ((1u << (s1)) - 1)) * (w1);                   \
        for (int i = 0; i < (w1); i++, l++)                                                  \
            if (likely(l->tag == number + 1)) {                                              \
                if ((w1) > 1) {                                                              \
                    l->used = ++cache_##k.clock;                                             \
                    cache_##k.latest[number & ((1u << (s1)) - 1)] = (u32)i;                  \
                }                                                                            \
                meet(&cache_##k, l, block, write);                                           \
                return 0;                                                                    \
            }                                                                                \
        return fill_##k(number, block, write);                                               \
    }
DSE_CACHES(DECLARE)

static void cache_start(void) {
#define START_CACHE(k, s1, w1, s2, w2, shift)                                                          \
    cache_##k.recent = reserve(sizeof(struct recent) * (__dse_block_count + __dse_foreign_count + 1)); \
    reserve_at((u64)first_##k, sizeof(struct line) * ((u64)(w1) << (s1)));                             \
    if ((w1) > 1)                                                                                      \
        cache_##k.latest = reserve(sizeof(u32) << (s1));                                               \
    second_##k = reserve(sizeof(struct second) * ((u64)(w2) << (s2)));                                 \
    cache_##k.hits = reserve(24 * ((u64)__dse_site_count + 1));
    DSE_CACHES(START_CACHE)
}

/* The everyday case, without a call: the line is in L1, the last one touched of its set, and this block is
 * among its members. Its use stays the latest, so that nothing changes. */
FAST int cache_again(u64 a, const u32 size, u32 site, u32 block, const int write) {
#define AGAIN(k, s1, w1, s2, w2, shift)                                               \
    struct line *l##k = first_##k + ((a >> (shift)) & ((1u << (s1)) - 1)) * (w1);     \
    if ((w1) > 1)                                                                     \
        l##k += cache_##k.latest[(a >> (shift)) & ((1u << (s1)) - 1)];                \
    if (unlikely(l##k->tag != (a >> (shift)) + 1 || !member(l##k, block) ||           \
                 (a & ((1u << (shift)) - 1)) + size > 1u << (shift)))                 \
        return 0;
    DSE_CACHES(AGAIN)
#define COUNT_AGAIN(k, s1, w1, s2, w2, shift) \
    if (write)                                \
        own(l##k, block, 1);                  \
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
