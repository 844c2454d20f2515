/* A machine without an operating system, as far as Linux can be one: no libc, a stack of its own.
 *
 * Reads all inputs from descriptor 0, calls `invoke` (the test defines it) on a painted stack, and writes all
 * outputs and how many bytes of that stack were touched to descriptor 1.
 */
#include <stddef.h>
#include <stdint.h>

void invoke(void);
extern unsigned char *const inputs[], *const outputs[];
extern const size_t input_bytes[], output_bytes[];
extern const int input_count, output_count;

/* What a freestanding environment gives a compiler. */
void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    unsigned char *t = to;
    for (const unsigned char *f = from; n > 0; n--) *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    if (t <= f) return memcpy(to, from, n);
    while (n-- > 0) t[n] = f[n];
    return to;
}

void *memset(void *to, int value, size_t n)
{
    for (unsigned char *t = to; n > 0; n--) *t++ = (unsigned char)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a, *y = b;
    for (; n > 0; n--, x++, y++) if (*x != *y) return *x - *y;
    return 0;
}

#if defined(__x86_64__)
#define READ 0
#define WRITE 1
#define EXIT 60
static long call(long number, long a, void *b, size_t n)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(n) : "rcx", "r11", "memory");
    return result;
}
__asm__(".globl _start\n_start:\n    and $-16, %rsp\n    call bare\n"
        ".globl on_stack\non_stack:\n    push %rbp\n    mov %rsp, %rbp\n    mov %rdi, %rsp\n    call *%rsi\n"
        "    mov %rbp, %rsp\n    pop %rbp\n    ret\n");
#elif defined(__aarch64__)
#define READ 63
#define WRITE 64
#define EXIT 93
static long call(long number, long a, void *b, size_t n)
{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a;
    register void *x1 __asm__("x1") = b;
    register size_t x2 __asm__("x2") = n;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
__asm__(".globl _start\n_start:\n    bl bare\n"
        ".globl on_stack\non_stack:\n    stp x29, x30, [sp, -16]!\n    mov x29, sp\n    mov sp, x0\n    blr x1\n"
        "    mov sp, x29\n    ldp x29, x30, [sp], 16\n    ret\n");
#endif

void on_stack(void *top, void (*function)(void));

static unsigned char stack[1 << 18] __attribute__((aligned(64)));

static void move_all(long number, long descriptor, unsigned char *data, size_t n)
{
    while (n > 0) {
        const long moved = call(number, descriptor, data, n);
        if (moved <= 0) call(EXIT, 3, NULL, 0);
        data += moved, n -= (size_t)moved;
    }
}

__attribute__((used)) void bare(void)
{
    for (int i = 0; i < input_count; i++) move_all(READ, 0, inputs[i], input_bytes[i]);
    memset(stack, 0xa5, sizeof(stack));
    on_stack(stack + sizeof(stack), invoke);
    size_t untouched = 0;
    while (untouched < sizeof(stack) && stack[untouched] == 0xa5) untouched++;
    for (int i = 0; i < output_count; i++) move_all(WRITE, 1, outputs[i], output_bytes[i]);
    uint64_t touched = sizeof(stack) - untouched;
    move_all(WRITE, 1, (unsigned char *)&touched, sizeof(touched));
    call(EXIT, 0, NULL, 0);
}
