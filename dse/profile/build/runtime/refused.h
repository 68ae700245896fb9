/* Library functions that make what cannot be followed: threads, processes, another program. They are
 * refused when they are called; REFUSED lines name them, as FOREIGN lines do in foreign.h. */
#ifndef DSE_REFUSED_H
#define DSE_REFUSED_H
#include "result.h"

#define REFUSED(name)                                     \
    extern HIDDEN const u32 __dse_id_##name;              \
    HIDDEN long __dse_call_##name(void) {                 \
        finish(RUN_REFUSED, __dse_id_##name - __dse_function_count); \
        _exit(125);                                       \
    }

REFUSED(pthread_create)
REFUSED(thrd_create)
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
