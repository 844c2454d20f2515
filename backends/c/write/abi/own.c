/* Calls of a library that nobody has bound, as of one that was opened by `dlopen`: the first call finds the
   weights in the file that the library was opened from, an artifact, whose end says where its index is. */

/* What calls run with: of weights in our own file, or the library's own state. */
static inarch_state *inarch_own_state;
static int32_t inarch_own_is_closed, inarch_own_running;

typedef struct {
    void *address;
    size_t bytes;
} inarch_own_file;

typedef struct {
    const unsigned char *at, *end; /* at is NULL behind the end */
} inarch_own_reader;

INARCH_BASELINE static uint64_t inarch_own_number(inarch_own_reader *reader, int bytes)
{
    uint64_t number = 0;
    if (reader->at == NULL || reader->end - reader->at < bytes) {
        reader->at = NULL;
        return 0;
    }
    for (int i = 0; i < bytes; i++) {
        number |= (uint64_t)reader->at[i] << 8 * i;
    }
    reader->at += bytes;
    return number;
}

INARCH_BASELINE static const char *inarch_own_text(inarch_own_reader *reader)
{
    const uint64_t bytes = inarch_own_number(reader, 4);
    if (reader->at == NULL || (uint64_t)(reader->end - reader->at) <= bytes
        || reader->at[bytes] != 0) {
        reader->at = NULL;
        return "";
    }
    const char *text = (const char *)reader->at;
    reader->at += bytes + 1;
    return text;
}

INARCH_BASELINE static void inarch_own_skip_texts(inarch_own_reader *reader, int each)
{
    for (uint64_t left = inarch_own_number(reader, 4) * (uint64_t)each; left > 0 && reader->at != NULL; left--) {
        inarch_own_text(reader);
    }
}

INARCH_BASELINE static void inarch_own_skip_numbers(inarch_own_reader *reader)
{
    for (uint64_t left = inarch_own_number(reader, 4); left > 0 && reader->at != NULL; left--) {
        inarch_own_number(reader, 8);
    }
}

INARCH_BASELINE static void inarch_own_skip_ports(inarch_own_reader *reader)
{
    for (uint64_t left = inarch_own_number(reader, 4); left > 0 && reader->at != NULL; left--) {
        inarch_own_text(reader);
        inarch_own_number(reader, 4);
        inarch_own_skip_numbers(reader);
    }
}

/* The weights in the artifact at `file`, or NULL and why not. inarch/artifact/index.py has the layout. */
INARCH_BASELINE static const void *inarch_own_weights(const inarch_library *library,
                                                      const unsigned char *file, size_t size,
                                                      const char **why)
{
    unsigned long long place = 0;
    unsigned int bytes = 0, format = 0;
    char end[INARCH_TAIL_BYTES + 1] = "";
    if (size >= INARCH_TAIL_BYTES) {
        memcpy(end, file + size - INARCH_TAIL_BYTES, INARCH_TAIL_BYTES);
    }
    *why = "a file that is no artifact";
    if (sscanf(end, "inarch index %16llx %8x format %4u crc32", &place, &bytes, &format) != 3
        || place > size || bytes > size - place || bytes < 8
        || memcmp(file + place, "INARCHIX", 8) != 0) {
        return NULL;
    }
    *why = "an artifact of another format";
    if (format != INARCH_FORMAT) {
        return NULL;
    }
    inarch_own_reader reader = {file + place + 16, file + place + bytes};
    inarch_own_text(&reader); /* name */
    inarch_own_text(&reader); /* prefix */
    for (uint64_t left = inarch_own_number(&reader, 4); left > 0 && reader.at != NULL; left--) {
        inarch_own_text(&reader); /* of a function */
        inarch_own_number(&reader, 8);
        inarch_own_skip_ports(&reader);
        inarch_own_skip_ports(&reader);
    }
    *why = "an artifact with other weights";
    for (uint64_t left = inarch_own_number(&reader, 4); left > 0 && reader.at != NULL; left--) {
        inarch_own_text(&reader); /* target */
        inarch_own_text(&reader); /* features */
        inarch_own_number(&reader, 8);
        inarch_own_number(&reader, 8);
        inarch_own_text(&reader); /* of the library */
        const uint64_t start = inarch_own_number(&reader, 8);
        const uint64_t count = inarch_own_number(&reader, 8);
        const char *digest = inarch_own_text(&reader);
        if (reader.at != NULL && count == (uint64_t)library->weights_bytes && start <= size
            && count <= size - start && strcmp(digest, library->weights_sha256) == 0) {
            return file + start;
        }
        inarch_own_skip_texts(&reader, 1); /* loaders */
        inarch_own_skip_texts(&reader, 1); /* imports */
        inarch_own_skip_texts(&reader, 5); /* libraries */
        inarch_own_skip_numbers(&reader);  /* of workspaces */
    }
    return NULL;
}

/* The file that this code is of: by the system's list of mappings, which has its whole path and does not care
   by what name it was opened; else by the dynamic loader, which knows the name. */
INARCH_BASELINE static const char *inarch_own_path(char *line, int size)
{
    const uintptr_t here = (uintptr_t)&inarch_own_state;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, size, maps) != NULL) {
        unsigned long long begin = 0, end = 0;
        int path = 0;
        sscanf(line, "%llx-%llx %*s %*s %*s %*s %n", &begin, &end, &path);
        if (here >= begin && here < end && path != 0 && line[path] == '/') {
            line[strcspn(line, "\n")] = 0;
            fclose(maps);
            return line + path;
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    Dl_info own = {NULL, NULL, NULL, NULL};
    dladdr((void *)&inarch_own_state, &own);
    return own.dli_fname == NULL ? "" : own.dli_fname;
}

INARCH_BASELINE static void inarch_own_unmap(void *file)
{
    munmap(((inarch_own_file *)file)->address, ((inarch_own_file *)file)->bytes);
    free(file);
}

/* The library's weights in the file at `path`, mapped, or nothing and why not, with its code. */
INARCH_BASELINE static inarch_weights inarch_own_map(const inarch_library *library, const char *path,
                                                     int32_t *code, const char **why)
{
    inarch_weights found = {NULL, 0, NULL, NULL};
    struct stat state;
    *code = INARCH_UNREADABLE;
    *why = "a file that cannot be read";
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return found;
    }
    inarch_own_file *file = (inarch_own_file *)malloc(sizeof(inarch_own_file));
    if (file == NULL) {
        *code = INARCH_NO_MEMORY;
        *why = "no memory to read it";
    } else if (fstat(descriptor, &state) == 0 && state.st_size > 0) {
        file->bytes = (size_t)state.st_size;
        file->address = mmap(NULL, file->bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (file->address != MAP_FAILED) {
            *code = INARCH_UNBOUND;
            found.data = inarch_own_weights(library, (const unsigned char *)file->address, file->bytes, why);
            found.bytes = library->weights_bytes;
            found.released = inarch_own_unmap;
            found.self = file;
            if (found.data == NULL) {
                munmap(file->address, file->bytes);
            }
        }
    }
    close(descriptor);
    if (found.data == NULL) {
        free(file);
    }
    return found;
}

/* What calls run with from now on. Without a lock, which a process that forks here would keep for ever: threads do
   the same, and the first one's state is everybody's. */
INARCH_BASELINE static int32_t inarch_own_prepare(const inarch_model *model, inarch_state *bound,
                                                  const char *function)
{
    const inarch_library *library = &model->library;
    if (library->import_count != 0) {
        return inarch_fail(INARCH_UNBOUND, "%s: expected a program that is whole, found one with %d imports, which "
                           "only Inarch fills: use inarch.bridges.tvm.to_tvm_func",
                           function, (int)library->import_count);
    }
    inarch_setup setup = {sizeof(inarch_setup), 0, NULL, {NULL, 0, NULL, NULL}, NULL, {NULL, NULL, NULL}, {NULL, NULL}};
    inarch_state *state = bound, *first = NULL;
    const char *why = "", *path = "";
    int32_t code = INARCH_UNBOUND;
    char line[4400];
    if (library->weights_bytes != 0 && model->embedded == NULL) {
        path = inarch_own_path(line, (int)sizeof(line));
        setup.weights = inarch_own_map(library, path, &code, &why);
    }
    if (library->weights_bytes == 0 || model->embedded != NULL || setup.weights.data != NULL) {
        const int32_t status = library->state_new(library, &setup, &state);
        if (status != 0) {
            if (setup.weights.data != NULL) {
                inarch_own_unmap(setup.weights.self);
            }
            return status;
        }
    } else if (!bound->is_bound) { /* by whoever opened it from elsewhere */
        return inarch_fail(code, "%s: expected its weights in the artifact that it was loaded from, found "
                           "%s: '%.300s'; call %s_bind first", function, why, path, library->name);
    }
    if (!__atomic_compare_exchange_n(&inarch_own_state, &first, state, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
        && state != bound) {
        library->state_free(state);
    }
    return 0;
}

/* At the end of the process a thread may still compute: then it keeps the weights. */
INARCH_BASELINE __attribute__((destructor)) static void inarch_own_close(void)
{
    __atomic_store_n(&inarch_own_is_closed, 1, __ATOMIC_SEQ_CST);
    inarch_state *state = inarch_own_state;
    if (__atomic_load_n(&inarch_own_running, __ATOMIC_SEQ_CST) == 0 && state != NULL
        && state->kept[0].weights.released == inarch_own_unmap) {
        state->model->library.state_free(state);
    }
}

/* Begins a call: `state` is what it runs with. `inarch_own_end` ends it, also where it fails. */
INARCH_BASELINE int32_t inarch_own_begin(const inarch_model *model, inarch_state *bound, const char *function,
                                         inarch_state **state)
{
    __atomic_add_fetch(&inarch_own_running, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&inarch_own_is_closed, __ATOMIC_SEQ_CST)) {
        return inarch_fail(INARCH_UNBOUND, "%s: the library is closed: the process ends", function);
    }
    if (__atomic_load_n(&inarch_own_state, __ATOMIC_ACQUIRE) == NULL) {
        const int32_t status = inarch_own_prepare(model, bound, function);
        if (status != 0) {
            return status;
        }
    }
    *state = __atomic_load_n(&inarch_own_state, __ATOMIC_ACQUIRE);
    return 0;
}

INARCH_BASELINE void inarch_own_end(void)
{
    __atomic_sub_fetch(&inarch_own_running, 1, __ATOMIC_SEQ_CST);
}

INARCH_BASELINE int32_t inarch_own_run(const inarch_model *model, inarch_state *bound, int32_t index,
                                       DLTensor *args, int32_t n)
{
    inarch_state *state = bound;
    const int32_t status = inarch_own_begin(model, bound, model->library.functions[index].name, &state);
    const int32_t result = status != 0 ? status : model->library.run(state, index, args, n, NULL);
    inarch_own_end();
    return result;
}
