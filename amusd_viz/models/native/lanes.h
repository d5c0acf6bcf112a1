/* A register of floats: sixteen of them where there is AVX512, else eight. Sums are the same to the
 * bit. */
#include "eight.h"

/* Two bf16 share a word; each is the upper half of a float. */
ALWAYS void load_pairs(const uint16_t *from, __m256 *upper, __m256 *lower) {
    const __m256i both = _mm256_loadu_si256((const __m256i *)from);
    *upper = _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32(0xFFFF0000)));
    *lower = _mm256_castsi256_ps(_mm256_slli_epi32(both, 16));
}

#ifdef __AVX512F__

#define LANES 16
#define TALLEST 8 /* rows of a tile: their sums fill 16 of the 32 registers, and more gain nothing */

typedef __m512 lanes;

ALWAYS lanes no_lanes(void) { return _mm512_setzero_ps(); }

ALWAYS lanes load_lanes(const float *from) { return _mm512_loadu_ps(from); }

ALWAYS void load_lane_pairs(const uint16_t *from, lanes *upper, lanes *lower) {
    const __m512i both = _mm512_loadu_si512(from);
    *upper = _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32(0xFFFF0000)));
    *lower = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16));
}

ALWAYS lanes same_lanes(float x) { return _mm512_set1_ps(x); }

ALWAYS lanes add_lanes(lanes a, lanes b) { return _mm512_add_ps(a, b); }

ALWAYS lanes add_product(lanes a, lanes b, lanes sum) { return _mm512_fmadd_ps(a, b, sum); }

ALWAYS void store_lanes(float *to, lanes v) { _mm512_storeu_ps(to, v); }

#else

#define LANES 8
#define TALLEST 6 /* rows of a tile: their sums fill twelve of the 16 registers */

typedef __m256 lanes;

ALWAYS lanes no_lanes(void) { return _mm256_setzero_ps(); }

ALWAYS lanes load_lanes(const float *from) { return _mm256_loadu_ps(from); }

ALWAYS void load_lane_pairs(const uint16_t *from, lanes *upper, lanes *lower) {
    load_pairs(from, upper, lower);
}

ALWAYS lanes same_lanes(float x) { return _mm256_set1_ps(x); }

ALWAYS lanes add_lanes(lanes a, lanes b) { return _mm256_add_ps(a, b); }

ALWAYS lanes add_product(lanes a, lanes b, lanes sum) { return _mm256_fmadd_ps(a, b, sum); }

ALWAYS void store_lanes(float *to, lanes v) { _mm256_storeu_ps(to, v); }

#endif
