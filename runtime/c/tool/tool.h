/* What the sources of inarch-run share. */
#ifndef INARCH_RUN_TOOL_H
#define INARCH_RUN_TOOL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stddef.h>
#include <stdint.h>

#include "inarch_runtime.h"

/* As `inarch` leaves: a bad program, a bad command, a lack of the machine. */
#define LEAVE_BAD 1
#define LEAVE_USAGE 2
#define LEAVE_MACHINE 3

#define MOST_RANK 32
#define MOST_INPUTS 256
#define MOST_LOADERS 16

/* message.c: prints one line, and returns `code`. */
__attribute__((format(printf, 2, 3))) int tool_fail(int code, const char *format, ...);
/* The last message of libinarch, and the exit code of `status`. */
int tool_failed(int32_t status);

typedef struct {
    const char *model, *function, *output_dir;
    const char *inputs[MOST_INPUTS]; /* [NAME=]FILE */
    const char *loaders[MOST_LOADERS + 1]; /* NULL ends them */
    int input_count, loader_count;
    int64_t repeat, threads, seed;
    int is_list, is_verified, is_quiet, is_help;
} tool_options;

int tool_parse(int count, char **arguments, tool_options *options);
void tool_help(void);

/* An array of a file; `data` is the reader's to free. */
typedef struct {
    int32_t dtype, rank;
    int64_t shape[MOST_RANK];
    int64_t bytes;
    void *data;
} tool_array;

int tool_read_npy(const char *path, tool_array *array);
int tool_write_npy(const char *path, const inarch_port *port, const void *data);

/* values.c */
typedef struct {
    uint64_t state;
} tool_random;

void tool_fill(tool_random *random, const inarch_port *port, void *data);
void tool_print(const inarch_port *port, const void *data);

#endif
