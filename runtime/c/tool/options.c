/* The command line of inarch-run: the names and meanings of `inarch run`. */
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tool_help(void)
{
    fputs("usage: inarch-run [options] MODEL\n"
          "\n"
          "Run an artifact on .npy inputs, or on seeded random ones.\n"
          "\n"
          "  --input [NAME=]FILE  an input from a .npy file, by name or in order\n"
          "  --seed N             seed of inputs that are not given (default: 0)\n"
          "  --function NAME      the function to call (default: main)\n"
          "  --output-dir DIR     write the outputs there, each as NAME.npy\n"
          "  --loader FILE        a library that runs parts in a backend's own format\n"
          "  --threads N          by at most how many threads\n"
          "  --repeat N           also time N calls\n"
          "  --list               print the functions instead\n"
          "  --verify             compare the SHA-256 of code and weights with what the file says\n"
          "  -q, --quiet          print nothing but errors\n",
          stdout);
}

static int read_number(const char *option, const char *text, int64_t least, int64_t *number)
{
    char *rest;
    const long long found = strtoll(text, &rest, 10);
    if (*text < '0' || *text > '9' || *rest != 0 || found < least || found > INT32_MAX) {
        return tool_fail(LEAVE_USAGE, "error: %s: expected a whole number from %lld on, found '%s'", option,
                         (long long)least, text);
    }
    *number = found;
    return 0;
}

static int read_value(const char *option, const char *value, tool_options *options)
{
    if (strcmp(option, "--seed") == 0) {
        return read_number(option, value, 0, &options->seed);
    }
    if (strcmp(option, "--threads") == 0) {
        return read_number(option, value, 1, &options->threads);
    }
    if (strcmp(option, "--repeat") == 0) {
        return read_number(option, value, 1, &options->repeat);
    }
    if (strcmp(option, "--function") == 0) {
        options->function = value;
        return 0;
    }
    if (strcmp(option, "--output-dir") == 0) {
        options->output_dir = value;
        return 0;
    }
    if (strcmp(option, "--loader") == 0) {
        if (options->loader_count == MOST_LOADERS) {
            return tool_fail(LEAVE_USAGE, "error: --loader: expected at most %d files, found more", MOST_LOADERS);
        }
        options->loaders[options->loader_count++] = value;
        return 0;
    }
    if (options->input_count == MOST_INPUTS) {
        return tool_fail(LEAVE_USAGE, "error: --input: expected at most %d files, found more", MOST_INPUTS);
    }
    options->inputs[options->input_count++] = value;
    return 0;
}

static int *flag_of(const char *word, tool_options *options)
{
    if (strcmp(word, "--list") == 0) {
        return &options->is_list;
    }
    if (strcmp(word, "--verify") == 0) {
        return &options->is_verified;
    }
    if (strcmp(word, "--quiet") == 0 || strcmp(word, "-q") == 0) {
        return &options->is_quiet;
    }
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ? &options->is_help : NULL;
}

int tool_parse(int count, char **arguments, tool_options *options)
{
    static const char *const with_value[] = {"--input",      "--seed",    "--function",
                                             "--output-dir", "--threads", "--repeat", "--loader"};
    memset(options, 0, sizeof(*options));
    for (int i = 1; i < count; i++) {
        const char *word = arguments[i], *value = NULL, *option = NULL;
        int *flag = flag_of(word, options);
        for (size_t k = 0; k < sizeof(with_value) / sizeof(with_value[0]); k++) {
            const size_t length = strlen(with_value[k]);
            if (strncmp(word, with_value[k], length) == 0 && (word[length] == 0 || word[length] == '=')) {
                option = with_value[k];
                value = word[length] == '=' ? word + length + 1 : i + 1 < count ? arguments[++i] : NULL;
            }
        }
        if (flag != NULL) {
            *flag = 1;
        } else if (option != NULL && value == NULL) {
            return tool_fail(LEAVE_USAGE, "error: %s: expected a value, found none", option);
        } else if (option != NULL) {
            const int status = read_value(option, value, options);
            if (status != 0) {
                return status;
            }
        } else if (word[0] == '-') {
            return tool_fail(LEAVE_USAGE, "error: unknown option '%s'; inarch-run --help lists them", word);
        } else if (options->model != NULL) {
            return tool_fail(LEAVE_USAGE, "error: expected one artifact, found '%s' and '%s'", options->model,
                             word);
        } else {
            options->model = word;
        }
    }
    if (options->model == NULL && !options->is_help) {
        return tool_fail(LEAVE_USAGE, "error: expected an artifact, found none; inarch-run --help");
    }
    return 0;
}
