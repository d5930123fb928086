/* A slow file server, made of the file system that is there: LD_PRELOAD it.
 *
 * Each call that asks about a name below LATENCY_BELOW first sleeps LATENCY_US microseconds. A
 * name that is relative is below it if the folder that it is relative to is. What is asked about
 * something that is open (read, fstat, the next names of an open folder) costs nothing, as it does
 * where a client keeps what it has read.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char below[PATH_MAX];
static size_t length;
static long microseconds;

__attribute__((constructor)) static void start(void)
{
    const char *folder = getenv("LATENCY_BELOW"), *time = getenv("LATENCY_US");
    if (!folder || !time || strlen(folder) >= sizeof below)
        return;
    strcpy(below, folder);
    length = strlen(below);
    microseconds = atol(time);
}

static int is_below(const char *path)
{
    return strncmp(path, below, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static void wait_for(int folder, const char *name)
{
    if (microseconds <= 0 || length == 0 || name == NULL || name[0] == 0)
        return;
    int ours = 0;
    if (name[0] == '/') {
        ours = is_below(name);
    } else {
        char path[PATH_MAX], link[64];
        ssize_t size;
        if (folder == AT_FDCWD)
            strcpy(link, "/proc/self/cwd");
        else
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        static ssize_t (*next)(const char *, char *, size_t);
        if (!next)
            next = dlsym(RTLD_NEXT, "readlink");
        size = next(link, path, sizeof path - 1);
        if (size > 0) {
            path[size] = 0;
            ours = is_below(path);
        }
    }
    if (ours) {
        struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
        int kept = errno;
        while (nanosleep(&time, &time) != 0 && errno == EINTR)
            ;
        errno = kept;
    }
}

/* The call of the same name in the library that is next. */
#define NEXT(result, name, types) \
    static result (*next) types; \
    if (!next) \
        next = (result (*) types)dlsym(RTLD_NEXT, #name)

#define MODE(flags) \
    mode_t mode = 0; \
    if (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE) { \
        va_list more; \
        va_start(more, flags); \
        mode = va_arg(more, mode_t); \
        va_end(more); \
    }

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        MODE(flags) \
        NEXT(int, name, (const char *, int, ...)); \
        wait_for(AT_FDCWD, path); \
        return next(path, flags, mode); \
    }

#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) \
    { \
        MODE(flags) \
        NEXT(int, name, (int, const char *, int, ...)); \
        wait_for(folder, path); \
        return next(folder, path, flags, mode); \
    }

#define OF_PATH(result, name, parameters, types, ...) \
    result name parameters \
    { \
        NEXT(result, name, types); \
        wait_for(AT_FDCWD, path); \
        return next(__VA_ARGS__); \
    }

#define AT_FOLDER(result, name, parameters, types, ...) \
    result name parameters \
    { \
        NEXT(result, name, types); \
        wait_for(folder, path); \
        return next(__VA_ARGS__); \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
OF_PATH(DIR *, opendir, (const char *path), (const char *), path)
OF_PATH(int, stat, (const char *path, struct stat *to), (const char *, struct stat *), path, to)
OF_PATH(int, stat64, (const char *path, struct stat64 *to), (const char *, struct stat64 *),
        path, to)
OF_PATH(int, lstat, (const char *path, struct stat *to), (const char *, struct stat *), path, to)
OF_PATH(int, lstat64, (const char *path, struct stat64 *to), (const char *, struct stat64 *),
        path, to)
AT_FOLDER(int, fstatat, (int folder, const char *path, struct stat *to, int flags),
          (int, const char *, struct stat *, int), folder, path, to, flags)
AT_FOLDER(int, fstatat64, (int folder, const char *path, struct stat64 *to, int flags),
          (int, const char *, struct stat64 *, int), folder, path, to, flags)
AT_FOLDER(int, statx, (int folder, const char *path, int flags, unsigned mask, struct statx *to),
          (int, const char *, int, unsigned, struct statx *), folder, path, flags, mask, to)
OF_PATH(int, access, (const char *path, int mode), (const char *, int), path, mode)
OF_PATH(ssize_t, readlink, (const char *path, char *to, size_t size),
        (const char *, char *, size_t), path, to, size)
AT_FOLDER(ssize_t, readlinkat, (int folder, const char *path, char *to, size_t size),
          (int, const char *, char *, size_t), folder, path, to, size)
OF_PATH(int, rename, (const char *path, const char *to), (const char *, const char *), path, to)
AT_FOLDER(int, renameat, (int folder, const char *path, int other, const char *to),
          (int, const char *, int, const char *), folder, path, other, to)
OF_PATH(int, link, (const char *path, const char *to), (const char *, const char *), path, to)
AT_FOLDER(int, linkat, (int folder, const char *path, int other, const char *to, int flags),
          (int, const char *, int, const char *, int), folder, path, other, to, flags)
OF_PATH(int, unlink, (const char *path), (const char *), path)
AT_FOLDER(int, unlinkat, (int folder, const char *path, int flags),
          (int, const char *, int), folder, path, flags)
OF_PATH(int, mkdir, (const char *path, mode_t mode), (const char *, mode_t), path, mode)
AT_FOLDER(int, mkdirat, (int folder, const char *path, mode_t mode),
          (int, const char *, mode_t), folder, path, mode)
OF_PATH(int, rmdir, (const char *path), (const char *), path)
