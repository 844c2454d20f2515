/* parse FILE...: reads the index of each without its checksum, and touches all that it says. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t touch_function(const inarch_function *function)
{
    size_t sum = strlen(function->name);
    for (int32_t k = 0; k < function->inputs + function->outputs; k++) {
        char type[64];
        inarch_port_type(&function->ports[k], type, sizeof(type));
        sum += strlen(type) + strlen(function->ports[k].name) + (size_t)function->ports[k].bytes % 2;
    }
    return sum;
}

static size_t touch_variant(const unsigned char *bytes, const inarch_rt_variant *code)
{
    size_t sum = strlen(code->target) + strlen(code->features);
    for (int32_t i = 0; i < code->loader_count; i++) {
        sum += strlen(code->loaders[i]);
    }
    for (int32_t i = 0; i < code->import_count; i++) {
        sum += strlen(code->imports[i]);
    }
    for (int32_t i = 0; i < code->library_count; i++) {
        const inarch_rt_external *one = &code->libraries[i];
        sum += strlen(one->name) + strlen(one->path) + strlen(one->sha256) + strlen(one->caller) + strlen(one->remedy);
    }
    for (int32_t i = 0; i < code->part_count; i++) {
        const inarch_rt_part *one = &code->parts[i];
        sum += strlen(one->format) + strlen(one->sha256);
        sum += one->bytes == 0 ? 0 : (size_t)bytes[one->offset] + bytes[one->offset + one->bytes - 1];
    }
    for (int32_t i = 0; i < code->called_count; i++) {
        sum += touch_function(&code->called[i]);
    }
    return sum;
}

static size_t touch(const unsigned char *bytes, const inarch_rt_index *index)
{
    size_t sum = strlen(index->name) + strlen(index->prefix);
    for (int32_t i = 0; i < index->function_count; i++) {
        sum += touch_function(&index->functions[i]);
    }
    for (int32_t i = 0; i < index->variant_count; i++) {
        sum += touch_variant(bytes, &index->variants[i]);
    }
    return sum;
}

/* Whether an index was read; -1: neither that, nor refused in a line. */
static int parse(const unsigned char *bytes, size_t size)
{
    inarch_rt_index index;
    int read = -1;
    if (inarch_rt_read_index("f", bytes, size, 0, &index) == INARCH_OK) {
        read = touch(bytes, &index) > 0 ? 1 : -1;
    } else if (strncmp(inarch_last_error(), "f: error: expected ", 19) == 0
               || strncmp(inarch_last_error(), "f: error: index.bin: expected ", 30) == 0) {
        read = 0;
    }
    inarch_rt_free_index(&index);
    return read;
}

#ifdef GUIDED
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    if (parse(bytes, size) < 0) {
        abort();
    }
    return 0;
}
#else
int main(int count, char **paths)
{
    int read = 0, refused = 0;
    for (int i = 1; i < count; i++) {
        FILE *file = fopen(paths[i], "rb");
        fseek(file, 0, SEEK_END);
        const size_t size = (size_t)ftell(file);
        rewind(file);
        unsigned char *bytes = malloc(size > 0 ? size : 1);
        if (fread(bytes, 1, size, file) != size) {
            return 2;
        }
        const int said = parse(bytes, size);
        read += said == 1;
        refused += said == 0;
        free(bytes);
        fclose(file);
    }
    printf("%d read, %d refused\n", read, refused);
    return read + refused != count - 1;
}
#endif
