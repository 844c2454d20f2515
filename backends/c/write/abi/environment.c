/* The floating-point environment of the thread while our code computes in it, the default one: rounding to nearest,
   subnormal numbers as they are, no exception traps. Whoever calls, or whose pool the thread is of, may have set
   another one: that is there again afterwards, with its flags, which a handler of traps goes by. In a thread that
   has the default one flags stay raised: to restore them would cost each call as much again. Elsewhere than on
   x86-64 and aarch64 nothing is touched. Clobbers of memory keep loads and stores between the two. */
#if defined(__x86_64__) && defined(__GNUC__)
/* MXCSR: Intel's Software Developer's Manual, volume 1, 10.2.3. Bits 0 to 5 are the flags. */
#define INARCH_MXCSR 0x1f80u

typedef struct {
    uint32_t control;
} inarch_environment;

static inline inarch_environment inarch_enter(void)
{
    static const uint32_t ours = INARCH_MXCSR;
    inarch_environment before;
    __asm__ volatile("stmxcsr %0" : "=m"(before.control) : : "memory");
    if ((before.control & ~0x3fu) != INARCH_MXCSR) {
        __asm__ volatile("ldmxcsr %0" : : "m"(ours) : "memory");
    }
    return before;
}

static inline void inarch_leave(const inarch_environment *before)
{
    if ((before->control & ~0x3fu) != INARCH_MXCSR) {
        __asm__ volatile("ldmxcsr %0" : : "m"(before->control) : "memory");
    }
}
#elif defined(__aarch64__) && defined(__GNUC__)
/* FPCR and, with the flags, FPSR: Arm's Architecture Reference Manual, C5.2.8 and C5.2.10. */
typedef struct {
    uint64_t control, flags;
} inarch_environment;

static inline inarch_environment inarch_enter(void)
{
    inarch_environment before = {0, 0};
    __asm__ volatile("mrs %0, fpcr" : "=r"(before.control) : : "memory");
    if (before.control != 0) {
        __asm__ volatile("mrs %0, fpsr\n\tmsr fpcr, xzr" : "=r"(before.flags) : : "memory");
    }
    return before;
}

static inline void inarch_leave(const inarch_environment *before)
{
    if (before->control != 0) {
        __asm__ volatile("msr fpsr, %1\n\tmsr fpcr, %0" : : "r"(before->control), "r"(before->flags) : "memory");
    }
}
#else
typedef int inarch_environment;

static inline inarch_environment inarch_enter(void)
{
    return 0;
}

static inline void inarch_leave(const inarch_environment *before)
{
    (void)before;
}
#endif

/* Until the end of the block that it stands in, by whichever way that is left. */
#define INARCH_ENVIRONMENT \
    const inarch_environment inarch_before __attribute__((unused, cleanup(inarch_leave))) = inarch_enter()
