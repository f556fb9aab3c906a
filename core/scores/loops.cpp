#include "scores/loops.hpp"

namespace fedbn::loops {

// Every loop is written once, and compiled for each of these kinds of processor; which one is run
// is decided when it is first called. Compilers without `target` know the last one alone.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(FEDBN_ONE_VERSION)
#define FEDBN_ALWAYS_INLINE [[gnu::always_inline]] inline
#define FEDBN_VERSIONS(result, name, parameters, arguments)                                        \
    [[gnu::target("avx512f,avx512bw,avx512vl,avx512vpopcntdq,bmi,bmi2")]] static result            \
        name##_avx512 parameters { return body::name arguments; }                                  \
    [[gnu::target("avx2,bmi,bmi2")]] static result name##_avx2 parameters { return body::name arguments; } \
    static result name##_plain parameters { return body::name arguments; }                         \
    result name parameters {                                                                       \
        static auto* const best = __builtin_cpu_supports("avx512vpopcntdq") &&                     \
                                          __builtin_cpu_supports("avx512bw")                       \
                                      ? name##_avx512                                              \
                                  : __builtin_cpu_supports("avx2") ? name##_avx2                   \
                                                                   : name##_plain;                 \
        return best arguments;                                                                     \
    }
#else
#define FEDBN_ALWAYS_INLINE inline
#define FEDBN_VERSIONS(result, name, parameters, arguments) \
    result name parameters { return body::name arguments; }
#endif

namespace body {

FEDBN_ALWAYS_INLINE int intersect(const Word* left, const Word* right, std::size_t words, Word* out) {
    Word total = 0;
    for (std::size_t w = 0; w < words; ++w) {
        const Word both = left[w] & right[w];
        out[w] = both;
        total += std::popcount(both);
    }
    return static_cast<int>(total);
}

FEDBN_ALWAYS_INLINE int count_common(const Word* left, const Word* right, std::size_t words) {
    Word total = 0;
    for (std::size_t w = 0; w < words; ++w) total += std::popcount(left[w] & right[w]);
    return static_cast<int>(total);
}

FEDBN_ALWAYS_INLINE void append_digit(Counts row_class, const std::uint16_t* codes, int arity) {
    for (std::size_t i = 0; i < row_class.size(); ++i) row_class[i] = row_class[i] * arity + codes[i];
}

FEDBN_ALWAYS_INLINE void renumber(Counts row_class, const std::int32_t* number, const std::uint16_t* codes,
                                  int arity) {
    for (std::size_t i = 0; i < row_class.size(); ++i)
        row_class[i] = number[row_class[i]] * arity + codes[i];
}

}  // namespace body

FEDBN_VERSIONS(int, intersect, (const Word* left, const Word* right, std::size_t words, Word* out),
               (left, right, words, out))
FEDBN_VERSIONS(int, count_common, (const Word* left, const Word* right, std::size_t words), (left, right, words))
FEDBN_VERSIONS(void, append_digit, (Counts row_class, const std::uint16_t* codes, int arity),
               (row_class, codes, arity))
FEDBN_VERSIONS(void, renumber,
               (Counts row_class, const std::int32_t* number, const std::uint16_t* codes, int arity),
               (row_class, number, codes, arity))

}  // namespace fedbn::loops
