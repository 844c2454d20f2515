/* Runs `main` of an artifact that has one input and one output: run_model MODEL INPUT OUTPUT, both files of plain numbers.
 *
 *   cc run_model.c $(inarch config --cflags --sources --libs) -o run_model
 */
#include <inarch_runtime.h>
#include <stdio.h>
#include <stdlib.h>

static int move(const char *path, const char *mode, void *data, size_t bytes)
{
    FILE *file = fopen(path, mode);
    if (file == NULL) {
        return 0;
    }
    const size_t moved = mode[0] == 'r' ? fread(data, 1, bytes, file) : fwrite(data, 1, bytes, file);
    return fclose(file) == 0 && moved == bytes;
}

static int run(inarch_instance *instance, const inarch_function *main, const char *from, const char *to)
{
    const inarch_port *input = &main->ports[0], *output = &main->ports[main->inputs];
    void *x = malloc((size_t)input->bytes + 1), *y = malloc((size_t)output->bytes + 1);
    int code = 1;
    if (x == NULL || y == NULL || !move(from, "rb", x, (size_t)input->bytes)) {
        fprintf(stderr, "expected %lld bytes in %s\n", (long long)input->bytes, from);
    } else if (inarch_bind_input(instance, input->name, x, (size_t)input->bytes) != INARCH_OK
               || inarch_bind_output(instance, output->name, y, (size_t)output->bytes) != INARCH_OK
               || inarch_run(instance) != INARCH_OK) {
        fprintf(stderr, "%s\n", inarch_last_error());
    } else {
        code = move(to, "wb", y, (size_t)output->bytes) ? 0 : 1;
    }
    free(x);
    free(y);
    return code;
}

int main(int count, char **arguments)
{
    inarch_module *module;
    inarch_instance *instance;
    if (count != 4) {
        fprintf(stderr, "usage: %s MODEL INPUT OUTPUT\n", arguments[0]);
        return 2;
    }
    if (inarch_open(arguments[1], NULL, &module) != INARCH_OK) {
        fprintf(stderr, "%s\n", inarch_last_error());
        return 1;
    }
    if (inarch_instance_new(module, "main", NULL, 0, &instance) != INARCH_OK) {
        fprintf(stderr, "%s\n", inarch_last_error());
        inarch_close(module);
        return 1;
    }
    const int code = run(instance, inarch_function_named(module, "main"), arguments[2], arguments[3]);
    inarch_instance_free(instance);
    inarch_close(module);
    return code;
}
