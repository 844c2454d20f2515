/* The index of an artifact; inarch/artifact/index.py has its layout.
 *
 * The file is a stranger's until its checksum holds, and then still one that somebody may have made on
 * purpose: every number is looked at before it is used, and nothing is allocated that the file has no bytes
 * for. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 4096
#define BLOB_ALIGNMENT 64
#define MOST_BYTES ((uint64_t)1 << 47) /* what a process of 64 bits can address */
#define MOST_RANK 32
#define MOST_NAME 500 /* of what becomes part of a symbol */
#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

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
    if (count == 0 || count > MOST_NAME || strspn(found, DIGITS) > 0 || strspn(found, DIGITS LETTERS) != count) {
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

static void read_port(reader *in, inarch_port *port, int32_t effects)
{
    port->name = text(in);
    port->effects = effects;
    port->device_type = INARCH_CPU;
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
        const uint64_t size = number(in, 8); /* of a known type: behind another one there is nothing to read */
        /* A size of 0 hides the others from the product, but not from who asks for strides. */
        if (size > MOST_BYTES / most) {
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
static inarch_port *read_ports(reader *in, inarch_port *before, int32_t old, int32_t *count, int32_t effects)
{
    inarch_port *found = (inarch_port *)list(in, 13, sizeof(*found), count);
    if (*count == 0) {
        return before;
    }
    for (int32_t i = 0; i < *count; i++) {
        read_port(in, &found[i], effects);
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
    inarch_port *inputs = read_ports(in, NULL, 0, &function->inputs, INARCH_READS);
    function->ports = read_ports(in, inputs, function->inputs, &function->outputs, INARCH_WRITES);
}

static void read_variant(reader *in, inarch_rt_variant *code, int32_t functions)
{
    code->target = text(in);
    code->features = text(in);
    code->library_offset = number(in, 8);
    code->library_bytes = number(in, 8);
    code->library_sha256 = text(in);
    code->weights_offset = number(in, 8);
    code->weights_bytes = number(in, 8);
    code->weights_sha256 = text(in);
    code->loaders = texts(in, &code->loader_count);
    code->imports = texts(in, &code->import_count);
    code->libraries = (inarch_rt_external *)list(in, 25, sizeof(*code->libraries), &code->library_count);
    for (int32_t i = 0; i < code->library_count; i++) {
        code->libraries[i].name = text(in);
        code->libraries[i].path = text(in);
        code->libraries[i].sha256 = text(in);
        code->libraries[i].caller = text(in);
        code->libraries[i].remedy = text(in);
    }
    code->workspace_bytes = (int64_t *)list(in, 8, sizeof(int64_t), &code->workspace_count);
    for (int32_t i = 0; i < code->workspace_count; i++) {
        const uint64_t workspace = number(in, 8);
        if (workspace >= MOST_BYTES) {
            refuse(in, "a workspace that fits in memory", "a larger one");
        }
        code->workspace_bytes[i] = (int64_t)workspace;
    }
    if (code->workspace_count != functions) {
        refuse(in, "a workspace for each function", "another number of them");
    }
}

/* The parts of a variant, which files without any do not list. */
static void read_parts(reader *in, inarch_rt_variant *code)
{
    code->parts = (inarch_rt_part *)list(in, 26, sizeof(*code->parts), &code->part_count);
    for (int32_t i = 0; i < code->part_count; i++) {
        code->parts[i].format = text(in);
        code->parts[i].offset = number(in, 8);
        code->parts[i].bytes = number(in, 8);
        code->parts[i].sha256 = text(in);
        code->parts[i].version = code->parts[i].machine = code->parts[i].package = "";
        code->parts[i].instance = "";
    }
    code->called = (inarch_function *)list(in, 21, sizeof(*code->called), &code->called_count);
    for (int32_t i = 0; i < code->called_count; i++) {
        read_function(in, &code->called[i]);
    }
}

/* What parts ship beside their bytes, which files with nothing of it do not list. */
static void read_shipped(reader *in, inarch_rt_variant *code)
{
    const uint64_t count = number(in, 4);
    if (count != (uint64_t)code->part_count) {
        refuse(in, "what is shipped with each part", "another number of them");
        return;
    }
    for (int32_t i = 0; i < code->part_count; i++) {
        inarch_rt_part *part = &code->parts[i];
        part->version = text(in);
        part->machine = text(in);
        part->package = text(in);
        part->weights = (inarch_rt_blob *)list(in, 26, sizeof(*part->weights), &part->weight_count);
        for (int32_t k = 0; k < part->weight_count; k++) {
            part->weights[k].name = text(in);
            part->weights[k].offset = number(in, 8);
            part->weights[k].bytes = number(in, 8);
            part->weights[k].sha256 = text(in);
        }
        part->instance = text(in);
        part->options = texts(in, &part->option_count);
        if (part->option_count % 2 != 0) {
            refuse(in, "a value for each option", "one without");
            return;
        }
        part->option_count /= 2;
    }
}

static void read_all(reader *in, inarch_rt_index *index)
{
    index->name = text(in);
    index->prefix = identifier(in);
    index->functions = (inarch_function *)list(in, 21, sizeof(*index->functions), &index->function_count);
    for (int32_t i = 0; i < index->function_count; i++) {
        read_function(in, &index->functions[i]);
    }
    index->variants = (inarch_rt_variant *)list(in, 72, sizeof(*index->variants), &index->variant_count);
    for (int32_t i = 0; i < index->variant_count; i++) {
        read_variant(in, &index->variants[i], index->function_count);
    }
    if (index->variant_count == 0) {
        refuse(in, "a variant", "none");
    }
    for (int32_t i = 0; i < index->variant_count && in->at != in->end; i++) {
        read_parts(in, &index->variants[i]);
    }
    for (int32_t i = 0; i < index->variant_count && in->at != in->end; i++) {
        read_shipped(in, &index->variants[i]);
    }
    if (in->at != in->end) {
        refuse(in, "the end", "more bytes");
    }
}

void inarch_rt_use(inarch_rt_index *index, int32_t variant)
{
    index->code = index->variants[variant];
    for (int32_t i = 0; i < index->function_count; i++) {
        index->functions[i].workspace_bytes = index->code.workspace_bytes[i];
    }
}

static int32_t check_places(const char *where, size_t size, const inarch_rt_variant *code)
{
    if (code->library_offset > size || code->library_bytes > size - code->library_offset) {
        return inarch_rt_fail(INARCH_FILE,
                              "%s: error: expected a library of %llu bytes, found a file that is shorter",
                              where, (unsigned long long)code->library_bytes);
    }
    if (code->weights_offset % PAGE != 0 || code->weights_offset > size
        || code->weights_bytes > size - code->weights_offset) {
        return inarch_rt_fail(
            INARCH_FILE,
            "%s: error: expected %llu bytes of weights at a multiple of %d in the file, found them at %llu",
            where, (unsigned long long)code->weights_bytes, PAGE, (unsigned long long)code->weights_offset);
    }
    for (int32_t i = 0; i < code->part_count; i++) {
        const inarch_rt_part *part = &code->parts[i];
        if (part->offset > size || part->bytes > size - part->offset) {
            return inarch_rt_fail(INARCH_FILE, "%s: error: expected a part of %llu bytes, found a file that is shorter",
                                  where, (unsigned long long)part->bytes);
        }
        for (int32_t k = 0; k < part->weight_count; k++) {
            const inarch_rt_blob *blob = &part->weights[k];
            if (blob->offset % BLOB_ALIGNMENT != 0 || blob->offset > size || blob->bytes > size - blob->offset) {
                return inarch_rt_fail(
                    INARCH_FILE,
                    "%s: error: expected %llu bytes of '%s' at a multiple of %d in the file, found them at %llu", where,
                    (unsigned long long)blob->bytes, blob->name, BLOB_ALIGNMENT, (unsigned long long)blob->offset);
            }
        }
    }
    if (code->loader_count == 0) {
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
    inarch_rt_use(index, 0);
    for (int32_t i = 0; i < index->variant_count; i++) {
        const int32_t found = check_places(where, size, &index->variants[i]);
        if (found != INARCH_OK) {
            return found;
        }
    }
    return INARCH_OK;
}

void inarch_rt_free_index(inarch_rt_index *index)
{
    while (index->blocks != NULL) {
        void **block = (void **)index->blocks;
        index->blocks = *block;
        free(block);
    }
}
