/* The index of an artifact; inarch/artifact/index.py has its layout.
 *
 * The file is a stranger's until its checksum holds, and then still one that somebody may have made on
 * purpose: every number is looked at before it is used, and nothing is allocated that the file has no bytes
 * for. */
#include "internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096
#define MOST_BYTES ((uint64_t)1 << 47) /* what a process of 64 bits can address */
#define MOST_RANK 32
#define MOST_NAME 500 /* of what becomes part of a symbol */

typedef struct {
    const unsigned char *at, *end;
    const char *expected, *found; /* the first fault */
    inarch_rt_index *index;
    int no_memory;
} reader;

static void refuse(reader *in, const char *expected, const char *found)
{
    if (in->expected == NULL) {
        in->expected = expected;
        in->found = found;
    }
    in->at = in->end;
}

static uint64_t number(reader *in, size_t bytes)
{
    uint64_t value = 0;
    if ((size_t)(in->end - in->at) < bytes) {
        refuse(in, "a number", "the end");
        return 0;
    }
    memcpy(&value, in->at, bytes);
    in->at += bytes;
    return value;
}

static const char *text(reader *in)
{
    const size_t count = (size_t)number(in, 4);
    const char *found = (const char *)in->at;
    if ((size_t)(in->end - in->at) <= count) {
        refuse(in, "a text", "the end");
        return "";
    }
    if (memchr(found, 0, count + 1) != found + count) {
        refuse(in, "a text that ends with the only 0 in it", "another");
        return "";
    }
    in->at += count + 1;
    return found;
}

static const char *identifier(reader *in)
{
    const char *found = text(in);
    const size_t count = strlen(found);
    int is_good = count > 0 && count <= MOST_NAME && !isdigit((unsigned char)found[0]);
    for (size_t i = 0; i < count; i++) {
        is_good =
            is_good && (found[i] == '_' || (isalnum((unsigned char)found[i]) && (signed char)found[i] > 0));
    }
    if (!is_good) {
        refuse(in, "a C identifier", "another text");
    }
    return found;
}

/* Room for the items of a list, of which each has at least `least` bytes in the index; their count. */
static void *list(reader *in, size_t least, size_t size, int32_t *count)
{
    const uint64_t items = number(in, 4);
    *count = 0;
    if (items > (uint64_t)(in->end - in->at) / least) {
        refuse(in, "a list", "one that is longer than the index");
        return NULL;
    }
    if (items == 0 || in->no_memory) {
        return NULL;
    }
    void **block = (void **)calloc(1, sizeof(max_align_t) + (size_t)items * size);
    if (block == NULL) {
        in->no_memory = 1;
        in->at = in->end;
        return NULL;
    }
    *block = in->index->blocks;
    in->index->blocks = block;
    *count = (int32_t)items;
    return (char *)block + sizeof(max_align_t);
}

static const char **texts(reader *in, int32_t *count)
{
    const char **found = (const char **)list(in, 5, sizeof(*found), count);
    for (int32_t i = 0; i < *count; i++) {
        found[i] = text(in);
    }
    return found;
}

static void read_port(reader *in, inarch_port *port)
{
    port->name = text(in);
    port->dtype = (int32_t)number(in, 4);
    uint64_t bytes = (uint64_t)inarch_rt_dtype_bytes(port->dtype), most = bytes;
    if (most == 0) {
        refuse(in, "an element type", "another number");
    }
    int64_t *shape = (int64_t *)list(in, 8, sizeof(int64_t), &port->rank);
    if (port->rank > MOST_RANK) {
        refuse(in, "at most 32 dimensions", "more");
    }
    for (int32_t i = 0; i < port->rank; i++) {
        const uint64_t size = number(in, 8);
        /* A size of 0 hides the others from the product, but not from who asks for strides. */
        if (most != 0 && size > MOST_BYTES / most) {
            refuse(in, "an array that fits in memory", "a larger one");
            return;
        }
        most *= size > 0 ? size : 1;
        bytes *= size;
        shape[i] = (int64_t)size;
    }
    port->shape = shape;
    port->bytes = (int64_t)bytes;
}

/* Ports of one kind, behind those that there are: the inputs of a function, then its outputs. */
static inarch_port *read_ports(reader *in, inarch_port *before, int32_t old, int32_t *count)
{
    inarch_port *found = (inarch_port *)list(in, 13, sizeof(*found), count);
    if (*count == 0) {
        return before;
    }
    for (int32_t i = 0; i < *count; i++) {
        read_port(in, &found[i]);
    }
    if (old == 0) {
        return found;
    }
    /* The blocks are a list from which nothing is taken out: room for both kinds is a block of its own. */
    const size_t size = sizeof(inarch_port);
    void **block = (void **)calloc(1, sizeof(max_align_t) + ((size_t)old + (size_t)*count) * size);
    if (block == NULL) {
        in->no_memory = 1;
        return before;
    }
    *block = in->index->blocks;
    in->index->blocks = block;
    inarch_port *both = (inarch_port *)((char *)block + sizeof(max_align_t));
    memcpy(both, before, (size_t)old * size);
    memcpy(both + old, found, (size_t)*count * size);
    return both;
}

static void read_function(reader *in, inarch_function *function)
{
    function->name = identifier(in);
    const uint64_t workspace = number(in, 8);
    if (workspace >= MOST_BYTES) {
        refuse(in, "a workspace that fits in memory", "a larger one");
    }
    function->workspace_bytes = (int64_t)workspace;
    inarch_port *inputs = read_ports(in, NULL, 0, &function->inputs);
    function->ports = read_ports(in, inputs, function->inputs, &function->outputs);
}

static void read_all(reader *in, inarch_rt_index *index)
{
    index->name = text(in);
    index->prefix = identifier(in);
    index->target = text(in);
    index->library_bytes = number(in, 8);
    index->library_sha256 = text(in);
    index->weights_offset = number(in, 8);
    index->weights_bytes = number(in, 8);
    index->weights_sha256 = text(in);
    index->loaders = texts(in, &index->loader_count);
    index->imports = texts(in, &index->import_count);
    index->libraries = (inarch_rt_external *)list(in, 15, sizeof(*index->libraries), &index->library_count);
    for (int32_t i = 0; i < index->library_count; i++) {
        index->libraries[i].path = text(in);
        index->libraries[i].caller = text(in);
        index->libraries[i].remedy = text(in);
    }
    index->functions = (inarch_function *)list(in, 21, sizeof(*index->functions), &index->function_count);
    for (int32_t i = 0; i < index->function_count; i++) {
        read_function(in, &index->functions[i]);
    }
    if (in->at != in->end) {
        refuse(in, "the end", "more bytes");
    }
}

static int32_t check_places(const char *where, size_t size, const inarch_rt_index *index)
{
    if (index->library_bytes > size) {
        return inarch_rt_fail(INARCH_FILE,
                              "%s: error: expected a library of %llu bytes, found a file that is shorter",
                              where, (unsigned long long)index->library_bytes);
    }
    if (index->weights_offset % PAGE != 0 || index->weights_offset > size
        || index->weights_bytes > size - index->weights_offset) {
        return inarch_rt_fail(
            INARCH_FILE,
            "%s: error: expected %llu bytes of weights at a multiple of %d in the file, found them at %llu",
            where, (unsigned long long)index->weights_bytes, PAGE, (unsigned long long)index->weights_offset);
    }
    if (index->loader_count == 0) {
        return inarch_rt_fail(INARCH_FILE, "%s: error: index.bin: expected at least one loader, found none",
                              where);
    }
    return INARCH_OK;
}

int32_t inarch_rt_read_index(const char *where, const unsigned char *bytes, size_t size, int is_checked,
                             inarch_rt_index *index)
{
    uint64_t start = 0, count = 0;
    memset(index, 0, sizeof(*index));
    const int32_t status = inarch_rt_find_index(where, bytes, size, is_checked, &start, &count);
    if (status != INARCH_OK) {
        return status;
    }
    /* The tail is behind it, so that a text in it is followed by a byte of the file. */
    const size_t end = size - INARCH_RT_TAIL_BYTES;
    if (start > end || count > end - start || count < 16 || memcmp(bytes + start, "INARCHIX", 8) != 0) {
        return inarch_rt_fail(
            INARCH_FILE,
            "%s: error: expected an index of %llu bytes at %llu, found none; compile the model again", where,
            (unsigned long long)count, (unsigned long long)start);
    }
    reader in = {bytes + start + 8, bytes + start + count, NULL, NULL, index, 0};
    const int format = (int)number(&in, 4), abi = (int)number(&in, 4);
    if (format != INARCH_FORMAT_VERSION || abi != INARCH_ABI_VERSION) {
        return inarch_rt_fail(
            INARCH_FILE,
            "%s: error: expected artifact format %d of ABI version %d, found format %d of ABI version "
            "%d; compile the model again",
            where, INARCH_FORMAT_VERSION, INARCH_ABI_VERSION, format, abi);
    }
    read_all(&in, index);
    if (in.no_memory) {
        return inarch_rt_fail(INARCH_NO_MEMORY, "%s: error: no memory for its index", where);
    }
    if (in.expected != NULL) {
        return inarch_rt_fail(INARCH_FILE,
                              "%s: error: index.bin: expected %s, found %s; compile the model again", where,
                              in.expected, in.found);
    }
    return check_places(where, size, index);
}

void inarch_rt_free_index(inarch_rt_index *index)
{
    while (index->blocks != NULL) {
        void **block = (void **)index->blocks;
        index->blocks = *block;
        free(block);
    }
}
