/* Library functions on threads, as foreign.h has the others. */
#ifndef DSE_OTHERS_H
#define DSE_OTHERS_H
#include "files.h"
#include <pthread.h>

#ifdef DSE_THREADS
#include <threads.h>

FOREIGN(pthread_create)
FOREIGN(thrd_create)
FOREIGN(pthread_join)
FOREIGN(thrd_join)
FOREIGN(pthread_exit)

WRAP(int, pthread_create, (pthread_t *t, const pthread_attr_t *how, void *(*start)(void *), void *given),
     (t, how, start, given), , if (!r) WRITE(t, sizeof *t))
WRAP(int, thrd_create, (thrd_t *t, thrd_start_t start, void *given), (t, start, given), , if (!r) WRITE(t, sizeof *t))

/* The result comes from the other thread. */
static void joined_result(struct call call, int failed, void *result, u64 bytes) {
    if (failed || !result)
        return;
    WRITE(result, bytes);
    others_write((u64)result, bytes);
}
WRAP(int, pthread_join, (pthread_t t, void **result), (t, result), , joined_result(call, r, result, sizeof *result))
WRAP(int, thrd_join, (thrd_t t, int *result), (t, result), , joined_result(call, r, result, sizeof *result))

HIDDEN void __dse_call_pthread_exit(void *result) {
    ENTER(pthread_exit);
    (void)call;
    profiled_ended |= !OTHER_THREAD;
    pthread_exit(result);
}
#else
/* Libraries find this function in place of their own one. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *restrict t, const pthread_attr_t *restrict how,
                                                          void *(*start)(void *), void *restrict given) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    library_threads = 1;
    return real(t, how, start, given);
}
#endif
#endif
