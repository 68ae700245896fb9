/* The stack of live invocations and the tree of calling contexts. */
#ifndef DSE_TREE_H
#define DSE_TREE_H
#include "trace.h"

/* The functions that live, in the order in which they were first called: a recursion adds none. What a
 * read counts depends on these alone, and there are far fewer of them than contexts. */
struct scope {
    u32 parent, function, depth;
};
struct node { /* one calling context */
    u32 parent, function, scope;
    u32 outermost; /* whether its function lives in no context above it */
    u64 invocations, work;
    u32 last_function, last_child;
};
struct frame { /* one live invocation */
    u32 invocation, node, function, scope;
};
/* A live function, from its outermost invocation on; as many as the scope is deep. */
struct level {
    u32 invocation, function;
    u64 words; /* different words of memory that it and its callees touched, less those of its caller that
                  live levels touched before: the sum over a level and all above it counts for it */
};

enum { FIRST_INVOCATION = 8, NODE_LIMIT = 1 << 20, DEPTH_LIMIT = 1 << 22 };

static struct node *nodes;
static u32 node_count;
static struct table children; /* (parent, function) to node, in `first` */
static struct scope *scopes;
static u32 scope_count;
static struct table inner; /* (scope, function) to scope, in `first` */
static struct frame *frames;
static u32 depth;
static struct level *levels;
static u32 top_level; /* of the invocation now running */
static u32 *invocation_node;
static u64 invocation_count, invocation_room;
static u64 work_mark;
static u32 collapsed; /* contexts beyond NODE_LIMIT were merged */
static u32 current;   /* the invocation now running */
static u64 *local_bytes;
static u64 *run_words, *call_words; /* by function: words touched in the run, most in a call */

static u32 scope_new(u32 parent, u32 function) {
    scopes[scope_count] = (struct scope){parent, function, scopes[parent].depth + 1};
    return scope_count++;
}

/* The scope in which a function lives too. */
static SLOW u32 scope_with(u32 scope, u32 function) {
    for (u32 s = scope; s; s = scopes[s].parent)
        if (scopes[s].function == function)
            return scope;
    struct pair *p = table_at(&inner, scope, function);
    if (!p->first) {
        if (scope_count >= NODE_LIMIT) {
            collapsed = 1;
            return scope;
        }
        p->first = scope_new(scope, function);
    }
    return (u32)p->first;
}

static u32 node_new(u32 parent, u32 function) {
    u32 n = node_count++;
    nodes[n] = (struct node){.parent = parent, .function = function, .last_function = 0xffffffffu};
    return n;
}

static SLOW u32 node_child(u32 parent, u32 function) {
    struct pair *p = table_at(&children, parent, function);
    if (!p->first) {
        if (node_count >= NODE_LIMIT) {
            collapsed = 1;
            return parent;
        }
        u32 n = node_new(parent, function), around = nodes[parent].scope;
        nodes[n].scope = scope_with(around, function);
        nodes[n].outermost = nodes[n].scope != around;
        p->first = n;
    }
    nodes[parent].last_function = function;
    nodes[parent].last_child = (u32)p->first;
    return (u32)p->first;
}

static SLOW void invocation_grow(void) {
    u64 room = 2 * invocation_room;
    if (room > (u64)1 << 32) {
        finish(RUN_TOO_MANY, 0);
        _exit(125);
    }
    void *p = mremap(invocation_node, 4 * invocation_room, 4 * room, MREMAP_MAYMOVE | MREMAP_FIXED,
                     (void *)room_for(4 * room));
    if (p == MAP_FAILED) {
        finish(RUN_OUT_OF_MEMORY, 0);
        _exit(125);
    }
    invocation_node = p;
    invocation_room = room;
}

static void region_enter(u32 function);
static void region_leave(void);

FAST void tree_mark(void) {
    u64 work = __dse_work;
    if (COUNTING)
        nodes[frames[depth].node].work += work - work_mark;
    work_mark = work;
}

/* What the code of a function keeps: the depth of its frame, with UNFRAMED if it has none of its own. */
#define UNFRAMED ((u32)1 << 31)

/* A program that calls no function on threads has one version of its functions. No thread of a library may run them. */
static int library_threads;
static SLOW void refuse_library_thread(u32 function) {
    if (__dse_recorded)
        return;
    finish(RUN_LIBRARY_THREAD, function);
    _exit(125);
}

static u32 tree_enter(u32 function) {
#ifndef DSE_TREE
    return 0;
#endif
    if (unlikely(library_threads))
        refuse_library_thread(function);
    if (OTHER_THREAD)
        return UNFRAMED;
    if (unlikely(!__dse_framed[function]))
        return depth | UNFRAMED;
    tree_mark();
#ifdef DSE_REGION
    region_enter(function);
#endif
    struct node *here = &nodes[frames[depth].node];
    u32 n = likely(here->last_function == function) ? here->last_child
                                                    : node_child(frames[depth].node, function);
    if (COUNTING)
        nodes[n].invocations++;
    u64 i = invocation_count++;
    if (unlikely(i >= invocation_room))
        invocation_grow();
    invocation_node[i] = n;
    u32 scope = likely(!collapsed) ? nodes[n].scope : scope_with(frames[depth].scope, function);
    if (unlikely(++depth >= DEPTH_LIMIT)) {
        finish(RUN_TOO_DEEP, 0);
        _exit(125);
    }
    if (scope != frames[depth - 1].scope)
        levels[++top_level] = (struct level){(u32)i, function, 0};
    frames[depth] = (struct frame){(u32)i, n, function, scope};
    current = (u32)i;
    trace('E', function, 0, i, depth, 0);
    return depth;
}

/* The outermost invocation of a function ends, or is looked at as if it did: how many words did it touch? */
FAST void tree_words(u32 at) {
    const struct level *l = &levels[at];
    if (l->words > call_words[l->function])
        call_words[l->function] = l->words;
    levels[at - 1].words += l->words;
}

/* Leave every frame above `keep`: one on a return, several after an exception or a long jump. */
static void tree_unwind(u32 keep) {
    if (depth <= keep)
        return;
    tree_mark();
    while (depth > keep) {
        if (frames[depth].scope != frames[depth - 1].scope)
            tree_words(top_level--);
        depth--;
#ifdef DSE_REGION
        region_leave();
#endif
    }
    current = frames[depth].invocation;
    trace('X', depth, 0, 0, 0, 0);
}

static void tree_leave(u32 at) {
#ifdef DSE_TREE
    if (likely(!(at & UNFRAMED)))
        tree_unwind(at - 1);
#endif
}

HIDDEN u32 __dse_enter(u32 function) { return tree_enter(function); }
HIDDEN void __dse_leave(u32 at) { tree_leave(at); }
HIDDEN void __dse_resume(u32 at) { tree_unwind(at & ~UNFRAMED); }

static void tree_start(void) {
    u32 functions = __dse_function_count + __dse_foreign_count + ORIGINS;
    nodes = reserve(sizeof *nodes * (u64)NODE_LIMIT + sizeof *nodes * 8);
    frames = reserve(sizeof *frames * (u64)DEPTH_LIMIT);
    levels = reserve(sizeof *levels * ((u64)functions + 1));
    scopes = reserve(sizeof *scopes * ((u64)NODE_LIMIT + 8));
    local_bytes = reserve(8 * (u64)functions);
    run_words = reserve(8 * (u64)functions);
    call_words = reserve(8 * (u64)functions);
    invocation_room = 1 << 20;
    invocation_node = reserve(4 * invocation_room);
    node_new(0, origin_function(START));
    scopes[scope_count++].function = origin_function(START);
    for (u32 origin = CONSTANTS; origin < START; origin++) {
        u32 n = node_new(0, origin_function(origin));
        nodes[n].scope = scope_new(0, origin_function(origin));
        nodes[n].outermost = 1;
        invocation_node[1 + origin] = n;
    }
    invocation_count = FIRST_INVOCATION;
    current = FIRST_INVOCATION - 1;
    frames[0] = (struct frame){current, 0, origin_function(START), 0};
    levels[0] = (struct level){current, origin_function(START), 0};
}
#endif
