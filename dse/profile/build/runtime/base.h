/* Memory, hash tables and the state that every part of the runtime shares.
 *
 * The runtime moves nothing of the program's: it never calls malloc, and its memory lies in a region of
 * its own, far from where the system puts mappings. Nor does it call stdio (the program may be using it
 * at that moment): results leave through write. */
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
/* Hooks keep the registers of their caller, and so do the functions that they call for rare cases: the everyday path
 * saves next to nothing. `used`: no argument is left out or moved to another register. */
#define HOOK HIDDEN __attribute__((preserve_most))
#define RARE static __attribute__((preserve_most, noinline, used))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* What the instrumented module says of itself. Functions are numbered: the program's own, the foreign
 * ones, then the four origins below. Blocks: the program's own, then one for each foreign function. */
extern HIDDEN const u32 __dse_function_count, __dse_foreign_count, __dse_block_count;
extern HIDDEN const u32 __dse_counter_count, __dse_site_count;
extern HIDDEN u64 __dse_counts[];
extern HIDDEN void *const __dse_functions[];
extern HIDDEN const u8 __dse_framed[]; /* by function: whether its calls are invocations of their own */
extern HIDDEN const int64_t __dse_region[]; /* start, stop, first and last call: see region.h */
extern HIDDEN const char __dse_result_file[], __dse_trace_file[]; /* their names */
HIDDEN u64 __dse_work;    /* arithmetic and logical instructions so far */
HIDDEN u64 __dse_varargs; /* bytes of the variable arguments of the call being made */
HIDDEN u32 __dse_caller;  /* the block that makes a call with arguments in memory */
HIDDEN u32 __dse_copies;  /* the first site of the structures that it passes by value, two for each */

enum { CONSTANTS, INPUT, UNKNOWN, THREADS, START, ORIGINS };

static u32 origin_function(u32 origin) {
    return __dse_function_count + __dse_foreign_count + origin;
}

/* Why the run ended; the numbers are part of the result's format. */
enum { RUN_COMPLETE, RUN_SIGNAL, RUN_OUT_OF_MEMORY, RUN_TOO_DEEP, RUN_TOO_MANY, RUN_REFUSED, RUN_LIBRARY_THREAD };
static void finish(u32 reason, u32 detail);

/* Whether this thread is one that the profile does not contain: it changes none of the tables. */
HIDDEN __thread u8 __dse_recorded __attribute__((tls_model("initial-exec")));
#ifdef DSE_THREADS
#define OTHER_THREAD unlikely(!__dse_recorded)
#else
#define OTHER_THREAD 0
#endif

static int active = 1; /* whether the region of interest is being executed */
#ifdef DSE_REGION
#define COUNTING (active)
#else
#define COUNTING 1
#endif

/* The runtime's region. Large tables have a gigabyte each at its beginning, at addresses that the
 * compiler knows; what is reserved in the run follows. */
#ifdef __x86_64__
#define REGION ((u64)1 << 44)
#else
#define REGION ((u64)1 << 37)
#endif
#define PLACE(number) (REGION + ((u64)(number) << 30))
enum { PLACE_CACHES, PLACE_SHADOW = 8, PLACE_TRACE, PLACE_MARKS, PLACE_FREE };
#define MARKS (REGION + REGION / 2) /* of other threads: behind all that is reserved in the run */

static void *reserve_at(u64 address, size_t bytes) {
    void *p = mmap((void *)address, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (p != (void *)address) {
        finish(RUN_OUT_OF_MEMORY, 0);
        _exit(125);
    }
    return p;
}

/* Room for `bytes` bytes behind all that was reserved before, as a number of whole huge pages. */
static u64 room_for(size_t bytes) {
    static u64 next = PLACE(PLACE_FREE);
    u64 at = next;
    next += (bytes + ((u64)1 << 21) - 1) & -((u64)1 << 21);
    return at;
}

static void *reserve(size_t bytes) { return reserve_at(room_for(bytes), bytes); }

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
