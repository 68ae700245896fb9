/* Library functions that make what cannot be followed: processes, another program. They are
 * refused when they are called; REFUSED lines name them, as FOREIGN lines do in foreign.h. */
#ifndef DSE_REFUSED_H
#define DSE_REFUSED_H
#include <sys/syscall.h>
#include "foreign.h"

#define REFUSED(name)                                     \
    extern HIDDEN const u32 __dse_id_##name;              \
    HIDDEN long __dse_call_##name(void) {                 \
        finish(RUN_REFUSED, __dse_id_##name - __dse_function_count); \
        _exit(125);                                       \
    }

/* A system call by its number, of which some are refused. */
#define WATCHED(name) extern HIDDEN const u32 __dse_id_##name;
WATCHED(syscall)
HIDDEN long __dse_call_syscall(long number, long a, long b, long c, long d, long e, long f) {
    if (number == SYS_clone || number == SYS_execve || number == SYS_execveat
#ifdef SYS_clone3
        || number == SYS_clone3
#endif
#ifdef SYS_fork
        || number == SYS_fork || number == SYS_vfork
#endif
    ) {
        finish(RUN_REFUSED, __dse_id_syscall - __dse_function_count);
        _exit(125);
    }
    ENTER(syscall);
    long r = syscall(number, a, b, c, d, e, f);
    LEAVE;
    return r;
}

REFUSED(fork)
REFUSED(vfork)
REFUSED(clone)
REFUSED(clone3)
REFUSED(daemon)
REFUSED(execl)
REFUSED(execlp)
REFUSED(execle)
REFUSED(execv)
REFUSED(execvp)
REFUSED(execvpe)
REFUSED(execve)
REFUSED(fexecve)
#endif
