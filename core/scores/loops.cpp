#include "scores/loops.hpp"

#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(FEDBN_ONE_VERSION)
#define FEDBN_SEVERAL_VERSIONS
#include <immintrin.h>
#endif

namespace fedbn::loops {

// Every loop is written once, and compiled for each of these kinds of processor; which one is run
// is decided when the core is loaded. `on_avx2` says what to run on those that have AVX2, but not
// AVX-512's counting of bits: the loop itself, or one that counts bits by tables. Compilers without
// `target` know the loop alone.
#ifdef FEDBN_SEVERAL_VERSIONS
#define FEDBN_ALWAYS_INLINE [[gnu::always_inline]] inline
#define FEDBN_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl,avx512vpopcntdq,bmi,bmi2,popcnt")]]
#define FEDBN_AVX2 [[gnu::target("avx2,bmi,bmi2,popcnt")]]
#define FEDBN_VERSIONS(result, name, on_avx2, parameters, arguments)                        \
    FEDBN_AVX512 static result name##_avx512 parameters { return body::name arguments; }    \
    FEDBN_AVX2 static result name##_avx2 parameters { return body::on_avx2 arguments; }     \
    static result name##_plain parameters { return body::name arguments; }                  \
    static auto* const best_##name = kind_of_processor() == LoopKind::avx512 ? name##_avx512    \
                                     : kind_of_processor() == LoopKind::avx2 ? name##_avx2      \
                                                                         : name##_plain;    \
    result name parameters { return best_##name arguments; }

enum class LoopKind { plain, avx2, avx512 };

static LoopKind kind_of_processor() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2"))
        return LoopKind::avx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") ? LoopKind::avx2 : LoopKind::plain;
}
#else
#define FEDBN_ALWAYS_INLINE inline
#define FEDBN_VERSIONS(result, name, on_avx2, parameters, arguments) \
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

FEDBN_ALWAYS_INLINE int largest(Codes codes) {
    std::uint16_t largest = 0;
    for (const auto code : codes) largest = code > largest ? code : largest;
    return largest;
}

/// In blocks whose counts fit into the width of a code, so that as many are added at a time.
FEDBN_ALWAYS_INLINE int count_state(Codes codes, int state) {
    constexpr std::size_t kBlock = 32768;
    const auto wanted = static_cast<std::uint16_t>(state);
    int total = 0;
    for (std::size_t begin = 0; begin < codes.size(); begin += kBlock) {
        const std::size_t end = begin + kBlock < codes.size() ? begin + kBlock : codes.size();
        std::uint16_t count = 0;
        for (std::size_t i = begin; i < end; ++i) count += codes[i] == wanted;
        total += count;
    }
    return total;
}

/// 64 rows at a time: a byte for each, and of eight bytes their lowest bits by one multiplication.
FEDBN_ALWAYS_INLINE void mark_state(Codes codes, int state, Word* bitmap) {
    const auto wanted = static_cast<std::uint16_t>(state);
    const std::size_t blocks = codes.size() / 64;
    for (std::size_t b = 0; b < blocks; ++b) {
        std::uint8_t is[64];
        for (int i = 0; i < 64; ++i) is[i] = codes[64 * b + i] == wanted;
        Word word = 0;
        for (int k = 0; k < 8; ++k) {
            Word eight = 0;
            for (int i = 0; i < 8; ++i) eight |= Word{is[8 * k + i]} << 8 * i;
            word |= (eight * 0x0102040810204080 >> 56) << 8 * k;
        }
        bitmap[b] = word;
    }
    if (codes.size() % 64 == 0) return;
    bitmap[blocks] = 0;
    for (std::size_t i = 64 * blocks; i < codes.size(); ++i)
        bitmap[blocks] |= Word{codes[i] == wanted} << (i & 63);
}

FEDBN_ALWAYS_INLINE void pack(Codes codes, int shift, Word* packed) {
    for (std::size_t i = 0; i < codes.size(); ++i) packed[i] |= Word{codes[i]} << shift;
}

FEDBN_ALWAYS_INLINE void unpack(const Word* packed, int shift, Word mask, std::span<std::uint16_t> codes) {
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = std::uint16_t(packed[i] >> shift & mask);
}

#ifdef FEDBN_SEVERAL_VERSIONS
// AVX2 has no counting of bits: a table of 16 places counts those of half a byte. Of long bitmaps
// carry-save adders bring eight vectors down to one of eights (Muła, Kurz & Lemire 2018,
// Computer J. 61:111).

using Vector = __m256i;

FEDBN_AVX2 FEDBN_ALWAYS_INLINE Vector bits_of_bytes(Vector v) {
    const Vector table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,  //
                                          0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const Vector half = _mm256_set1_epi8(15);
    const Vector low = _mm256_shuffle_epi8(table, _mm256_and_si256(v, half));
    return _mm256_add_epi8(low, _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(v, 4), half)));
}

FEDBN_AVX2 FEDBN_ALWAYS_INLINE Vector bits_of_words(Vector v) {
    return _mm256_sad_epu8(bits_of_bytes(v), _mm256_setzero_si256());
}

/// sum := its parity with a and b; returns the carry.
FEDBN_AVX2 FEDBN_ALWAYS_INLINE Vector add(Vector& sum, Vector a, Vector b) {
    const Vector differ = _mm256_xor_si256(sum, a);
    const Vector carry = _mm256_or_si256(_mm256_and_si256(sum, a), _mm256_and_si256(differ, b));
    sum = _mm256_xor_si256(differ, b);
    return carry;
}

template <bool Keep>
FEDBN_AVX2 FEDBN_ALWAYS_INLINE Vector common(const Word* left, const Word* right, std::size_t v, Word* out) {
    const auto* const l = reinterpret_cast<const Vector*>(left) + v;
    const auto* const r = reinterpret_cast<const Vector*>(right) + v;
    const Vector both = _mm256_and_si256(_mm256_loadu_si256(l), _mm256_loadu_si256(r));
    if constexpr (Keep) _mm256_storeu_si256(reinterpret_cast<Vector*>(out) + v, both);
    return both;
}

template <bool Keep>
FEDBN_AVX2 FEDBN_ALWAYS_INLINE int count_by_vectors(const Word* left, const Word* right, std::size_t words, Word* out) {
    constexpr std::size_t kLong = 32;  // vectors, for which adders pay
    const std::size_t vectors = words / 4;
    std::size_t v = 0;
    Vector total = _mm256_setzero_si256();
    if (vectors >= kLong) {
        Vector ones = total, twos = total, fours = total;
        for (; v + 8 <= vectors; v += 8) {
            const Vector two_a = add(ones, common<Keep>(left, right, v, out), common<Keep>(left, right, v + 1, out));
            const Vector two_b = add(ones, common<Keep>(left, right, v + 2, out), common<Keep>(left, right, v + 3, out));
            const Vector four_a = add(twos, two_a, two_b);
            const Vector two_c = add(ones, common<Keep>(left, right, v + 4, out), common<Keep>(left, right, v + 5, out));
            const Vector two_d = add(ones, common<Keep>(left, right, v + 6, out), common<Keep>(left, right, v + 7, out));
            const Vector four_b = add(twos, two_c, two_d);
            total = _mm256_add_epi64(total, bits_of_words(add(fours, four_a, four_b)));
        }
        total = _mm256_add_epi64(_mm256_slli_epi64(total, 1), bits_of_words(fours));
        total = _mm256_add_epi64(_mm256_slli_epi64(total, 1), bits_of_words(twos));
        total = _mm256_add_epi64(_mm256_slli_epi64(total, 1), bits_of_words(ones));
    }
    for (; v + 2 <= vectors; v += 2) {
        const Vector a = bits_of_bytes(common<Keep>(left, right, v, out));
        const Vector b = bits_of_bytes(common<Keep>(left, right, v + 1, out));
        total = _mm256_add_epi64(total, _mm256_sad_epu8(_mm256_add_epi8(a, b), _mm256_setzero_si256()));
    }
    const __m128i halves = _mm_add_epi64(_mm256_castsi256_si128(total), _mm256_extracti128_si256(total, 1));
    return static_cast<int>(_mm_cvtsi128_si64(halves) + _mm_extract_epi64(halves, 1));
}

FEDBN_AVX2 FEDBN_ALWAYS_INLINE int intersect_by_vectors(const Word* left, const Word* right, std::size_t words,
                                                        Word* out) {
    return count_by_vectors<true>(left, right, words, out);
}

FEDBN_AVX2 FEDBN_ALWAYS_INLINE int count_by_vectors(const Word* left, const Word* right, std::size_t words) {
    return count_by_vectors<false>(left, right, words, nullptr);
}
#endif

}  // namespace body

FEDBN_VERSIONS(int, intersect, intersect_by_vectors,
               (const Word* left, const Word* right, std::size_t words, Word* out), (left, right, words, out))
FEDBN_VERSIONS(int, count_common, count_by_vectors, (const Word* left, const Word* right, std::size_t words),
               (left, right, words))
FEDBN_VERSIONS(void, append_digit, append_digit, (Counts row_class, const std::uint16_t* codes, int arity),
               (row_class, codes, arity))
FEDBN_VERSIONS(void, renumber, renumber,
               (Counts row_class, const std::int32_t* number, const std::uint16_t* codes, int arity),
               (row_class, number, codes, arity))
FEDBN_VERSIONS(int, largest, largest, (Codes codes), (codes))
FEDBN_VERSIONS(int, count_state, count_state, (Codes codes, int state), (codes, state))
FEDBN_VERSIONS(void, mark_state, mark_state, (Codes codes, int state, Word* bitmap), (codes, state, bitmap))
FEDBN_VERSIONS(void, pack, pack, (Codes codes, int shift, Word* packed), (codes, shift, packed))
FEDBN_VERSIONS(void, unpack, unpack, (const Word* packed, int shift, Word mask, std::span<std::uint16_t> codes),
               (packed, shift, mask, codes))

}  // namespace fedbn::loops
