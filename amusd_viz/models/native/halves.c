/* What a speculator's heads compute, for few rows, with matrices of 16-bit floats (bf16).
 *
 * A packed matrix is (out, in / 16, 8) words of 32 bits: the upper half of each is one of the first
 * eight of sixteen columns, the lower half one of the others, so that most of them need no shift. */
#include <math.h>
#include <stdint.h>

#include "eight.h"

ALWAYS __m256 times_sixteen(const uint32_t *words, const float *x, __m256 sum, __m256 *other) {
    const __m256i two = _mm256_loadu_si256((const __m256i *)words);
    const __m256i upper = _mm256_and_si256(two, _mm256_set1_epi32((int)0xffff0000u));
    *other = _mm256_fmadd_ps(_mm256_castsi256_ps(_mm256_slli_epi32(two, 16)),
                             _mm256_loadu_ps(x + 8), *other);
    return _mm256_fmadd_ps(_mm256_castsi256_ps(upper), _mm256_loadu_ps(x), sum);
}

/* y (rows, out) = x (rows, in) times the transpose of the packed (out, in); in: a multiple of 16. */
void multiply_halves(const uint32_t *packed, int out, int in, int rows, const float *x, float *y) {
    for (int o = 0; o < out; o++) {
        const uint32_t *words = packed + (size_t)o * in / 2;
        for (int r = 0; r < rows; r++) {
            const float *row = x + (size_t)r * in;
            __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
            int i = 0;
            for (; i + 32 <= in; i += 32) {
                a = times_sixteen(words + i / 2, row + i, a, &b);
                c = times_sixteen(words + i / 2 + 8, row + i + 16, c, &d);
            }
            if (i < in) a = times_sixteen(words + i / 2, row + i, a, &b);
            y[(size_t)r * out + o] = sum8(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)));
        }
    }
}

/* The next state (width): GELU of the scaled and shifted RMS norm of projection and token. */
void next_state(const uint32_t *projection, int in, int width, const float *state,
                const float *token, float token_weight, const float *gain, const float *shift,
                float epsilon, float *next) {
    multiply_halves(projection, width, in, 1, state, next);
    float squares = 0;
    for (int i = 0; i < width; i++) {
        next[i] += token_weight * token[i];
        squares += next[i] * next[i];
    }
    const float scale = 1 / sqrtf(squares / (float)width + epsilon);
    for (int i = 0; i < width; i++) {
        const float x = next[i] * scale * gain[i] + shift[i];
        next[i] = 0.5f * x * (1 + erff(x * 0.70710678f));
    }
}
