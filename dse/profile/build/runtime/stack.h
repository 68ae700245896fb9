/* The program's main function runs on a stack that begins at the same address on every machine: neither
 * the kernel's and the library's own data there, nor the environment, nor the arguments move it. */
#ifndef DSE_STACK_H
#define DSE_STACK_H
#include "shadow.h"

/* Make the stack pointer a constant, whatever this function keeps above it: what it calls then has its
 * locals at addresses that do not depend on how the runtime was compiled. */
FAST u64 stack_pointer(void) {
    u64 sp;
#ifdef __x86_64__
    __asm__ volatile("mov %%rsp, %0" : "=r"(sp));
#else
    __asm__ volatile("mov %0, sp" : "=r"(sp));
#endif
    return sp;
}
#define STACK_AT(address)                                              \
    char *stack_room = __builtin_alloca(stack_pointer() - (address));  \
    __asm__ volatile("" : : "r"(stack_room) : "memory")

#ifdef DSE_MAIN
#define STACK_STEP ((u64)1 << 18)

extern char **environ;
extern HIDDEN int __dse_main(int count, char **arguments, char **variables);

static u64 packed_bytes(char **texts) {
    u64 bytes = sizeof *texts;
    for (; *texts; texts++)
        bytes += sizeof *texts + strlen(*texts) + 1;
    return (bytes + 15) & ~(u64)15;
}

/* Copy a list of texts to an address: the pointers, then the texts. */
static char **packed(char **texts, u64 to) {
    u64 count = 0;
    while (texts[count])
        count++;
    char **copies = (char **)to, *at = (char *)(copies + count + 1);
    for (u64 i = 0; i < count; i++) {
        u64 bytes = strlen(texts[i]) + 1;
        copies[i] = memcpy(at, texts[i], bytes);
        at += bytes;
    }
    copies[count] = 0;
    return copies;
}

int main(int count, char **arguments, char **variables) {
    u64 here = (u64)__builtin_frame_address(0), size = packed_bytes(arguments);
    u64 low = (here - 1024 - size - packed_bytes(variables)) & -STACK_STEP;
    STACK_AT(low);
    char **copies = packed(arguments, low);
    environ = packed(variables, low + size);
    shadow_input(low);
    int status = __dse_main(count, copies, environ);
    shadow_input((u64)arguments);
    return status;
}
#endif
#endif
