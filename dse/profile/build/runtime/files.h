/* Library functions on files, lines and options, as foreign.h has the others. */
#ifndef DSE_FILES_H
#define DSE_FILES_H
#include "foreign.h"
#include <dlfcn.h>
#include <getopt.h>
#include <link.h>
#include <sys/stat.h>

FOREIGN(mmap)
FOREIGN(munmap)
FOREIGN(stat)
FOREIGN(lstat)
FOREIGN(fstat)
FOREIGN(getline)
FOREIGN(getdelim)
FOREIGN(strtok)
FOREIGN(strtok_r)
FOREIGN(strspn)
FOREIGN(strcspn)
FOREIGN(strpbrk)
FOREIGN(strcasecmp)
FOREIGN(strncasecmp)
FOREIGN(memrchr)
FOREIGN(strchrnul)
FOREIGN(stpcpy)
FOREIGN(strndup)
FOREIGN(pread)
FOREIGN(pwrite)
FOREIGN(fputs_unlocked)
FOREIGN(fwrite_unlocked)
FOREIGN(fread_unlocked)
FOREIGN(getopt)
FOREIGN(getopt_long)
FOREIGN(getopt_long_only)
FOREIGN(access)
FOREIGN(open)
FOREIGN(dlopen)
FOREIGN(system)
FOREIGN(popen)

/* The libraries that the program loads are named in the result, each once. */
static void remember_loaded(void *handle) {
    struct link_map *map;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) || !*map->l_name)
        return;
    size_t bytes = strlen(map->l_name) + 1, at = 0;
    for (; loaded[at]; at += strlen(loaded + at) + 1)
        if (!strcmp(loaded + at, map->l_name))
            return;
    if (at + bytes < sizeof loaded)
        memcpy(loaded + at, map->l_name, bytes);
}
HIDDEN void *__dse_call_dlopen(const char *name, int flags) {
    ENTER(dlopen);
    if (name)
        TEXT(name);
    void *r = dlopen(name, flags);
    if (r && name)
        remember_loaded(r);
    LEAVE;
    return r;
}

/* What is mapped is input, if it is of a file, and nobody's if not. Nothing of it is touched yet. */
HIDDEN void *__dse_call_mmap(void *at, size_t n, int allowed, int flags, int file, off_t from) {
    ENTER(mmap);
    char *r = mmap(at, n, allowed, flags, file, from);
    if (r != MAP_FAILED && OTHER_THREAD && flags & MAP_ANONYMOUS)
        CLEAR(r, n);
    else if (r != MAP_FAILED && OTHER_THREAD)
        others_write((u64)r, n);
    else if (r != MAP_FAILED) {
        shadow_mapped((u64)r, n, !(flags & MAP_ANONYMOUS));
        files_mapped += !(flags & MAP_ANONYMOUS);
    }
    LEAVE;
    return r;
}
WRAP(int, munmap, (void *at, size_t n), (at, n), , if (!OTHER_THREAD) shadow_mapped((u64)at, n, 0))
WRAP(int, stat, (text path, struct stat *s), (path, s), TEXT(path), if (!r) WRITE(s, sizeof *s))
WRAP(int, lstat, (text path, struct stat *s), (path, s), TEXT(path), if (!r) WRITE(s, sizeof *s))
WRAP(int, fstat, (int f, struct stat *s), (f, s), , if (!r) WRITE(s, sizeof *s))
WRAP(int, access, (text path, int mode), (path, mode), TEXT(path), )
HIDDEN int __dse_call_open(text path, int flags, int mode) {
    ENTER(open);
    TEXT(path);
    int r = open(path, flags, mode);
    LEAVE;
    return r;
}
WRAP(int, system, (text line), (line), if (line) TEXT(line), )
WRAP(FILE *, popen, (text line, text mode), (line, mode), TEXT(line); TEXT(mode), )
WRAP(ssize_t, pread, (int f, void *p, size_t n, off_t o), (f, p, n, o), , if (r > 0) SYSTEM_WRITE(p, r))
WRAP(ssize_t, pwrite, (int f, const void *p, size_t n, off_t o), (f, p, n, o), SYSTEM_READ(p, n), )
WRAP(size_t, fread_unlocked, (void *p, size_t n, size_t k, FILE *f), (p, n, k, f), , file_read(call, p, r * n, n * k))
WRAP(size_t, fwrite_unlocked, (const void *p, size_t n, size_t k, FILE *f), (p, n, k, f), file_written(call, p, n * k), )
WRAP(int, fputs_unlocked, (text s, FILE *f), (s, f), TEXT(s), )

#define LINE(name, parameters, arguments)                \
    HIDDEN ssize_t __dse_call_##name parameters {             \
        ENTER(name);                                     \
        READ(line, sizeof *line);                        \
        READ(room, sizeof *room);                        \
        ssize_t r = name arguments;                      \
        WRITE(line, sizeof *line);                       \
        WRITE(room, sizeof *room);                       \
        if (r >= 0)                                      \
            WRITE(*line, r + 1);                         \
        LEAVE;                                           \
        return r;                                        \
    }
LINE(getline, (char **line, size_t *room, FILE *f), (line, room, f))
LINE(getdelim, (char **line, size_t *room, int end, FILE *f), (line, room, end, f))

/* A token: what was read up to its end, and the zero that ends it. */
static void token(struct call call, char *from, char *found, text marks) {
    TEXT(marks);
    if (!from)
        return;
    char *end = found ? found + strlen(found) : from + strlen(from);
    READ(from, end - from + 1);
    if (found)
        WRITE(end, 1);
}
HIDDEN char *__dse_call_strtok_r(char *s, text marks, char **rest) {
    ENTER(strtok_r);
    if (!s)
        READ(rest, sizeof *rest);
    char *from = s ? s : *rest, *r = strtok_r(s, marks, rest);
    token(call, from, r, marks);
    WRITE(rest, sizeof *rest);
    LEAVE;
    return r;
}
HIDDEN char *__dse_call_strtok(char *s, text marks) {
    static char *rest;
    ENTER(strtok);
    char *from = s ? s : rest, *r = strtok_r(s, marks, &rest);
    token(call, from, r, marks);
    LEAVE;
    return r;
}

WRAP(size_t, strspn, (text s, text set), (s, set), TEXT(set), READ(s, r + 1))
WRAP(size_t, strcspn, (text s, text set), (s, set), TEXT(set), READ(s, r + 1))
WRAP(char *, strpbrk, (text s, text set), (s, set), TEXT(set), READ(s, (r ? (size_t)(r - s) : strlen(s)) + 1))
extern int strcasecmp(text, text), strncasecmp(text, text, size_t);
static size_t compared_folded(text a, text b, size_t n) {
    size_t i = 0;
    while (i < n && a[i] && !strncasecmp(a + i, b + i, 1))
        i++;
    return i < n ? i + 1 : n;
}
WRAP(int, strcasecmp, (text a, text b), (a, b), size_t k = compared_folded(a, b, ~(size_t)0);
     READ(a, k); READ(b, k), )
WRAP(int, strncasecmp, (text a, text b, size_t n), (a, b, n), size_t k = compared_folded(a, b, n);
     READ(a, k); READ(b, k), )
WRAP(void *, memrchr, (const void *s, int c, size_t n), (s, c, n), , text p = r ? r : s;
     READ(p, n - (size_t)(p - (text)s)))
WRAP(char *, strchrnul, (text s, int c), (s, c), , READ(s, r - s + 1))
WRAP(char *, stpcpy, (char *d, text s), (d, s), TEXT(s), WRITE(d, r - d + 1))
WRAP(char *, strndup, (text s, size_t n), (s, n), PREFIX(s, n), if (r) WRITE(r, strlen(r) + 1))

/* Options: the arguments that were looked at, and the library's variables that say what was found. */
static void options_read(struct call call, int count, char *const *given, int from) {
    for (int i = from; i < count && i <= optind; i++) {
        READ(given + i, sizeof *given);
        TEXT(given[i]);
    }
    WRITE(&optarg, sizeof optarg);
    WRITE(&optind, sizeof optind);
    WRITE(&optopt, sizeof optopt);
}
#define OPTIONS(name, parameters, arguments)             \
    HIDDEN int __dse_call_##name parameters {                 \
        ENTER(name);                                     \
        int from = optind;                               \
        TEXT(letters);                                   \
        int r = name arguments;                          \
        options_read(call, count, given, from);          \
        LEAVE;                                           \
        return r;                                        \
    }
OPTIONS(getopt, (int count, char *const *given, text letters), (count, given, letters))
#define LONG_OPTIONS(name)                                                              \
    OPTIONS(name, (int count, char *const *given, text letters, const struct option *all, int *at), \
            (count, given, letters, all, at))
LONG_OPTIONS(getopt_long)
LONG_OPTIONS(getopt_long_only)
#endif
