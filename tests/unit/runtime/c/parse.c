/* parse FILE...: reads the index of each without its checksum, and touches all that it says. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t touch(const inarch_rt_index *index)
{
    size_t sum = strlen(index->name) + strlen(index->prefix) + strlen(index->target);
    for (int32_t i = 0; i < index->function_count; i++) {
        const inarch_function *function = &index->functions[i];
        sum += strlen(function->name);
        for (int32_t k = 0; k < function->inputs + function->outputs; k++) {
            char type[64];
            inarch_port_type(&function->ports[k], type, sizeof(type));
            sum += strlen(type) + strlen(function->ports[k].name) + (size_t)function->ports[k].bytes % 2;
        }
    }
    for (int32_t i = 0; i < index->loader_count; i++) {
        sum += strlen(index->loaders[i]);
    }
    for (int32_t i = 0; i < index->import_count; i++) {
        sum += strlen(index->imports[i]);
    }
    for (int32_t i = 0; i < index->library_count; i++) {
        sum += strlen(index->libraries[i].path) + strlen(index->libraries[i].caller);
    }
    return sum;
}

int main(int count, char **paths)
{
    int read = 0, refused = 0;
    for (int i = 1; i < count; i++) {
        FILE *file = fopen(paths[i], "rb");
        fseek(file, 0, SEEK_END);
        const size_t size = (size_t)ftell(file);
        rewind(file);
        unsigned char *bytes = malloc(size > 0 ? size : 1);
        inarch_rt_index index;
        if (fread(bytes, 1, size, file) != size) {
            return 2;
        }
        if (inarch_rt_read_index("f", bytes, size, 0, &index) == INARCH_OK) {
            read += touch(&index) > 0;
        } else if (strncmp(inarch_last_error(), "f: error: expected ", 19) == 0
                   || strncmp(inarch_last_error(), "f: error: index.bin: expected ", 30) == 0) {
            refused++;
        }
        inarch_rt_free_index(&index);
        free(bytes);
        fclose(file);
    }
    printf("%d read, %d refused\n", read, refused);
    return read + refused != count - 1;
}
