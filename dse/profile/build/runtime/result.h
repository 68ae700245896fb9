/* The result file: sections of a 16-byte name, an element size, a count, and the elements. */
#ifndef DSE_RESULT_H
#define DSE_RESULT_H
#include <fcntl.h>
#include <sys/personality.h>
#include "region.h"
#include "shadow.h"

static struct table indirect_calls; /* (low half of the target's address, block) */

static void write_all(int file, const void *data, size_t bytes) {
    const char *p = data;
    while (bytes) {
        ssize_t n = write(file, p, bytes);
        if (n <= 0)
            return;
        p += n;
        bytes -= (size_t)n;
    }
}

static void section(int file, const char *name, u64 size, u64 count, const void *data) {
    char head[32] = {0};
    for (u32 i = 0; i < 16 && name[i]; i++)
        head[i] = name[i];
    memcpy(head + 16, &size, 8);
    memcpy(head + 24, &count, 8);
    write_all(file, head, sizeof head);
    write_all(file, data, size * count);
}

/* The used entries of a hash table, as (from, to, first, second). */
static void section_table(int file, const char *name, const struct table *t) {
    u64 *out = reserve(32 * (t->used + 1)), n = 0;
    for (u64 i = 0; i < t->capacity; i++)
        if (t->pairs[i].key) {
            u64 key = t->pairs[i].key - 1;
            u64 row[4] = {key >> 32, (u32)key, t->pairs[i].first, t->pairs[i].second};
            memcpy(out + 4 * n++, row, sizeof row);
        }
    section(file, name, 32, n, out);
}

#ifdef DSE_CACHES
/* The sets of readers that were left, each as its count, how many items, and the items. */
static void section_stays(int file, const char *name, u64 (*counts)[2], int level) {
    u64 room = 0, n = 0;
    for (u32 i = 0; i < history_count; i++)
        room += counts[i][level] ? 2 + histories[i].count : 0;
    u64 *out = reserve(8 * (room + 1));
    for (u32 i = 0; i < history_count; i++)
        if (counts[i][level]) {
            out[n++] = counts[i][level];
            out[n++] = histories[i].count;
            for (u32 k = 0; k < histories[i].count; k++)
                out[n++] = history_items[histories[i].start + k];
        }
    section(file, name, 8, n, out);
}
#endif

static u64 files_mapped;
static char loaded[1 << 13]; /* the names of the libraries that the program loaded, each ended by 0 */

static void finish(u32 reason, u32 detail) {
#ifdef DSE_THREADS
    if (OTHER_THREAD && finished_by_profiled(reason, detail))
        return;
#endif
    if (finished)
        return;
    finished = 1;
    int file = open(__dse_result_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return;
#ifdef DSE_TRANSFERS
    if (reason != RUN_LIBRARY_THREAD) {
        marks_finish();
        flows_finish();
        for (u32 at = top_level; at; at--)
            tree_words(at);
    }
#endif
    u64 status[7] = {reason, detail, invocation_count, collapsed,
                     (personality(0xffffffff) & ADDR_NO_RANDOMIZE) != 0, history_full, files_mapped};
    section(file, "status", 8, 7, status);
    if (reason == RUN_LIBRARY_THREAD) { /* the profiled thread goes on with the tables */
        section(file, "end", 8, 0, 0);
        close(file);
        return;
    }
    section(file, "loaded", 8, sizeof loaded / 8, loaded);
    if (nodes)
        tree_mark();
    section(file, "counts", 8, __dse_counter_count, region_counts());
    section_table(file, "indirect", &indirect_calls);
    section(file, "addresses", 8, __dse_function_count, __dse_functions);
#ifdef DSE_CACHES
#define SECTIONS(k, s1, w1, s2, w2, shift)                          \
    section(file, "hits" #k, 24, __dse_site_count, cache_##k.hits); \
    section_stays(file, "stays" #k " 1", cache_##k.stays, 0);   \
    section_stays(file, "stays" #k " 2", cache_##k.stays, 1);
    DSE_CACHES(SECTIONS)
#endif
#ifdef DSE_TREE
    section(file, "nodes", sizeof *nodes, node_count, nodes);
#endif
#ifdef DSE_TRANSFERS
    u64 functions = __dse_function_count + __dse_foreign_count + ORIGINS;
    section(file, "local", 8, functions, local_bytes);
    section_table(file, "moved", &moved);
    section_table(file, "into", &into);
    section_table(file, "out", &out);
    section(file, "run words", 8, functions, run_words);
    section(file, "call words", 8, functions, call_words);
    section_table(file, "reads", all_reads());
    section(file, "shadow", 8, 1, &shadow_bytes);
#endif
#ifdef DSE_THREADS
    section(file, "thread starts", 4, __dse_function_count + (__dse_function_count & 1), thread_starts);
    section(file, "other calls", 1, (__dse_foreign_count + 7) & ~7u, other_calls);
#endif
    section(file, "end", 8, 0, 0);
    close(file);
#ifdef DSE_TRACE
    trace_flush();
#endif
#ifdef DSE_THREADS
    __atomic_store_n(&written, 1, __ATOMIC_RELEASE);
#endif
}
#endif
