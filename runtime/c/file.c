/* Files: opened, told from each other and from what they were, and mapped. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int32_t inarch_rt_open_file(const char *path, int *descriptor, inarch_rt_identity *identity)
{
    /* A pipe or a device would wait for somebody, without O_NONBLOCK. */
    *descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*descriptor < 0 && errno == ENOENT) {
        return inarch_rt_fail(INARCH_FILE, "%s: error: expected an Inarch artifact, found no such file",
                              path);
    }
    struct stat state;
    if (*descriptor < 0 || fstat(*descriptor, &state) != 0) {
        const int32_t status = inarch_rt_fail(INARCH_UNREADABLE, "%s: error: cannot be read: %s", path, strerror(errno));
        if (*descriptor >= 0) {
            close(*descriptor);
        }
        return status;
    }
    if (!S_ISREG(state.st_mode) || state.st_size == 0) {
        close(*descriptor);
        return inarch_rt_fail(INARCH_FILE, "%s: error: expected an Inarch artifact, found %s", path,
                              S_ISDIR(state.st_mode)   ? "a folder"
                              : S_ISREG(state.st_mode) ? "an empty file"
                                                       : "no regular file");
    }
    identity->device = state.st_dev;
    identity->inode = state.st_ino;
    identity->size = state.st_size;
    identity->modified = state.st_mtim;
    identity->changed = state.st_ctim;
    return INARCH_OK;
}

static int is_same_time(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec == other->tv_sec && one->tv_nsec == other->tv_nsec;
}

int inarch_rt_is_same(const inarch_rt_identity *one, const inarch_rt_identity *other)
{
    return one->device == other->device && one->inode == other->inode && one->size == other->size
           && is_same_time(&one->modified, &other->modified) && is_same_time(&one->changed, &other->changed);
}

int32_t inarch_rt_map(const char *path, int descriptor, size_t size, const unsigned char **bytes)
{
    void *found = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (found == MAP_FAILED) {
        return inarch_rt_fail(INARCH_UNREADABLE, "%s: error: cannot be mapped: %s", path, strerror(errno));
    }
    *bytes = (const unsigned char *)found;
    return INARCH_OK;
}
