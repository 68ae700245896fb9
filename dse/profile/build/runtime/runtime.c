/* The hooks that an instrumented program calls, its start and its end. */
#include "base.h"
#include "trace.h"
#include "cache.h"
#include "tree.h"
#include "shadow.h"
#include "region.h"
#include "result.h"
#include "stack.h"
#include <signal.h>
#include <stdlib.h>

#define ACCESS_HOOKS(size)                                                                    \
    RARE void shadow_load##size(u64 a, u32 site) { shadow_learn(a, size, site); }             \
    RARE void shadow_store##size(u64 a, u32 block) { shadow_write(a, size, current, block); } \
    RARE void settle##size(u64 a, int writing) { marks_settle(a, size, writing); }            \
    HOOK void __dse_load##size(u64 a, u32 site, u32 block) {                                  \
        u16 levels = cache_access(a, size, site, block, 0);                                   \
        trace('L', site, block, a, size, levels);                                             \
        (void)levels;                                                                         \
        if (unlikely(marked##size(a, 1)))                                                     \
            settle##size(a, 0);                                                               \
        if (unlikely(!shadow_known(a, size, site)))                                           \
            shadow_load##size(a, site);                                                       \
    }                                                                                         \
    HOOK void __dse_store##size(u64 a, u32 site, u32 block) {                                 \
        u16 levels = cache_access(a, size, site, block, 1);                                   \
        trace('S', site, block, a, size, levels);                                             \
        (void)levels;                                                                         \
        if (unlikely(marked##size(a, 3)))                                                     \
            settle##size(a, 1);                                                               \
        if (unlikely(!shadow_take(a, size, block)))                                           \
            shadow_store##size(a, block);                                                     \
    }
ACCESS_HOOKS(1)
ACCESS_HOOKS(2)
ACCESS_HOOKS(4)
ACCESS_HOOKS(8)
ACCESS_HOOKS(16)

/* Runs of bytes: copies that the compiler makes, odd sizes, library calls. */
static void range_read(u64 a, u64 bytes, u32 site, u32 block) {
    if (!bytes)
        return;
    if (OTHER_THREAD) {
        others_read(a, bytes);
        return;
    }
    cache_range(a, bytes, site, block, 0);
    shadow_read(a, bytes, site);
    trace('R', site, block, a, bytes, 0);
}
static void range_write(u64 a, u64 bytes, u32 site, u32 block) {
    if (!bytes)
        return;
    if (OTHER_THREAD) {
        others_write(a, bytes);
        return;
    }
    cache_range(a, bytes, site, block, 1);
    shadow_write(a, bytes, current, block);
    trace('W', site, block, a, bytes, 0);
}
/* What the operating system reads and writes for the program passes through the caches, and is no hit or miss of the
 * program: it counts at a site that nobody reads. */
static void system_read(u64 a, u64 bytes, u32 site, u32 block) {
    if (!bytes)
        return;
    if (OTHER_THREAD) {
        others_read(a, bytes);
        return;
    }
    cache_range(a, bytes, __dse_site_count, block, 0);
    shadow_read(a, bytes, site);
    trace('K', site, block, a, bytes, 0);
}
static void system_write(u64 a, u64 bytes, u32 site, u32 block) {
    if (!bytes)
        return;
    if (OTHER_THREAD) {
        others_write(a, bytes);
        return;
    }
    cache_range(a, bytes, __dse_site_count, block, 1);
    shadow_write(a, bytes, current, block);
    trace('k', site, block, a, bytes, 0);
}
HIDDEN void __dse_copy(u64 to, u64 from, u64 bytes, u32 site, u32 block) {
    if (!bytes)
        return;
    if (OTHER_THREAD) {
        others_read(from, bytes);
        others_write(to, bytes);
        return;
    }
    cache_copy(to, from, bytes, site, block);
    shadow_read(from, bytes, site);
    shadow_write(to, bytes, current, block);
    trace('P', site, block, from, bytes, 0);
    trace('p', site + 1, block, to, bytes, 0);
}
HIDDEN void __dse_read(u64 a, u64 bytes, u32 site, u32 block) { range_read(a, bytes, site, block); }
HIDDEN void __dse_write(u64 a, u64 bytes, u32 site, u32 block) { range_write(a, bytes, site, block); }

/* A local array comes into being: what is there is nobody's. */
HIDDEN void __dse_clear(u64 a, u64 bytes) {
#ifdef DSE_THREADS
    if (OTHER_THREAD) {
        others_clear(a, bytes);
        return;
    }
#endif
    shadow_clear(a, bytes);
    trace('C', 0, 0, a, bytes, 0);
}

/* An argument passed in memory: the caller wrote it, in the block that called. */
static void written_by_caller(u64 a, u64 bytes, u32 caller) {
    if (bytes && depth)
        shadow_write(a, bytes, frames[depth - 1].invocation, caller);
    trace('A', 0, caller, a, bytes, 0);
}
/* A structure passed by value: the caller read the original at one site, and writes the copy at the next. */
HIDDEN void __dse_argument(u64 a, u64 bytes, u32 caller, u32 site) {
    if (bytes) {
        cache_range(a, bytes, site, caller, 1);
        trace('w', site, caller, a, bytes, 0);
    }
    written_by_caller(a, bytes, caller);
}

#ifdef __x86_64__
struct variable_arguments {
    u32 general, floating;
    u64 overflow, saved;
};
HIDDEN void __dse_va_start(struct variable_arguments *list, u64 bytes, u32 caller) {
    u32 general = list->general < 48 ? list->general : 48;
    written_by_caller(list->saved + general, 176 - general, caller);
    written_by_caller(list->overflow, bytes, caller);
}
#else
HIDDEN void __dse_va_start(void *list, u64 bytes, u32 caller) {}
#endif

HIDDEN void __dse_indirect(void *target, u32 block) {
    if (COUNTING)
        table_at(&indirect_calls, (u32)(u64)target, block)->first++;
}

HIDDEN void __dse_finish(void) { finish(RUN_COMPLETE, 0); }

static void on_signal(int number) {
    finish(RUN_SIGNAL, (u32)number);
    signal(number, SIG_DFL);
    raise(number);
}

/* What ends a run that passes a limit: a signal that programs do not handle, as they do SIGTERM. */
enum { STOPPED = 64 };

static void signals_start(void) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL,  SIGABRT, SIGTERM, SIGXCPU, SIGXFSZ,
                                  SIGINT,  SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGSYS,  SIGTRAP, STOPPED};
    stack_t stack = {.ss_sp = reserve(1 << 17), .ss_size = 1 << 17};
    sigaltstack(&stack, 0);
    /* What ends the program waits while its result is written: Ctrl-C brings SIGINT and STOPPED. */
    static const int waiting[] = {SIGTERM, SIGXCPU, SIGXFSZ, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, STOPPED};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER};
    for (u32 i = 0; i < sizeof waiting / sizeof *waiting; i++)
        sigaddset(&action.sa_mask, waiting[i]);
    for (u32 i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sigaction(numbers[i], &action, 0);
    }
#ifdef DSE_THREADS
    action.sa_handler = on_finish;
    sigaction(FINISH, &action, 0);
#endif
}

/* Before any code of the program; addresses are made the same in every run if that is allowed. */
__attribute__((constructor(101))) static void start(int count, char **arguments) {
    (void)count;
    int now = personality(0xffffffff);
    if (now != -1 && !(now & ADDR_NO_RANDOMIZE) && personality((unsigned)now | ADDR_NO_RANDOMIZE) != -1 &&
        (personality(0xffffffff) & ADDR_NO_RANDOMIZE))
        execv("/proc/self/exe", arguments);
#ifdef DSE_TRACE
    reserve_at((u64)trace_buffer, TRACE_ROOM * sizeof *trace_buffer);
    trace_file = open(__dse_trace_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
#endif
    history_start();
    cache_start();
    tree_start();
    shadow_start();
    __dse_recorded = 1;
    threads_start();
    shadow_input((u64)arguments);
    region_start();
    signals_start();
}

__attribute__((destructor(101))) static void stop(void) { finish(RUN_COMPLETE, 0); }

#include "foreign.h"
#include "files.h"
#include "others.h"
#include "refused.h"
