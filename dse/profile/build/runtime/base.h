/* Memory, hash tables and the state that every part of the runtime shares.
 *
 * The runtime never calls malloc (that would move the program's own data) nor stdio (the program may
 * be using it at that moment): memory comes from mmap, results leave through write. */
#ifndef DSE_BASE_H
#define DSE_BASE_H

#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define HIDDEN __attribute__((visibility("hidden")))
#define SLOW __attribute__((noinline, cold))
#define FAST static inline __attribute__((always_inline))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* What the instrumented module says of itself. Functions are numbered: the program's own, the foreign
 * ones, then the four origins below. Blocks: the program's own, then one for each foreign function. */
extern HIDDEN const u32 __dse_function_count, __dse_foreign_count, __dse_block_count;
extern HIDDEN const u32 __dse_counter_count, __dse_site_count;
extern HIDDEN u64 __dse_counts[];
extern HIDDEN void *const __dse_functions[];
extern HIDDEN const char __dse_result_file[], __dse_trace_file[]; /* their names */
HIDDEN u64 __dse_work;    /* arithmetic and logical instructions so far */
HIDDEN u64 __dse_varargs; /* bytes of the variable arguments of the call being made */
HIDDEN u32 __dse_caller;  /* the block that makes a call with arguments in memory */

enum { CONSTANTS, INPUT, UNKNOWN, START, ORIGINS };

static u32 origin_function(u32 origin) {
    return __dse_function_count + __dse_foreign_count + origin;
}

/* Why the run ended; the numbers are part of the result's format. */
enum { RUN_COMPLETE, RUN_SIGNAL, RUN_OUT_OF_MEMORY, RUN_TOO_DEEP, RUN_TOO_MANY };
static void finish(u32 reason, u32 detail);

static int active = 1; /* whether the region of interest is being executed */
#ifdef DSE_REGION
#define COUNTING (active)
#else
#define COUNTING 1
#endif

static void *reserve(size_t bytes) {
    void *p = mmap(0, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        finish(RUN_OUT_OF_MEMORY, 0);
        _exit(125);
    }
    return p;
}

/* Two counters for each pair of numbers: open addressing, doubled when half full. */
struct pair {
    u64 key; /* (from << 32 | to) + 1; 0 is free */
    u64 first, second;
};
struct table {
    struct pair *pairs;
    u64 capacity, used;
};

static struct pair *table_probe(struct pair *pairs, u64 capacity, u64 key) {
    u64 i = (key * 0x9e3779b97f4a7c15u) >> 20;
    for (;; i++) {
        struct pair *p = &pairs[i & (capacity - 1)];
        if (p->key == key || !p->key)
            return p;
    }
}

static SLOW void table_grow(struct table *t) {
    u64 capacity = t->capacity ? 2 * t->capacity : 1024;
    struct pair *pairs = reserve(capacity * sizeof *pairs);
    for (u64 i = 0; i < t->capacity; i++)
        if (t->pairs[i].key)
            *table_probe(pairs, capacity, t->pairs[i].key) = t->pairs[i];
    if (t->capacity)
        munmap(t->pairs, t->capacity * sizeof *pairs);
    t->pairs = pairs;
    t->capacity = capacity;
}

static struct pair *table_at(struct table *t, u32 from, u32 to) {
    if (unlikely(2 * t->used >= t->capacity))
        table_grow(t);
    u64 key = ((u64)from << 32 | to) + 1;
    struct pair *p = table_probe(t->pairs, t->capacity, key);
    if (unlikely(!p->key)) {
        p->key = key;
        t->used++;
    }
    return p;
}
#endif
