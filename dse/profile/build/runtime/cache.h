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

enum { MEMBERS = 8 };

struct line {
    u64 tag; /* line number + 1; 0 is empty */
    u64 used;
    u32 stay, stay2; /* in L1, in L2 */
    u32 next;        /* the place of the next member */
    u32 second;      /* where L2 has it */
    u32 members[MEMBERS]; /* places not yet taken repeat the owner */
};
struct second {
    u64 tag, used;
    u32 stay; /* unless L1 has the line */
};

/* A stay: the set of its readers, and of OWNER with twice the owner, plus one if it wrote. With no reader yet,
 * that item itself. */
#define OWNER ((u32)1 << 31)

#ifdef DSE_CACHES
struct cache {
    u64 clock;
    u32 *latest; /* by L1 set of several ways: the way touched last */
    u64 (*hits)[3]; /* by site */
    u64 *first, *second; /* stays in L1 and L2 that were counted, by set */
};

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
    u32 stay2 = owned(block, write);
    if (level == 1 && COUNTING) {
        u32 more = join(found->stay, block);
        count_stay(c->second, found->stay, more);
        stay2 = write ? stay2 : more;
    } else if (level == 1 && !write) {
        stay2 = found->stay;
    }
    found->tag = number + 1;
    found->used = ++c->clock;
    struct line *lines = l1 + (number & ((1u << s1) - 1)) * w1, *l = lines;
    for (int i = 1; i < w1; i++)
        if (lines[i].used < l->used)
            l = &lines[i];
    if (l->tag)
        l2[l->second].stay = l->stay2;
    l->tag = number + 1;
    l->used = c->clock;
    if (w1 > 1)
        c->latest[number & ((1u << s1) - 1)] = (u32)(l - lines);
    own(l, block, write);
    l->stay2 = stay2;
    l->second = (u32)(found - l2);
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
    cache_##k.first = reserve(sizeof(u64) * HISTORY_LIMIT);                                            \
    cache_##k.second = reserve(sizeof(u64) * HISTORY_LIMIT);                                           \
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
