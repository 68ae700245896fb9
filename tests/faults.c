/* Faults of a disk, for tests: the N-th operation on the files below a folder fails with "no space
 * left", or the process ends there. Preloaded (LD_PRELOAD), so that it sees SQLite's writes too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ONCE, FULL, KILL }; /* one operation fails; it and all later ones; the process ends */

static char below[PATH_MAX];
static long at, seen;
static int mode;

void faults_arm(const char *folder, long n, int how)
{
    strncpy(below, folder, sizeof below - 1);
    at = n, seen = 0, mode = how;
}

long faults_seen(void) { return seen; }

/* Count an operation; tell whether it is to fail. Removing needs no space: it can only be cut. */
static int counted(const char *path, int removes)
{
    if (!below[0] || strncmp(path, below, strlen(below)) != 0)
        return 0;
    ++seen;
    if (mode == KILL)
        return seen == at;
    if (removes)
        return 0;
    return mode == ONCE ? seen == at : seen >= at;
}

static int fails(const char *path, int removes)
{
    char whole[PATH_MAX];
    if (path[0] != '/' && getcwd(whole, sizeof whole / 2)) {
        strncat(whole, "/", 2);
        strncat(whole, path, sizeof whole / 2 - 2);
        path = whole;
    }
    if (!counted(path, removes))
        return 0;
    if (mode == KILL)
        _exit(137);
    errno = ENOSPC;
    return 1;
}

static int fails_in(int file)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = below[0] ? readlink(link, path, sizeof path - 1) : -1;
    if (size < 0)
        return 0;
    path[size] = 0;
    return counted(path, 0);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
/* A write that is cut short leaves half of what it was given. */
#define CUT(file, half)       \
    do {                      \
        if (fails_in(file)) { \
            (void)!(half);    \
            if (mode == KILL) \
                _exit(137);   \
            errno = ENOSPC;   \
            return -1;        \
        }                     \
    } while (0)

ssize_t write(int f, const void *b, size_t n)
{
    CUT(f, NEXT(write)(f, b, n / 2));
    return NEXT(write)(f, b, n);
}
ssize_t pwrite(int f, const void *b, size_t n, off_t o)
{
    CUT(f, NEXT(pwrite)(f, b, n / 2, o));
    return NEXT(pwrite)(f, b, n, o);
}
ssize_t pwrite64(int f, const void *b, size_t n, off64_t o)
{
    CUT(f, NEXT(pwrite64)(f, b, n / 2, o));
    return NEXT(pwrite64)(f, b, n, o);
}
ssize_t writev(int f, const struct iovec *v, int n)
{
    CUT(f, 0);
    return NEXT(writev)(f, v, n);
}
int fsync(int f)
{
    CUT(f, 0);
    return NEXT(fsync)(f);
}
int fdatasync(int f)
{
    CUT(f, 0);
    return NEXT(fdatasync)(f);
}
int ftruncate(int f, off_t n)
{
    CUT(f, 0);
    return NEXT(ftruncate)(f, n);
}
int ftruncate64(int f, off64_t n)
{
    CUT(f, 0);
    return NEXT(ftruncate64)(f, n);
}
int rename(const char *a, const char *b) { return fails(b, 0) ? -1 : NEXT(rename)(a, b); }
int renameat(int i, const char *a, int j, const char *b)
{
    return fails(b, 0) ? -1 : NEXT(renameat)(i, a, j, b);
}
int mkdir(const char *a, mode_t m) { return fails(a, 0) ? -1 : NEXT(mkdir)(a, m); }
int unlink(const char *a) { return fails(a, 1) ? -1 : NEXT(unlink)(a); }
int rmdir(const char *a) { return fails(a, 1) ? -1 : NEXT(rmdir)(a); }

#define OPENS(name, made)                             \
    int name(const char *path, int flags, ...)        \
    {                                                 \
        va_list rest;                                 \
        va_start(rest, flags);                        \
        mode_t how = va_arg(rest, mode_t);            \
        va_end(rest);                                 \
        if ((flags & O_CREAT) && access(path, F_OK) && fails(path, 0)) \
            return -1;                                \
        return NEXT(name)(path, flags, how);          \
    }
OPENS(open, 0)
OPENS(open64, 0)
