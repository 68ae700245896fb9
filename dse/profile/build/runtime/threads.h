/* Threads other than the profiled one, which is the thread that runs main. They run code without hooks that
 * record, and mark the bytes of memory that they read and write. All tables of the runtime belong to the
 * profiled thread: the others write their marks, and nothing else.
 *
 * Each byte of memory has a byte of marks: WROTE, since the profiled thread last wrote it, and READ_IT. The others set marks
 * before their access, and the profiled thread looks at them before its own. If the program has no data race, an access and
 * its mark are both before the other thread's access, or both after it. Marks of different bytes do not share a byte, so
 * that setting one changes no other. The profiled thread moves marks to the shadow memory where it comes upon them:
 * a byte that another thread wrote then has the writer THREADS. */
#ifndef DSE_THREADS_H
#define DSE_THREADS_H
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include "pages.h"

#ifdef DSE_THREADS
static int profiled_thread; /* its number for the system */
static int profiled_ended;  /* it called pthread_exit: it changes no table any more */

/* By function: how many threads entered the program there. By library function: whether another thread called
 * it, and its reads and writes are unknown. */
static u32 *thread_starts;
static u8 *other_calls;

#define OF_THREAD static __thread __attribute__((tls_model("initial-exec")))
OF_THREAD u32 entered_at; /* a function plus one */
OF_THREAD u8 named;       /* whether it is a function of the program's own sources */

static SLOW void name_thread(u32 function, u32 system) {
    if (entered_at && !system)
        __atomic_fetch_sub(&thread_starts[entered_at - 1], 1, __ATOMIC_RELAXED);
    if (!entered_at || !system)
        __atomic_fetch_add(&thread_starts[function], 1, __ATOMIC_RELAXED);
    entered_at = function + 1;
    named = !system;
}
HIDDEN void __dse_other_enters(u32 function, u32 system) {
    if (unlikely(!named && !__dse_recorded && !(entered_at && system)))
        name_thread(function, system);
}
HIDDEN void __dse_other_calls(u32 foreign) { other_calls[foreign] = 1; }

#ifdef DSE_TRANSFERS
enum { GRANULE = 20, GRANULES = 1 << 20, WROTE = 1, READ_IT = 2 };
static u8 *volatile *const marks = (u8 *volatile *)PLACE(PLACE_MARKS); /* by granule of memory */
static u32 *granules;                                                  /* those that have marks */
static u32 granule_count;

static SLOW u8 *marks_new(u64 a) {
    u32 n = __atomic_fetch_add(&granule_count, 1, __ATOMIC_RELAXED);
    u8 *fresh = n < GRANULES ? mmap((void *)(MARKS + ((u64)n << GRANULE)), 1 << GRANULE, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0)
                             : MAP_FAILED;
    if (fresh == MAP_FAILED) {
        finish(RUN_OUT_OF_MEMORY, 0);
        _exit(125);
    }
    u8 *seen = 0;
    u64 granule = (a >> GRANULE) & ((1 << 27) - 1);
    if (!__atomic_compare_exchange_n(&marks[granule], &seen, fresh, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        munmap(fresh, 1 << GRANULE);
        return seen; /* another thread was faster */
    }
    granules[n] = (u32)granule + 1;
    return fresh;
}
FAST u8 *marks_seen(u64 a) { return marks[(a >> GRANULE) & ((1 << 27) - 1)]; }
FAST u64 mark_at(u64 a) { return a & ((1 << GRANULE) - 1); }
FAST u64 in_granule(u64 a, u64 bytes) {
    u64 room = (1 << GRANULE) - mark_at(a);
    return bytes < room ? bytes : room;
}

/* By another thread: it reads, or it writes. */
static void others_read(u64 a, u64 bytes) {
    for (u64 n; bytes; a += n, bytes -= n) {
        n = in_granule(a, bytes);
        u8 *m = marks_seen(a);
        m = (m ? m : marks_new(a)) + mark_at(a);
        for (u64 i = 0; i < n; i++)
            if (!m[i])
                m[i] = READ_IT;
    }
}
static void others_write(u64 a, u64 bytes) {
    for (u64 n; bytes; a += n, bytes -= n) {
        n = in_granule(a, bytes);
        u8 *m = marks_seen(a);
        m = (m ? m : marks_new(a)) + mark_at(a);
        for (u64 i = 0; i < n; i++)
            m[i] |= WROTE;
    }
}

typedef u8 __attribute__((may_alias)) marks1;
typedef u16 __attribute__((may_alias, aligned(1))) marks2;
typedef u32 __attribute__((may_alias, aligned(1))) marks4;
typedef u64 __attribute__((may_alias, aligned(1))) marks8;
typedef unsigned __int128 __attribute__((may_alias, aligned(1))) marks16;
#define EACH(size) ((marks##size)-1 / 255) /* a one in each byte */

#define OTHER_HOOKS(size)                                                                  \
    RARE void others_load##size(u64 a) { others_read(a, size); }                           \
    RARE void others_store##size(u64 a) { others_write(a, size); }                         \
    HOOK void __dse_other_load##size(u64 a) {                                              \
        u8 *m = marks_seen(a);                                                             \
        if (unlikely(!m || mark_at(a) + size > 1 << GRANULE)) {                            \
            others_load##size(a);                                                          \
            return;                                                                        \
        }                                                                                  \
        marks##size *at = (marks##size *)(m + mark_at(a)), old = *at;                      \
        marks##size none = (marks##size)(~(old | old >> 1) & EACH(size));                  \
        if (unlikely(none != 0))                                                           \
            *at = (marks##size)(old | none * READ_IT);                                     \
    }                                                                                      \
    HOOK void __dse_other_store##size(u64 a) {                                             \
        u8 *m = marks_seen(a);                                                             \
        if (unlikely(!m || mark_at(a) + size > 1 << GRANULE)) {                            \
            others_store##size(a);                                                         \
            return;                                                                        \
        }                                                                                  \
        marks##size *at = (marks##size *)(m + mark_at(a)), old = *at;                      \
        if (unlikely((old & EACH(size)) != EACH(size)))                                    \
            *at = old | EACH(size);                                                        \
    }                                                                                      \
    /* By the profiled thread: whether another one wrote (or read) what it accesses. */    \
    FAST int marked##size(u64 a, u8 bits) {                                                \
        const u8 *m = marks_seen(a);                                                       \
        if (likely(!m))                                                                    \
            return 0;                                                                      \
        if (unlikely(mark_at(a) + size > 1 << GRANULE))                                    \
            return 1;                                                                      \
        return (*(const marks##size *)(m + mark_at(a)) & (marks##size)(EACH(size) * bits)) != 0; \
    }
OTHER_HOOKS(1)
OTHER_HOOKS(2)
OTHER_HOOKS(4)
OTHER_HOOKS(8)
OTHER_HOOKS(16)

static void shadow_sent(u64 a, u64 bytes);
static void shadow_received(u64 a, u64 bytes);

/* The profiled thread moves marks to its tables, where it writes, or where it reads what others wrote. */
static __attribute__((noinline)) void marks_settle(u64 a, u64 bytes, int writing) {
    u64 begin = a >> DSE_CHUNK << DSE_CHUNK; /* whole chunks */
    bytes = ((a + bytes + (1 << DSE_CHUNK) - 1) >> DSE_CHUNK << DSE_CHUNK) - begin;
    a = begin;
    for (u64 n; bytes; a += n, bytes -= n) {
        n = in_granule(a, bytes);
        u8 *m = marks_seen(a);
        m += m ? mark_at(a) : 0;
        for (u64 i = 0, end; m && i < n; i = end) {
            u8 bits = m[i];
            for (end = i + 1; end < n && m[end] == bits;)
                end += !bits && end + 8 <= n && !*(const marks8 *)(m + end) ? 8 : 1;
            if (!(bits & WROTE) && !(bits && writing))
                continue;
            memset(m + i, 0, end - i);
            if (bits & READ_IT)
                shadow_sent(a + i, end - i);
            if (bits & WROTE)
                shadow_received(a + i, end - i);
        }
    }
}

/* At the end: what other threads read is counted as if it were written anew. */
static void marks_finish(void) {
    u32 count = granule_count < GRANULES ? granule_count : GRANULES;
    for (u32 i = 0; i < count; i++)
        if (granules[i])
            marks_settle((u64)(granules[i] - 1) << GRANULE, 1 << GRANULE, 1);
}
#endif

static void threads_start(void) {
    profiled_thread = (int)syscall(SYS_gettid);
    thread_starts = reserve(4 * ((u64)__dse_function_count + 1));
    other_calls = reserve((u64)__dse_foreign_count + 8);
#ifdef DSE_TRANSFERS
    reserve_at((u64)marks, (u64)8 << 27);
    granules = reserve(4 * (u64)GRANULES);
#endif
}

/* A thread that ends the process lets the profiled thread write the result, between two of its steps. If that has ended,
 * or waits with its signals blocked, the thread writes it. */
enum { FINISH = 63, PATIENCE = 2000 }; /* a signal; milliseconds */
static int finished, written;
static u32 finish_reason, finish_detail;

static void on_finish(int number) {
    (void)number;
    finish(finish_reason, finish_detail);
}

static int finished_by_profiled(u32 reason, u32 detail) {
    if (profiled_ended)
        return 0;
    finish_reason = reason;
    finish_detail = detail;
    if (!finished)
        syscall(SYS_tgkill, getpid(), profiled_thread, FINISH);
    struct timespec millisecond = {0, 1000000};
    for (int i = 0; i < PATIENCE && !__atomic_load_n(&written, __ATOMIC_ACQUIRE); i++)
        nanosleep(&millisecond, 0);
    return __atomic_load_n(&written, __ATOMIC_ACQUIRE);
}
#else
static void threads_start(void) {}
static int finished;
#endif

#if !defined DSE_THREADS || !defined DSE_TRANSFERS
static void others_read(u64 a, u64 bytes) {}
static void others_write(u64 a, u64 bytes) {}
static void marks_settle(u64 a, u64 bytes, int writing) {}
static void marks_finish(void) {}
#define marked1(a, bits) 0
#define marked2(a, bits) 0
#define marked4(a, bits) 0
#define marked8(a, bits) 0
#define marked16(a, bits) 0
#ifdef DSE_THREADS
#define OTHER_HOOKS(size)                         \
    HOOK void __dse_other_load##size(u64 a) {}    \
    HOOK void __dse_other_store##size(u64 a) {}
OTHER_HOOKS(1)
OTHER_HOOKS(2)
OTHER_HOOKS(4)
OTHER_HOOKS(8)
OTHER_HOOKS(16)
#endif
#endif
#ifdef DSE_THREADS
HIDDEN void __dse_other_read(u64 a, u64 bytes) { others_read(a, bytes); }
HIDDEN void __dse_other_write(u64 a, u64 bytes) { others_write(a, bytes); }
#endif
#endif
