/* The processor's features, as __builtin_cpu_supports reads them: zig's compiler_rt leaves them empty.
 *
 * The layout and the numbers of features are those of libgcc and of LLVM's compiler-rt, which compilers
 * build into programs. A feature counts if the processor has it and the system saves its registers. The
 * program may ask before its constructors run, and before it can call other libraries: there are no calls. */
#include <cpuid.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN struct {
    unsigned vendor, type, subtype, features[1];
} __cpu_model;
HIDDEN unsigned __cpu_features2[4]; /* features from 32 on */

enum { INTEL = 1, AMD, OTHER };
enum { EAX, EBX, ECX, EDX };
enum { LEAF_1, LEAF_7, LEAF_7_1, EXTENDED, LEAVES };
enum { ALWAYS, AVX_STATE, AVX512_STATE };

struct feature {
    unsigned char number, leaf, word, bit, state;
};
static const struct feature known[] = {
    {0, LEAF_1, EDX, 15, ALWAYS},        /* cmov */
    {1, LEAF_1, EDX, 23, ALWAYS},        /* mmx */
    {2, LEAF_1, ECX, 23, ALWAYS},        /* popcnt */
    {3, LEAF_1, EDX, 25, ALWAYS},        /* sse */
    {4, LEAF_1, EDX, 26, ALWAYS},        /* sse2 */
    {5, LEAF_1, ECX, 0, ALWAYS},         /* sse3 */
    {6, LEAF_1, ECX, 9, ALWAYS},         /* ssse3 */
    {7, LEAF_1, ECX, 19, ALWAYS},        /* sse4.1 */
    {8, LEAF_1, ECX, 20, ALWAYS},        /* sse4.2 */
    {9, LEAF_1, ECX, 28, AVX_STATE},     /* avx */
    {10, LEAF_7, EBX, 5, AVX_STATE},     /* avx2 */
    {11, EXTENDED, ECX, 6, ALWAYS},      /* sse4a */
    {12, EXTENDED, ECX, 16, AVX_STATE},  /* fma4 */
    {13, EXTENDED, ECX, 11, AVX_STATE},  /* xop */
    {14, LEAF_1, ECX, 12, AVX_STATE},    /* fma */
    {15, LEAF_7, EBX, 16, AVX512_STATE}, /* avx512f */
    {16, LEAF_7, EBX, 3, ALWAYS},        /* bmi */
    {17, LEAF_7, EBX, 8, ALWAYS},        /* bmi2 */
    {18, LEAF_1, ECX, 25, ALWAYS},       /* aes */
    {19, LEAF_1, ECX, 1, ALWAYS},        /* pclmul */
    {20, LEAF_7, EBX, 31, AVX512_STATE}, /* avx512vl */
    {21, LEAF_7, EBX, 30, AVX512_STATE}, /* avx512bw */
    {22, LEAF_7, EBX, 17, AVX512_STATE}, /* avx512dq */
    {23, LEAF_7, EBX, 28, AVX512_STATE}, /* avx512cd */
    {26, LEAF_7, ECX, 1, AVX512_STATE},  /* avx512vbmi */
    {27, LEAF_7, EBX, 21, AVX512_STATE}, /* avx512ifma */
    {30, LEAF_7, ECX, 14, AVX512_STATE}, /* avx512vpopcntdq */
    {31, LEAF_7, ECX, 6, AVX512_STATE},  /* avx512vbmi2 */
    {32, LEAF_7, ECX, 8, ALWAYS},        /* gfni */
    {33, LEAF_7, ECX, 10, AVX_STATE},    /* vpclmulqdq */
    {34, LEAF_7, ECX, 11, AVX512_STATE}, /* avx512vnni */
    {35, LEAF_7, ECX, 12, AVX512_STATE}, /* avx512bitalg */
    {36, LEAF_7_1, EAX, 5, AVX512_STATE}, /* avx512bf16 */
    {37, LEAF_7, EDX, 8, AVX512_STATE},  /* avx512vp2intersect */
    {40, LEAF_7, EBX, 19, ALWAYS},       /* adx */
    {46, LEAF_1, ECX, 13, ALWAYS},       /* cmpxchg16b */
    {49, LEAF_1, ECX, 29, AVX_STATE},    /* f16c */
    {50, LEAF_7, EBX, 0, ALWAYS},        /* fsgsbase */
    {54, EXTENDED, ECX, 0, ALWAYS},      /* lahf_lm */
    {55, EXTENDED, EDX, 29, ALWAYS},     /* lm */
    {57, EXTENDED, ECX, 5, ALWAYS},      /* lzcnt */
    {58, LEAF_1, ECX, 22, ALWAYS},       /* movbe */
    {69, LEAF_1, ECX, 30, ALWAYS},       /* rdrnd */
    {70, LEAF_7, EBX, 18, ALWAYS},       /* rdseed */
    {71, LEAF_7, EBX, 11, ALWAYS},       /* rtm */
    {74, LEAF_7, EBX, 29, ALWAYS},       /* sha */
    {78, LEAF_7, ECX, 9, AVX_STATE},     /* vaes */
    {81, LEAF_1, ECX, 26, ALWAYS},       /* xsave */
    {93, LEAF_7_1, EAX, 4, AVX_STATE},   /* avxvnni */
    {94, LEAF_7, EDX, 23, AVX512_STATE}, /* avx512fp16 */
};

/* The levels of x86-64, each with the one before: the features that it adds. */
static const struct {
    unsigned char number, features[8];
} levels[] = {
    {95, {0, 1, 3, 4, 55, 55, 55, 55}},      /* x86-64 */
    {96, {2, 5, 6, 7, 8, 46, 54, 54}},       /* x86-64-v2 */
    {97, {9, 10, 14, 16, 17, 49, 57, 58}},   /* x86-64-v3 */
    {98, {15, 20, 21, 22, 23, 23, 23, 23}},  /* x86-64-v4 */
};

static unsigned *word_of(unsigned number) {
    return number < 32 ? __cpu_model.features : &__cpu_features2[number / 32 - 1];
}
static int has(unsigned number) { return *word_of(number) >> number % 32 & 1; }

/* Whether the system saves the registers of AVX, or those of AVX-512. */
static int saved_state(unsigned features) {
    if (!(features >> 27 & 1)) /* no xgetbv */
        return ALWAYS;
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & 0xe6) == 0xe6 ? AVX512_STATE : (low & 6) == 6 ? AVX_STATE : ALWAYS;
}

HIDDEN __attribute__((constructor(101))) int __cpu_indicator_init(void) {
    if (__cpu_model.vendor)
        return 0;
    unsigned words[LEAVES][4] = {0}, name[4], last, extended, unused[3];
    __cpuid(0, last, name[EBX], name[ECX], name[EDX]);
    __cpuid(0x80000000, extended, unused[0], unused[1], unused[2]);
    __cpuid(1, words[LEAF_1][EAX], words[LEAF_1][EBX], words[LEAF_1][ECX], words[LEAF_1][EDX]);
    if (last >= 7) {
        unsigned *w = words[LEAF_7];
        __cpuid_count(7, 0, w[EAX], w[EBX], w[ECX], w[EDX]);
        unsigned more = w[EAX];
        w = words[LEAF_7_1];
        if (more)
            __cpuid_count(7, 1, w[EAX], w[EBX], w[ECX], w[EDX]);
    }
    if (extended >= 0x80000001) {
        unsigned *w = words[EXTENDED];
        __cpuid(0x80000001, w[EAX], w[EBX], w[ECX], w[EDX]);
    }
    int state = saved_state(words[LEAF_1][ECX]);
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        const struct feature *f = &known[i];
        if (words[f->leaf][f->word] >> f->bit & 1 && f->state <= state)
            *word_of(f->number) |= 1u << f->number % 32;
    }
    for (unsigned i = 0; i < sizeof levels / sizeof *levels; i++) {
        int all = !i || has(levels[i - 1].number);
        for (unsigned j = 0; j < 8; j++)
            all &= has(levels[i].features[j]);
        *word_of(levels[i].number) |= (unsigned)all << levels[i].number % 32;
    }
    __cpu_model.vendor = name[EBX] == signature_INTEL_ebx ? INTEL : name[EBX] == signature_AMD_ebx ? AMD : OTHER;
    return 0;
}
