/* What moves between functions when an invocation reads what another wrote, and the memory they need.
 *
 * For values that are kept where they were read, a value has a history. Its items are the functions that
 * hold the value, for they or what they called wrote or read it, and the pairs of a function that wrote it
 * and one that read it after that one had ended. A word of memory has one too: the functions that touched it.
 *
 * What a read counts takes a walk over all functions that live, and over those that lived when the value
 * was written. It depends on a few small numbers, and the same walks come again and again: they are
 * remembered, their bytes add up, and they are counted when another one takes their place, or at the end. */
#ifndef DSE_FLOWS_H
#define DSE_FLOWS_H
#include "history.h"
#include "tree.h"

#ifdef DSE_TRANSFERS
enum { WALKS = 1 << 14, STEPS = 1 << 14 };

struct walk {
    u32 kept;            /* the value's history */
    u32 source, from;    /* the scope of the invocation that wrote it, and its function */
    u32 scope, function; /* of the invocation that reads it */
    u32 since;           /* so many functions of the reader's scope lived when it was last touched */
    u32 alive;           /* so many of the writer's scope still live in the same invocation */
    u32 after;           /* its history then */
    u64 bytes;
};
struct step {
    u32 set, scope;   /* a word's history, and the scope that touches it */
    u64 after, words; /* its history then, and how many words took the step */
};

/* By (from, to): bytes that moved; into a function with its callees and, of these, fetched; out of one
 * and, of these, returned. */
static struct table moved, into, out;
static u32 *within;         /* by scope: its functions, as a history */
static u32 *listed, *fresh; /* functions, or pairs of one with each: room for all of them */
static struct walk *walks;
static struct step *steps;

/* The functions of a scope: the history of a value that an invocation in it just wrote. */
static u32 functions_of(u32 scope) {
    u32 count;
    if (scope && unlikely(!within[scope]))
        within[scope] =
            history_with(functions_of(scopes[scope].parent), &scopes[scope].function, 1, fresh, &count);
    return within[scope];
}

/* A history with the functions of a scope; those that are new to it are left in `fresh`. */
static u32 history_in(u32 set, u32 scope, u32 *count) {
    const struct history h = histories[functions_of(scope)];
    return history_with(set, history_items + h.start, h.count, fresh, count);
}

static void flow(struct table *t, u32 from, u32 to, u64 first, u64 second) {
    if (first | second) {
        struct pair *p = table_at(t, from, to);
        p->first += first;
        p->second += second;
    }
}

/* Walk: count so many bytes, return the value's history after it. */
static u32 walked(const struct walk *w, u64 bytes) {
    u32 from = w->from, count, outer = w->source;
    flow(&moved, from, w->function, bytes, 0);
    /* Into each live function and its callees: new to the outermost invocation that began after both
     * the write and the last read; not held yet by the function. */
    for (u32 s = w->scope; scopes[s].depth > w->since; s = scopes[s].parent)
        flow(&into, from, scopes[s].function, bytes, 0);
    u32 kept = history_in(w->kept, w->scope, &count);
    for (u32 i = 0; i < count; i++)
        flow(&into, from, fresh[i], 0, bytes);
    /* Out of each function and its callees: the outermost invocations around the writer that ended. */
    for (; scopes[outer].depth > w->alive; outer = scopes[outer].parent)
        flow(&out, scopes[outer].function, w->function, bytes, 0);
    u32 functions = origin_function(ORIGINS), pairs = 0;
    const struct history all = histories[functions_of(w->source)], live = histories[functions_of(outer)];
    const u32 *lives = history_items + live.start, *end = lives + live.count;
    for (u32 i = 0; i < all.count; i++) {
        u32 function = history_items[all.start + i];
        if (lives < end && *lives == function)
            lives++;
        else
            listed[pairs++] = functions * (1 + function) + w->function;
    }
    kept = history_with(kept, listed, pairs, fresh, &count);
    for (u32 i = 0; i < count; i++)
        flow(&out, fresh[i] / functions - 1, w->function, 0, bytes);
    return kept;
}

/* Count the words that a step was taken for. */
static u32 stepped(const struct step *s) {
    u32 count, after = history_in(s->set, s->scope, &count);
    for (u32 i = 0; i < count; i++)
        run_words[fresh[i]] += s->words;
    return after;
}

/* How many functions lived when an invocation began; most often as many as now. */
FAST u32 level_of(u32 invocation) {
    u32 low = 0, high = top_level + 1;
    for (u32 seen = 0; seen < 4 && high; seen++)
        if (levels[--high].invocation <= invocation)
            return high;
    while (high - low > 1) {
        u32 middle = low + (high - low) / 2;
        if (levels[middle].invocation <= invocation)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static SLOW u32 walk_anew(struct walk *at, struct walk w, u64 bytes) {
    if (at->bytes)
        walked(at, at->bytes);
    *at = w;
    at->after = walked(&w, bytes);
    return at->after;
}

/* By value, and number by number: what was just written is not yet in memory to be compared as a whole. */
FAST int same_walk(const struct walk *at, struct walk w) {
    return !((at->kept ^ w.kept) | (at->source ^ w.source) | (at->from ^ w.from) | (at->scope ^ w.scope) |
             (at->function ^ w.function) | (at->since ^ w.since) | (at->alive ^ w.alive));
}

/* What the first read of an own value counts, the same for all of an invocation's. */
static u32 own_invocation, own_history;
static u64 *own_bytes;

/* The invocation now running reads `bytes` bytes that `writer` wrote, `reader` read last, and whose
 * history is `kept`; return the new one. */
static __attribute__((noinline)) u32 credit(u32 writer, u32 reader, u32 kept, u64 bytes) {
    static struct {
        u64 who, what;
        struct walk *walk;
    } last; /* what is asked for again at once, as for the words of a text and for its rest */
    u64 who = (u64)writer << 32 | reader, what = (u64)current << 32 | kept;
    if (last.who == who && last.what == what) {
        last.walk->bytes += COUNTING ? bytes : 0;
        return last.walk->after;
    }
    const struct node *origin = &nodes[invocation_node[writer]];
    u32 source = origin->scope, from = origin->function;
    if (!reader)
        kept = functions_of(source);
    if (writer == current) {
        if (COUNTING)
            local_bytes[from] += bytes;
        if (!reader) {
            own_invocation = current;
            own_history = kept;
            own_bytes = &local_bytes[from];
        }
        return kept;
    }
    const struct frame *top = &frames[depth];
    u32 alive = scopes[source].depth, before = level_of(writer);
    struct walk w = {kept, source, from, top->scope, top->function, before, before, 0, 0};
    if (reader > writer)
        w.since = level_of(reader);
    if (writer < FIRST_INVOCATION || before > alive)
        w.alive = alive;
    u64 hash = ((u64)kept << 32 | source) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ ((u64)w.scope << 32 | w.function)) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ ((u64)from << 40 | (u64)w.since << 20 | w.alive)) * 0x9e3779b97f4a7c15u;
    struct walk *at = &walks[(hash >> 40) & (WALKS - 1)];
    if (!COUNTING)
        bytes = 0;
    last.who = who;
    last.what = what;
    last.walk = at;
    if (unlikely(!same_walk(at, w)))
        return walk_anew(at, w, bytes);
    at->bytes += bytes;
    return at->after;
}

/* The invocation now running touches words of memory of one history, last touched by one invocation;
 * return their history then. */
static __attribute__((noinline)) u32 touch(u32 toucher, u32 set, u64 words) {
    u32 scope = frames[depth].scope;
    struct step *at = &steps[(((u64)set << 32 | scope) * 0x9e3779b97f4a7c15u) >> 40 & (STEPS - 1)];
    if (unlikely(at->set != set || at->scope != scope)) {
        if (at->words && at->after != at->set)
            stepped(at);
        *at = (struct step){set, scope, 0, 0};
        at->after = stepped(at);
    }
    at->words += words;
    levels[top_level].words += words;
    levels[level_of(toucher)].words -= words;
    return (u32)at->after;
}

static void flows_start(void) {
    within = reserve(4 * ((u64)NODE_LIMIT + 8));
    listed = reserve(4 * (u64)origin_function(ORIGINS));
    fresh = reserve(4 * (u64)origin_function(ORIGINS));
    walks = reserve(sizeof *walks * WALKS);
    steps = reserve(sizeof *steps * STEPS);
}

static void flows_finish(void) {
    for (u32 i = 0; i < WALKS; i++)
        walked(&walks[i], walks[i].bytes);
    for (u32 i = 0; i < STEPS; i++)
        stepped(&steps[i]);
}
#endif
#endif
