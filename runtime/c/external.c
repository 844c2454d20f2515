/* Libraries of others that an artifact calls: found by their names, and said in a copy of its library.
 *
 * inarch/artifact/needed.py says why. Looked for beside the artifact, in the folders of INARCH_LIBRARY_PATH, then
 * where it was when the program was compiled. */
#include "internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOM 4095 /* bytes of the name in the library */

static int is_file(const char *path)
{
    struct stat state;
    return stat(path, &state) == 0 && S_ISREG(state.st_mode);
}

/* Whether `folder` (of `count` bytes) has the file: then `path` is its absolute path. */
static int is_in(const char *folder, size_t count, const char *name, char *path)
{
    char place[PATH_MAX], whole[PATH_MAX];
    const int used = snprintf(place, sizeof(place), "%.*s/%s", (int)count, folder, name);
    if ((size_t)used >= sizeof(place) || !is_file(place)) {
        return 0;
    }
    /* The folder's, not the file's: what is loaded is called as it was found. */
    place[count + 1] = 0;
    if (realpath(place, whole) == NULL) {
        return 0;
    }
    const char *root = whole + (whole[1] == 0); /* "/" has the slash that follows it */
    return snprintf(path, INARCH_RT_PATH, "%s/%s", root, name) < INARCH_RT_PATH;
}

static int is_beside(const char *where, const char *name, char *path)
{
    char whole[PATH_MAX];
    const char *end = strrchr(where, '/');
    if (end == NULL ? is_in(".", 1, name, path) : is_in(where, (size_t)(end - where), name, path)) {
        return 1;
    }
    /* Behind links: where the file itself lies. */
    return realpath(where, whole) != NULL && is_in(whole, (size_t)(strrchr(whole, '/') - whole), name, path);
}

int inarch_rt_find_file(const char *where, const char *name, char *path)
{
    if (name[0] == 0 || strchr(name, '/') != NULL) {
        return 0;
    }
    if (is_beside(where, name, path)) {
        return 1;
    }
    const char *at = getenv("INARCH_LIBRARY_PATH");
    for (; at != NULL && *at != 0; at += *at == ':') {
        const size_t count = strcspn(at, ":");
        if (count > 0 && is_in(at, count, name, path)) {
            return 1;
        }
        at += count;
    }
    return 0;
}

static int32_t find(const char *where, const inarch_rt_external *one, char *path)
{
    if (inarch_rt_find_file(where, one->name, path)) {
        return INARCH_OK;
    }
    if (one->path[0] != 0 && strlen(one->path) < INARCH_RT_PATH && is_file(one->path)) {
        strcpy(path, one->path);
        return INARCH_OK;
    }
    return inarch_rt_fail(INARCH_UNREADABLE,
                          "%s: error: %s '%s', which does not exist, nor does '%s' beside the artifact or in "
                          "INARCH_LIBRARY_PATH; %s, or recompile where it is",
                          where, one->caller, one->path[0] != 0 ? one->path : one->name, one->name, one->remedy);
}

/* There is nobody to warn, as Python does: whoever asks for hashes gets an error. */
static int32_t compare(const char *where, const inarch_rt_external *one, const char *path)
{
    int descriptor;
    inarch_rt_identity identity;
    const unsigned char *bytes = NULL;
    char digits[65];
    int32_t status = inarch_rt_open_file(path, &descriptor, &identity);
    if (status != INARCH_OK) {
        return status;
    }
    status = inarch_rt_map(path, descriptor, (size_t)identity.size, &bytes);
    close(descriptor);
    if (status != INARCH_OK) {
        return status;
    }
    inarch_rt_sha256(bytes, (size_t)identity.size, digits);
    munmap((void *)(uintptr_t)bytes, (size_t)identity.size);
    if (strcmp(digits, one->sha256) != 0) {
        return inarch_rt_fail(INARCH_FILE,
                              "%s: error: %s '%s', expected it with SHA-256 %.16s..., found %.16s...; %s, or "
                              "compile the model again",
                              where, one->caller, path, one->sha256, digits, one->remedy);
    }
    return INARCH_OK;
}

int32_t inarch_rt_find_library(const char *where, const inarch_rt_external *one, int is_verified, char *path)
{
    const int32_t status = find(where, one, path);
    return status == INARCH_OK && is_verified && one->sha256[0] != 0 ? compare(where, one, path) : status;
}

void inarch_rt_set_needed(unsigned char *library, size_t count, int32_t number, const char *path)
{
    char name[ROOM + 1];
    memset(name, '/', ROOM);
    name[ROOM] = 0;
    const int used = snprintf(name, sizeof(name), "/inarch/library/%d", (int)number);
    name[used] = '/';
    unsigned char *found = (unsigned char *)memmem(library, count, name, ROOM + 1);
    if (found != NULL) {
        memset(found, 0, ROOM);
        memcpy(found, path, strlen(path));
    }
}
