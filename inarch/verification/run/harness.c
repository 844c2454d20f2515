/* Calls a microkernel as a script says, in a process of its own.
 *
 *     harness LIBRARY SCRIPT
 *
 * `inarch/verification/run/script.py` writes the script, a file of 64-bit words and bytes that is mapped
 * here and that takes the results, and reads it when this process has ended, however it ended. Nothing
 * here knows what the kernel computes.
 *
 * Each operand lives in a region between pages that cannot be touched; those that are only read are
 * write-protected. Compiled with AddressSanitizer, operands are blocks of the heap of exactly their size.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <ucontext.h>
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif

enum { MOST_OPERANDS = 32, GUARD = 1 << 20, STACK = 8 << 20, DIRT = 1 << 15 };

/* What lies around operands: NaN, so that reading it shows. Around those that are written a small number,
 * because NaN would stay NaN where a kernel adds to it. */
enum { POISON = 0xFF, OUTSIDE = 0x3C };

/* What `run/script.py` reads; the order of the fields is its. */
enum outcome {
    RUNNING, FINISHED, SIGNALLED, SANITIZER, WROTE_OUTSIDE, WROTE_INPUT, REGISTERS, MXCSR, X87, ROUNDING,
    CANNOT_LOAD, EXITED, LEAK
};
struct status {
    int64_t outcome, call, in_kernel, signal, code, address, is_write, bytes, operand, offset, before, after;
    int64_t in_stack;
    int64_t start[MOST_OPERANDS];
    char text[512];
};
struct operand { int64_t capacity, is_written, align; };
struct use { int64_t image, length, origin, result; };
struct call { int64_t side, numbers; struct use uses[]; };
struct header { int64_t operands, calls, status, operand_table, call_table, numbers, milliseconds; };
enum side { RIGHT, LEFT, ODD, TOGETHER_WITH_NEXT };

typedef void entry(void *const *pointers, const int64_t *numbers);

static struct status *status;
static char *stack_top;

static void fail(enum outcome outcome) {
    status->outcome = outcome;
    status->in_kernel = 0;
    _exit(1);
}

static void on_signal(int number, siginfo_t *info, void *context) {
    status->signal = number;
    status->code = info->si_code;
    status->address = (int64_t)(intptr_t)info->si_addr;
#if defined(__x86_64__) && defined(REG_ERR)
    /* Bit 1 of a page fault's error code: the access was a write (Intel SDM volume 3, 4.7). */
    status->is_write = (((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] >> 1) & 1;
#else
    (void)context;
    status->is_write = -1;
#endif
    char *address = info->si_addr;
    status->in_stack = address < stack_top && address > stack_top - 2 * STACK;
    status->outcome = SIGNALLED;
    _exit(1);
}

static void on_exit_of_process(void) {
    if (status->in_kernel) status->outcome = EXITED;
}

#if defined(SANITIZED)
void *__asan_get_report_address(void);
int __asan_get_report_access_type(void);
size_t __asan_get_report_access_size(void);
const char *__asan_get_report_description(void);
void __asan_poison_memory_region(void const volatile *, size_t);
void __asan_unpoison_memory_region(void const volatile *, size_t);

/* Called by the sanitizer before it prints and leaves. */
void __asan_on_error(void) {
    status->outcome = SANITIZER;
    status->address = (int64_t)(intptr_t)__asan_get_report_address();
    status->is_write = __asan_get_report_access_type();
    status->bytes = (int64_t)__asan_get_report_access_size();
    const char *text = __asan_get_report_description();
    if (text) strncpy(status->text, text, sizeof status->text - 1);
}
#endif

/* The call itself: with values in the registers that a callee must keep, and NaN in those that it must
 * not read. The result has a bit for each register that was not kept. */
#if defined(__x86_64__)
int64_t inarch_guarded_call(entry *kernel, void *const *pointers, const int64_t *numbers);
uint64_t inarch_saved_rsp;
int32_t inarch_has_avx512;
__asm__(
    ".text\n.p2align 4\n.globl inarch_guarded_call\n.type inarch_guarded_call, @function\n"
    "inarch_guarded_call:\n"
    "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n sub $24, %rsp\n"
    "mov %rsp, inarch_saved_rsp(%rip)\n"
    "mov %rdi, %rax\n mov %rsi, %rdi\n mov %rdx, %rsi\n"
    "cmpl $0, inarch_has_avx512(%rip)\n je 1f\n"
    ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
    "vpternlogd $255, %zmm\\n, %zmm\\n, %zmm\\n\n.endr\n"
    "mov $0xa5a5, %ecx\n.irp n,1,2,3,4,5,6,7\nkmovw %ecx, %k\\n\n.endr\n"
    "1:\n"
    ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\npcmpeqd %xmm\\n, %xmm\\n\n.endr\n"
    "movabs $0x1b1b1b1b5a5a0001, %rbx\n movabs $0x1b1b1b1b5a5a0002, %rbp\n"
    "movabs $0x1b1b1b1b5a5a0003, %r12\n movabs $0x1b1b1b1b5a5a0004, %r13\n"
    "movabs $0x1b1b1b1b5a5a0005, %r14\n movabs $0x1b1b1b1b5a5a0006, %r15\n"
    "call *%rax\n"
    "xor %eax, %eax\n"
    "cmp inarch_saved_rsp(%rip), %rsp\n je 1f\n or $1, %eax\n 1: mov inarch_saved_rsp(%rip), %rsp\n"
    "movabs $0x1b1b1b1b5a5a0001, %rdx\n cmp %rdx, %rbx\n je 1f\n or $2, %eax\n 1:\n"
    "movabs $0x1b1b1b1b5a5a0002, %rdx\n cmp %rdx, %rbp\n je 1f\n or $4, %eax\n 1:\n"
    "movabs $0x1b1b1b1b5a5a0003, %rdx\n cmp %rdx, %r12\n je 1f\n or $8, %eax\n 1:\n"
    "movabs $0x1b1b1b1b5a5a0004, %rdx\n cmp %rdx, %r13\n je 1f\n or $16, %eax\n 1:\n"
    "movabs $0x1b1b1b1b5a5a0005, %rdx\n cmp %rdx, %r14\n je 1f\n or $32, %eax\n 1:\n"
    "movabs $0x1b1b1b1b5a5a0006, %rdx\n cmp %rdx, %r15\n je 1f\n or $64, %eax\n 1:\n"
    "pushfq\n pop %rdx\n test $0x400, %edx\n je 1f\n or $128, %eax\n cld\n 1:\n"
    "add $24, %rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n"
    ".size inarch_guarded_call, .-inarch_guarded_call\n");
#else
static int64_t inarch_guarded_call(entry *kernel, void *const *pointers, const int64_t *numbers) {
    kernel(pointers, numbers);
    return 0;
}
#endif

/* Leaves NaN where a kernel's uninitialised locals will be. */
static __attribute__((noinline)) void dirty_stack(void) {
    char dirt[DIRT];
    memset(dirt, POISON, sizeof dirt);
    __asm__ volatile("" : : "r"(dirt) : "memory"); /* it is needed, says this */
}

static void check_modes(void) {
#if defined(__x86_64__)
    uint32_t mxcsr, initial = 0x1F80;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    __asm__ volatile("ldmxcsr %0" : : "m"(initial));
    if ((mxcsr & 0xFFC0) != initial) { /* without the flags of past exceptions */
        status->before = initial;
        status->after = mxcsr & 0xFFC0;
        fail(MXCSR);
    }
    struct { uint16_t control, a, status, b, tags, c; uint32_t rest[4]; } x87;
    __asm__ volatile("fnstenv %0\n fninit" : "=m"(x87));
    if (x87.control != 0x37F || x87.tags != 0xFFFF) {
        status->before = 0x37F;
        status->after = x87.control;
        fail(X87);
    }
#else
    if (fegetround() != FE_TONEAREST) fail(ROUNDING);
#endif
}

static int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

#if defined(SANITIZED)
static char *block[MOST_OPERANDS];

static char *put(int i, const struct operand *operand, const struct use *use, enum side side) {
    void *memory = NULL;
    int64_t before = side == ODD ? round_up(use->origin + operand->align, 2 * operand->align) : 0;
    /* The first element keeps its alignment where the operand begins before it. */
    int64_t align = operand->align < 16 ? 16 : operand->align, lead = before;
    if (side != ODD) lead = round_up(use->origin, align);
    else lead = before + operand->align;
    lead -= use->origin;
    if (posix_memalign(&memory, (size_t)(2 * align), (size_t)(lead + use->length))) fail(CANNOT_LOAD);
    block[i] = memory;
    __asan_poison_memory_region(memory, (size_t)lead);
    return block[i] + lead;
}

static void end(int i, const struct operand *operand, const struct use *use, const char *data, const char *image) {
    if (!operand->is_written)
        for (int64_t k = 0; k < use->length; k++)
            if (data[k] != image[k]) {
                status->operand = i;
                status->offset = k - use->origin;
                fail(WROTE_INPUT);
            }
    __asan_unpoison_memory_region(block[i], (size_t)(data - block[i]));
    free(block[i]);
}

static void reserve(int i, const struct operand *operand) { (void)i, (void)operand; }
#else
static char *region[MOST_OPERANDS];
static int64_t region_bytes[MOST_OPERANDS];

static int around(const struct operand *operand) { return operand->is_written ? OUTSIDE : POISON; }

static void reserve(int i, const struct operand *operand) {
    int64_t page = sysconf(_SC_PAGESIZE);
    region_bytes[i] = round_up(operand->capacity, page);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *all = mmap(NULL, (size_t)(region_bytes[i] + 2 * GUARD), PROT_NONE, flags, -1, 0);
    if (all == MAP_FAILED) fail(CANNOT_LOAD);
    region[i] = all + GUARD;
    if (mprotect(region[i], (size_t)region_bytes[i], PROT_READ | PROT_WRITE)) fail(CANNOT_LOAD);
    memset(region[i], around(operand), (size_t)region_bytes[i]);
}

/* Where the first element goes so that it is aligned as asked: for ODD to `align` and to no more. */
static char *place(enum side side, char *low, char *high, const struct use *use, int64_t align) {
    int64_t first = (intptr_t)low + use->origin;
    if (side == LEFT) return (char *)(intptr_t)(round_up(first, align) - use->origin);
    if (side == ODD) return (char *)(intptr_t)(round_up(first, 2 * align) + align - use->origin);
    return (char *)(intptr_t)(((intptr_t)high - use->length + use->origin) / align * align - use->origin);
}

static char *put(int i, const struct operand *operand, const struct use *use, enum side side) {
    return place(side, region[i], region[i] + region_bytes[i], use, operand->align);
}

static void seal(int i, const struct operand *operand, int protection) {
    if (!operand->is_written && mprotect(region[i], (size_t)region_bytes[i], protection)) fail(CANNOT_LOAD);
}

static void look(int i, const char *from, const char *to, const char *first) {
    for (; from < to; from++)
        if (*from != OUTSIDE) {
            status->operand = i;
            status->offset = from - first;
            fail(WROTE_OUTSIDE);
        }
}

static void end(int i, const struct operand *operand, const struct use *use, const char *data, const char *image) {
    (void)image;
    seal(i, operand, PROT_READ | PROT_WRITE);
    if (operand->is_written) {
        look(i, region[i], data, data + use->origin);
        look(i, data + use->length, region[i] + region_bytes[i], data + use->origin);
    }
    memset((char *)data, around(operand), (size_t)use->length);
}
#endif

#include "leak.h"

static void perform(entry *kernel, char *script, const struct header *header, const struct call *call) {
    const struct operand *operands = (void *)(script + header->operand_table);
    void *pointers[MOST_OPERANDS];
    char *data[MOST_OPERANDS];
    for (int i = 0; i < header->operands; i++) {
        const struct use *use = &call->uses[i];
        data[i] = put(i, &operands[i], use, (enum side)call->side);
        memcpy(data[i], script + use->image, (size_t)use->length);
        pointers[i] = data[i] + use->origin;
        status->start[i] = (int64_t)(intptr_t)pointers[i];
#if !defined(SANITIZED)
        seal(i, &operands[i], PROT_READ);
#endif
    }
    int64_t milliseconds = header->milliseconds;
    struct itimerval limit = {{0, 0}, {milliseconds / 1000, milliseconds % 1000 * 1000}}, none = {{0, 0}, {0, 0}};
    const int64_t *numbers = (const int64_t *)(script + call->numbers);
    int64_t before = allocated();
    dirty_stack();
    setitimer(ITIMER_PROF, &limit, NULL);
    status->in_kernel = 1;
    int64_t changed = inarch_guarded_call(kernel, pointers, numbers);
    status->in_kernel = 0;
    setitimer(ITIMER_PROF, &none, NULL);
    if (changed) {
        status->after = changed;
        fail(REGISTERS);
    }
    check_modes();
    for (int i = 0; i < header->operands; i++) {
        const struct use *use = &call->uses[i];
        if (operands[i].is_written) memcpy(script + use->result, data[i], (size_t)use->length);
    }
    if (allocated() > before) check_leak(kernel, pointers, numbers, &limit);
    for (int i = 0; i < header->operands; i++)
        end(i, &operands[i], &call->uses[i], data[i], script + call->uses[i].image);
}

#include "together.h"

#if defined(__x86_64__)
/* AVX512F, and that the system saves its registers (Intel SDM volume 1, 15.2). */
static int has_avx512(void) {
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & 0xE6) == 0xE6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 16 & 1);
}
#endif

static void prepare_process(void) {
    static char alternate[1 << 16];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGPROF, SIGALRM, SIGTERM, SIGPIPE};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit core = {0, 0}, file = {1 << 20, 1 << 20}, stack_limit;
    setrlimit(RLIMIT_CORE, &core);
    setrlimit(RLIMIT_FSIZE, &file); /* what a kernel prints */
    getrlimit(RLIMIT_STACK, &stack_limit);
    stack_limit.rlim_cur = STACK;
    setrlimit(RLIMIT_STACK, &stack_limit);
    atexit(on_exit_of_process);
#if defined(__x86_64__)
    inarch_has_avx512 = has_avx512();
#endif
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    int file = open(arguments[2], O_RDWR);
    struct stat state;
    if (file < 0 || fstat(file, &state)) return 2;
    char *script = mmap(NULL, (size_t)state.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (script == MAP_FAILED) return 2;
    close(file);
    const struct header *header = (void *)script;
    status = (void *)(script + header->status);
    stack_top = (char *)__builtin_frame_address(0) + (1 << 16);
    prepare_process();
    status->call = -1;
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    entry *kernel = library ? (entry *)dlsym(library, "inarch_verified") : NULL;
    if (!kernel) {
        const char *text = dlerror();
        if (text) strncpy(status->text, text, sizeof status->text - 1);
        fail(CANNOT_LOAD);
    }
    const struct operand *operands = (void *)(script + header->operand_table);
    for (int i = 0; i < header->operands; i++) reserve(i, &operands[i]);
    size_t step = sizeof(struct call) + (size_t)header->operands * sizeof(struct use);
    for (int64_t k = 0; k < header->calls; k++) {
        struct call *call = (void *)(script + header->call_table + k * (int64_t)step);
        status->call = k;
        if (call->side == TOGETHER_WITH_NEXT && k + 1 < header->calls) {
            perform_together(kernel, script, header, (struct call *[]){call, (void *)((char *)call + step)});
            k++;
        } else {
            perform(kernel, script, header, call);
        }
    }
    status->outcome = FINISHED;
    return 0;
}
