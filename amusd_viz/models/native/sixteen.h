/* Sixteen floats at a time: one register where there is AVX512, else two. Sums are the same to the bit. */
#include "eight.h"

/* Two bf16 share a word; each is the upper half of a float. */
ALWAYS void load_pairs(const uint16_t *from, __m256 *upper, __m256 *lower) {
    const __m256i both = _mm256_loadu_si256((const __m256i *)from);
    *upper = _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32(0xFFFF0000)));
    *lower = _mm256_castsi256_ps(_mm256_slli_epi32(both, 16));
}

#ifdef __AVX512DQ__

#define TALLEST 8 /* rows of a tile: their sums fill half of the 32 registers, and more gain nothing */

typedef __m512 sixteen;

ALWAYS sixteen zero16(void) { return _mm512_setzero_ps(); }

ALWAYS sixteen floats16(const float *from) { return _mm512_loadu_ps(from); }

ALWAYS sixteen halves16(const uint16_t *from) {
    __m256 first, others;
    load_pairs(from, &first, &others);
    return _mm512_insertf32x8(_mm512_castps256_ps512(first), others, 1);
}

ALWAYS sixteen add16(sixteen a, sixteen b) { return _mm512_add_ps(a, b); }

ALWAYS sixteen add_product16(sixteen w, float x, sixteen sum) {
    return _mm512_fmadd_ps(w, _mm512_set1_ps(x), sum);
}

ALWAYS void store16(float *to, sixteen v) { _mm512_storeu_ps(to, v); }

#else

#define TALLEST 6 /* rows of a tile: their sums fill twelve of the 16 registers */

typedef struct {
    __m256 first, others;
} sixteen;

ALWAYS sixteen zero16(void) { return (sixteen){_mm256_setzero_ps(), _mm256_setzero_ps()}; }

ALWAYS sixteen floats16(const float *from) {
    return (sixteen){_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
}

ALWAYS sixteen halves16(const uint16_t *from) {
    sixteen v;
    load_pairs(from, &v.first, &v.others);
    return v;
}

ALWAYS sixteen add16(sixteen a, sixteen b) {
    return (sixteen){_mm256_add_ps(a.first, b.first), _mm256_add_ps(a.others, b.others)};
}

ALWAYS sixteen add_product16(sixteen w, float x, sixteen sum) {
    const __m256 value = _mm256_set1_ps(x);
    return (sixteen){_mm256_fmadd_ps(w.first, value, sum.first),
                     _mm256_fmadd_ps(w.others, value, sum.others)};
}

ALWAYS void store16(float *to, sixteen v) {
    _mm256_storeu_ps(to, v.first);
    _mm256_storeu_ps(to + 8, v.others);
}

#endif
