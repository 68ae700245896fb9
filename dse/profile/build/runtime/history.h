/* What happened to a piece of memory, as a set of whole numbers that only grows.
 *
 * Equal sets have one number (0: the empty set), so that a chunk of memory holds four bytes for any
 * history. A set is a sorted list. */
#ifndef DSE_HISTORY_H
#define DSE_HISTORY_H
#include "base.h"

enum { HISTORY_LIMIT = 1 << 22, HISTORY_ROOM = 1 << 28 };

static struct history {
    u32 start, count;
} *histories;
static u32 history_count = 1;
static u32 *history_items;
static u64 history_used;
static struct table history_known; /* (hash of the content) to set, in `first` */
static u32 history_full;           /* sets beyond the limit were not told apart */

static int history_is(u32 set, const u32 *items, u32 count) {
    return histories[set].count == count &&
           !memcmp(history_items + histories[set].start, items, 4 * (u64)count);
}

/* The set of a sorted list that stands at the end of the items. */
static u32 history_set(u32 count) {
    const u32 *items = history_items + history_used;
    u64 hash = 0xcbf29ce484222325u;
    for (u32 i = 0; i < count; i++)
        hash = (hash ^ items[i]) * 0x9e3779b97f4a7c15u ^ hash >> 29;
    for (;; hash++) {
        struct pair *p = table_at(&history_known, (u32)(hash >> 32) >> 1, (u32)hash);
        if (!p->first) {
            p->first = history_count;
            histories[history_count] = (struct history){(u32)history_used, count};
            history_used += count;
            return history_count++;
        }
        if (history_is((u32)p->first, items, count))
            return (u32)p->first;
    }
}

/* A set with the items of a sorted list; `fresh` has room for those that it did not hold, and gets them. */
static u32 history_with(u32 set, const u32 *more, u32 count, u32 *fresh, u32 *fresh_count) {
    const struct history h = histories[set];
    const u32 *old = history_items + h.start, *end = old + h.count;
    u32 *items = history_items + history_used, *at = items, found = 0;
    int room = history_count < HISTORY_LIMIT && history_used + h.count + count < HISTORY_ROOM;
    for (u32 i = 0; i < count; i++) {
        for (; old < end && *old < more[i]; old++)
            if (room)
                *at++ = *old;
        if (old == end || *old != more[i]) {
            fresh[found++] = more[i];
            if (room)
                *at++ = more[i];
        }
    }
    *fresh_count = found;
    history_full |= found && !room;
    if (!found || !room)
        return set;
    memcpy(at, old, 4 * (u64)(end - old));
    return history_set((u32)(at - items) + (u32)(end - old));
}

static void history_start(void) {
    histories = reserve(sizeof *histories * (u64)HISTORY_LIMIT);
    history_items = reserve(4 * (u64)HISTORY_ROOM);
}
#endif
