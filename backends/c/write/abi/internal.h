/* What a library is beside what it shows, and the functions that its table names. */

/* Elements `start`, `start + stride` ... of an input, i32 or i64, which are indices from `least` to `most`. */
typedef struct {
    int32_t function;
    int32_t input;
    int64_t start;
    int64_t stride;
    int64_t least;
    int64_t most;
} inarch_indices;

typedef struct {
    inarch_library library; /* first: whoever has its address has this one's */
    /* As many slots as the code calls, those filled that the library fills itself. */
    const inarch_import *imports;
    int32_t slots;
    int32_t reserved;
    int64_t workspace_bytes; /* room for every function, a multiple of 64 */
    const void *embedded;    /* weights in the text, or NULL */
    /* How many threads run a loop, less than 0: INARCH_NUM_THREADS is no number. NULL: no loop is shared. */
    int32_t (*threads)(void);
    const inarch_indices *indices;
    int32_t indices_count;
    int32_t reserved_too;
} inarch_model;

/* Weights of a state: the present ones, or earlier ones that calls still use. */
typedef struct {
    inarch_weights weights;
    int64_t users; /* less those that began while they were the present ones */
    int32_t is_taken;
    int32_t reserved;
} inarch_kept;

#define INARCH_KEPT 16

struct inarch_state {
    const inarch_model *model;
    const inarch_import *imports;
    const inarch_pool *pool;
    inarch_allocator allocator;
    inarch_executor executor;
    int32_t is_bound; /* to weights; 1 where there are none */
    int32_t reserved;
    void *idle; /* a workspace of `allocator` that no call uses */
    /* Calls that have begun with the present weights * INARCH_KEPT + which those are: one number, so that a call
       counts itself where it reads which. */
    uint64_t present;
    inarch_kept kept[INARCH_KEPT];
};

/* What the call that runs in this thread runs with; NULL: what the library has. `threads` is of all calls. */
typedef struct {
    const inarch_import *imports;
    const inarch_pool *pool;
    int32_t threads;
} inarch_thread;

${variable}

INARCH_BASELINE ${linkage}__attribute__((format(printf, 2, 3))) int32_t inarch_fail(
    int32_t code, const char *format, ...);
INARCH_BASELINE ${linkage}const char *inarch_last_message(void);
INARCH_BASELINE ${linkage}void inarch_describe(
    DLDataType dtype, int32_t rank, const int64_t *shape, char *text, size_t size);
INARCH_BASELINE ${linkage}int32_t inarch_check_cpu(void);
INARCH_BASELINE ${linkage}int32_t inarch_bind_state(
    inarch_state *state, inarch_import *table, const void *weights, int64_t nbytes,
    const inarch_import *imports, int32_t count);
INARCH_BASELINE ${linkage}int32_t inarch_state_new(
    const inarch_library *library, const inarch_setup *setup, inarch_state **state);
${linkage}void inarch_state_free(inarch_state *state);
${linkage}int32_t inarch_set_weights(inarch_state *state, const inarch_weights *weights);
${linkage}int32_t inarch_set_stream(
    inarch_state *state, int32_t device_type, int32_t device_id, void *stream);
${linkage}int32_t inarch_shapes(
    const inarch_library *library, int32_t function, DLTensor *args, int32_t n);
${linkage}int32_t inarch_run(
    inarch_state *state, int32_t function, DLTensor *args, int32_t n, const inarch_call *call);
${linkage}void inarch_release(inarch_state *state, void *data, int64_t bytes);
${linkage}int32_t inarch_limit_threads(const inarch_model *model, int32_t threads);
