/* Times of memory, calls and the results of the pass; see rewrite.py. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))
typedef uint64_t u64;
typedef uint32_t u32;
typedef struct { int t[DEPTH]; } __attribute__((aligned(64))) times;

HIDDEN times __dse_control, __dse_returned, __dse_passed[32], __dse_path;
HIDDEN u64 __dse_work;
extern HIDDEN const u32 __dse_function_count;
extern HIDDEN const char __dse_result_file[];

/* Row d keeps the elements below d: what comes from outside is there when a call begins. */
#define ROW(d) {{[0 ... DEPTH - 1] = 0}}
HIDDEN times __dse_outer[DEPTH + 1];

struct frame {
    u32 function;
    u64 epoch, work, linked;
};
enum { STACK = 1 << 20 };
static struct frame *frames;
static int depth = -1; /* of the call that runs; frames at DEPTH and beyond have no time */
static u64 epoch;
static struct sums {
    u64 calls, work, path, linked;
    u32 active;
} *sums;

/* When memory was written, and at which time. */
struct when {
    int t[DEPTH];
    u64 epoch;
};
/* Memory in words of 4 B, by pages of 2^16 B. Once a part of a word is written, each of its bytes has a time of its
 * own: programs that work on bytes would otherwise wait for the bytes beside them. */
struct word {
    struct when whole, *bytes;
};
enum { PAGE = 16, WORDS = 1 << (PAGE - 2), BLOCK = 1 << 22 };
static struct word **pages;

static void *reserve(u64 bytes) {
    void *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        _exit(125);
    return p;
}

static inline struct word *word_at(u64 a) {
    a &= (1ull << 47) - 1;
    struct word **page = &pages[a >> PAGE];
    if (__builtin_expect(!*page, 0))
        *page = reserve(sizeof(struct word) * WORDS);
    return *page + ((a & ((1 << PAGE) - 1)) >> 2);
}

static struct when *bytes_of(struct word *word) {
    static char *block;
    static u64 left;
    if (!word->bytes) {
        u64 size = 4 * sizeof(struct when);
        if (left < size) {
            block = reserve(BLOCK);
            left = BLOCK;
        }
        word->bytes = (struct when *)block;
        block += size;
        left -= size;
        for (u32 b = 0; b < 4; b++)
            word->bytes[b] = word->whole;
    }
    return word->bytes;
}

static void set_word(struct word *word, const struct when *when) {
    word->whole = *when;
    for (u32 b = 0; word->bytes && b < 4; b++)
        word->bytes[b] = *when;
}

static inline struct when *when_at(u64 a) {
    struct word *word = word_at(a);
    return word->bytes ? &word->bytes[a & 3] : &word->whole;
}

/* The elements that a value written then has: those of calls that had begun. */
static inline int known(u64 written) {
    int d = depth < DEPTH ? depth : DEPTH - 1;
    while (d >= 0 && frames[d].epoch > written)
        d--;
    return d + 1;
}

static inline void join(const struct when *when, times *time) {
    int n = when->epoch ? known(when->epoch) : 0;
    for (int k = 0; k < n; k++)
        if (when->t[k] > time->t[k])
            time->t[k] = when->t[k];
}

/* Add the weight of an access, unless it has the address that it had the last time. */
static inline void weigh(u64 a, u64 *last, int weight, times *time) {
    if (!last || *last == a)
        return;
    *last = a;
    for (int k = 0; k < DEPTH; k++)
        time->t[k] += weight;
    __dse_work += weight;
}

HIDDEN void __dse_loaded(u64 a, u64 bytes, times *time, u64 *last) {
    u64 at = a;
    for (u64 end = bytes > 64 ? a : a + bytes; a < end;) {
        struct word *word = word_at(a);
        join(word->bytes ? &word->bytes[a & 3] : &word->whole, time);
        a += word->bytes ? 1 : 4 - (a & 3);
    }
    weigh(at, last, LOAD, time);
}

HIDDEN void __dse_stored(u64 a, u64 bytes, times *time, u64 *last) {
    weigh(a, last, STORE, time);
    struct when when = {.epoch = epoch};
    memcpy(when.t, time->t, sizeof when.t);
    for (u64 end = a + bytes; a < end;) {
        struct word *word = word_at(a);
        int whole = !(a & 3) && end - a >= 4;
        if (whole)
            set_word(word, &when);
        else
            bytes_of(word)[a & 3] = when;
        a += whole ? 4 : 1;
    }
}

/* Bytes that nobody wrote are there from the beginning, and so are their copies. */
static void copy_byte(u64 to, u64 from) {
    const struct when *when = when_at(from);
    if (when->epoch || when_at(to)->epoch)
        bytes_of(word_at(to))[to & 3] = *when;
}

HIDDEN void __dse_copied(u64 to, u64 from, u64 bytes) {
    if (to == from)
        return;
    for (u64 i = 0; i < bytes;) {
        u64 left = bytes - i, back = to > from;
        u64 t = back ? to + left - 1 : to + i, f = back ? from + left - 1 : from + i;
        if (left >= 4 && (t & 3) == (f & 3) && (t & 3) == (back ? 3 : 0) && !word_at(f)->bytes) {
            set_word(word_at(t), &word_at(f)->whole);
            i += 4;
        } else {
            copy_byte(t, f);
            i++;
        }
    }
}

HIDDEN u32 __dse_enter(u32 function) {
    if (++depth >= STACK)
        _exit(124);
    frames[depth] = (struct frame){function, ++epoch, __dse_work, 0};
    if (sums[function].active++ == 0 && depth < DEPTH)
        sums[function].calls++;
    if (depth < DEPTH)
        __dse_path.t[depth] = 0;
    return depth < DEPTH ? depth : DEPTH;
}

/* An object that a pointer in memory led to. Of each active call, `steps` are the pointers on the way to it that were
 * stored before the call, at most LINKED; 0 if there is none. Of several ways the first counts, so that a circle of
 * pointers is not a long way. A table by address: few words are the beginning of an object. */
struct object {
    u64 address, epoch; /* of the last time */
    unsigned char steps[DEPTH];
};
enum { OBJECTS = 26 };
static struct object *objects;

static struct object *object_at(u64 address) {
    u64 place = (address >> 3) * 0x9E3779B97F4A7C15ull >> (64 - OBJECTS);
    while (objects[place].address && objects[place].address != address)
        place = (place + 1) & ((1 << OBJECTS) - 1);
    return &objects[place];
}

/* A pointer at a place in an object leads to another one. */
HIDDEN void __dse_followed(u64 place, u64 from, u64 to) {
    const struct when *when = when_at(place);
    int first = known(when->epoch), end = depth < DEPTH ? depth + 1 : DEPTH;
    if (!to || !when->epoch || first >= end)
        return;
    const struct object *source = object_at(from);
    struct object *object = object_at(to);
    int near = source->address ? known(source->epoch) : 0;
    for (int k = object->address ? known(object->epoch) : 0; k < DEPTH; k++)
        object->steps[k] = 0;
    for (int k = first; k < end; k++) {
        int steps = (k < near ? source->steps[k] : 0) + 1;
        if (object->steps[k] || object == source)
            continue;
        object->steps[k] = steps < LINKED ? steps : LINKED;
        frames[k].linked += steps >= LINKED;
    }
    object->address = to;
    object->epoch = epoch;
}

static void leave(void) {
    struct frame *frame = &frames[depth];
    struct sums *own = &sums[frame->function];
    if (--own->active == 0 && depth < DEPTH) {
        own->work += __dse_work - frame->work;
        own->path += (u64)__dse_path.t[depth];
        own->linked += frame->linked;
    }
    depth--;
}

/* The function at this depth runs again: calls above it are gone. */
HIDDEN void __dse_resume(u32 at) {
    if (at < DEPTH)
        while (depth > (int)at)
            leave();
}

HIDDEN void __dse_leave(u32 at) {
    __dse_resume(at);
    leave();
}

HIDDEN void __dse_finish(void) {
    static int done;
    if (done++)
        return;
    while (depth >= 0)
        leave();
    FILE *file = fopen(__dse_result_file, "w");
    if (!file)
        return;
    for (u32 f = 0; f < __dse_function_count; f++)
        fprintf(file, "%lu %lu %lu %lu\n", (unsigned long)sums[f].calls, (unsigned long)sums[f].work,
                (unsigned long)sums[f].path, (unsigned long)sums[f].linked);
    fclose(file);
}

/* Frames hold times: a recursion that fits the program's stack must fit here. */
static void grow_stack(char **arguments, char **environment) {
    enum { SIZE = 1 << 30 };
    struct rlimit stack;
    if (!getrlimit(RLIMIT_STACK, &stack) && stack.rlim_cur < SIZE && stack.rlim_max >= SIZE) {
        stack.rlim_cur = SIZE;
        if (!setrlimit(RLIMIT_STACK, &stack))
            execve("/proc/self/exe", arguments, environment);
    }
}

__attribute__((constructor(101))) static void start(int count, char **arguments, char **environment) {
    (void)count;
    grow_stack(arguments, environment);
    objects = reserve(sizeof *objects << OBJECTS);
    frames = reserve(sizeof *frames * (u64)STACK);
    sums = reserve(sizeof *sums * (u64)(__dse_function_count + 1));
    pages = reserve(sizeof *pages << (47 - PAGE));
    for (int d = 0; d <= DEPTH; d++)
        for (int k = 0; k < DEPTH; k++)
            __dse_outer[d].t[k] = k < d ? -1 : 0;
}

__attribute__((destructor(101))) static void stop(void) { __dse_finish(); }

int __dse_main(int count, char **arguments, char **environment);
int main(int count, char **arguments, char **environment) {
    return __dse_main(count, arguments, environment);
}
