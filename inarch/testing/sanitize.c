/* Calls one function of a library on memory of exactly its size, for the sanitizers to watch.
 *
 *     sanitize LIBRARY SYMBOL WORKSPACE WEIGHTS BYTES [BUFFER BYTES SHIFT]...
 *
 * WEIGHTS and each BUFFER is a file that is read, or "-" for memory with a pattern in it (an output). Weights and
 * workspace are aligned to 64 bytes, as the ABI promises; a buffer begins SHIFT bytes behind an aligned address, so
 * that code which relies on more than the alignment of an element is seen too. Ends with the function's status. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, PATTERN = 0xFE, UNUSABLE = 70 };

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "sanitize: %s: %s\n", what, which);
    exit(UNUSABLE);
}

static size_t number(const char *word)
{
    return (size_t)strtoull(word, NULL, 10);
}

/* `size` bytes of the file, or of the pattern; nothing behind them belongs to the block. */
static unsigned char *memory(const char *file, size_t size, size_t shift)
{
    void *block = NULL;
    if (posix_memalign(&block, ALIGNMENT, size + shift) != 0) fail("no memory for", file);
    unsigned char *start = (unsigned char *)block + shift;
    memset(start, PATTERN, size);
    if (strcmp(file, "-") == 0) return start;
    FILE *stream = fopen(file, "rb");
    if (stream == NULL || fread(start, 1, size, stream) != size) fail("cannot be read", file);
    fclose(stream);
    return start;
}

int main(int count, char **words)
{
    if (count < 6 || count % 3 != 0) fail("expected", "LIBRARY SYMBOL WORKSPACE WEIGHTS BYTES [BUFFER BYTES SHIFT]...");
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) fail("cannot be opened", dlerror());
    int32_t (*run)(void *const *, const void *, void *);
    *(void **)&run = dlsym(library, words[2]);
    if (run == NULL) fail("no such function", words[2]);
    void *workspace = memory("-", number(words[3]), 0);
    const void *weights = memory(words[4], number(words[5]), 0);
    void **pointers = malloc((size_t)count * sizeof *pointers);
    if (pointers == NULL) fail("no memory for", "pointers");
    int buffers = 0;
    for (char **word = words + 6; word < words + count; word += 3) {
        pointers[buffers++] = memory(word[0], number(word[1]), number(word[2]));
    }
    return run(pointers, weights, workspace);
}
