/* Inclusive two-level caches, and which block's data each block finds in a first-level line.
 *
 * DSE_CACHES(X) lists the configurations: X(number, log2 L1 sets, L1 ways, log2 L2 sets, L2 ways,
 * log2 line). Replacement is least recently used, allocation on read and write; a line that leaves
 * L2 leaves L1 as well.
 *
 * A resident L1 line knows its owner (the block that last wrote it, or that brought it in), whether
 * it was written, and the blocks that touched it since. A block that is not among these counts one
 * crossing from the owner: dirty where the line was written, clean otherwise. At most MEMBERS blocks
 * are remembered; the oldest is forgotten first. */
#ifndef DSE_CACHE_H
#define DSE_CACHE_H
#include "trace.h"

enum { MEMBERS = 8, NOBODY = 0xffffffffu };

struct line {
    u64 tag; /* line number + 1; 0 is empty */
    u64 used;
    u32 owner, last; /* last: the block that touched it last */
    u32 exclusive;   /* the block that wrote it and alone touched it since, or NOBODY */
    u32 members[MEMBERS];
    u8 next, dirty;
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
    struct line *l1;
    struct second *l2;
    u64 clock;
    u64 (*hits)[3]; /* by site */
    struct table crossings;
    struct recent *recent; /* by block */
};

static __attribute__((noinline)) struct pair *crossing(struct cache *c, u32 owner, u32 block) {
    u64 capacity = c->crossings.capacity;
    struct pair *p = table_at(&c->crossings, owner, block);
    if (c->crossings.capacity != capacity) /* the table has moved */
        memset(c->recent, 0, sizeof *c->recent * (__dse_block_count + __dse_foreign_count));
    c->recent[block] = (struct recent){p, owner};
    return p;
}

static inline void cross(struct cache *c, struct line *l, u32 block) {
    if (COUNTING) {
        struct recent *r = &c->recent[block];
        struct pair *p = likely(r->pair && r->owner == l->owner) ? r->pair : crossing(c, l->owner, block);
        if (l->dirty)
            p->first++;
        else
            p->second++;
    }
    l->members[l->next] = block;
    l->next = (l->next + 1) % MEMBERS;
}

FAST void alone(struct line *l, u32 block) {
    for (u32 i = 0; i < MEMBERS; i++)
        l->members[i] = i ? NOBODY : block;
    l->next = 1;
}

static __attribute__((noinline)) void join(struct cache *c, struct line *l, u32 block, int write) {
    int member = 0;
    for (u32 i = 0; i < MEMBERS; i++)
        member |= l->members[i] == block;
    if (!member)
        cross(c, l, block);
    if (write) {
        alone(l, block);
        l->owner = l->exclusive = block;
        l->dirty = 1;
    } else if (l->exclusive != block)
        l->exclusive = NOBODY;
    l->last = block;
}

static __attribute__((noinline)) int fill(struct cache *c, int s1, int w1, int s2, int w2, u64 number,
                                          u32 block, int write) {
    struct second *set = c->l2 + (number & ((1u << s2) - 1)) * w2, *found = set;
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
        struct line *old = c->l1 + ((found->tag - 1) & ((1u << s1) - 1)) * w1;
        for (int i = 0; i < w1; i++)
            if (old[i].tag == found->tag)
                old[i].tag = old[i].used = 0;
    }
    found->tag = number + 1;
    found->used = ++c->clock;
    struct line *lines = c->l1 + (number & ((1u << s1) - 1)) * w1, *l = lines;
    for (int i = 1; i < w1; i++)
        if (lines[i].used < l->used)
            l = &lines[i];
    l->tag = number + 1;
    l->used = c->clock;
    l->owner = l->last = block;
    l->exclusive = write ? block : NOBODY;
    alone(l, block);
    l->dirty = (u8)write;
    return level;
}

/* One line touched by a block: 0 where L1 has it, 1 where L2 has it, 2 for memory. */
FAST int touch(struct cache *c, const int s1, const int w1, const int s2, const int w2, u64 number,
               u32 block, const int write) {
    struct line *l = c->l1 + (number & ((1u << s1) - 1)) * w1;
    for (int i = 0; i < w1; i++, l++)
        if (likely(l->tag == number + 1)) {
            if (w1 > 1)
                l->used = ++c->clock;
            if (unlikely(write ? l->exclusive != block || l->last != block : l->last != block))
                join(c, l, block, write);
            return 0;
        }
    return fill(c, s1, w1, s2, w2, number, block, write);
}

#define DECLARE(k, s1, w1, s2, w2, shift) static struct cache cache_##k;
DSE_CACHES(DECLARE)

static void cache_start(void) {
#define START_CACHE(k, s1, w1, s2, w2, shift)                             \
    cache_##k.l1 = reserve(sizeof(struct line) * ((u64)(w1) << (s1)));    \
    cache_##k.l2 = reserve(sizeof(struct second) * ((u64)(w2) << (s2)));  \
    cache_##k.recent = reserve(sizeof(struct recent) * (__dse_block_count + __dse_foreign_count + 1)); \
    cache_##k.hits = reserve(24 * ((u64)__dse_site_count + 1));
    DSE_CACHES(START_CACHE)
}

/* The everyday case, without a call: the line is in L1 and this block was the last to touch it. */
FAST int cache_again(u64 a, const u32 size, u32 site, u32 block, const int write) {
#define AGAIN(k, s1, w1, s2, w2, shift)                                                    \
    const struct line *l##k = cache_##k.l1 + ((a >> (shift)) & ((1u << (s1)) - 1)) * (w1); \
    if (unlikely((w1) > 1 || l##k->tag != (a >> (shift)) + 1 ||                            \
                 (write ? l##k->exclusive != block : 0) || l##k->last != block ||          \
                 (a & ((1u << (shift)) - 1)) + size > 1u << (shift)))                      \
        return 0;
    DSE_CACHES(AGAIN)
#define COUNT_AGAIN(k, s1, w1, s2, w2, shift) \
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
        int level = touch(&cache_##k, s1, w1, s2, w2, a >> (shift), block, write);       \
        if (size > 1 && unlikely(((a ^ (a + size - 1)) >> (shift)) != 0))                \
            for (u64 n = (a >> (shift)) + 1; n <= (a + size - 1) >> (shift); n++) {      \
                int other = touch(&cache_##k, s1, w1, s2, w2, n, block, write);          \
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
        int level = touch(&cache_##k, s1, w1, s2, w2, n, block, write);          \
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
