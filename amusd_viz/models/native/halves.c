/* Few rows times a matrix of 16-bit floats (bf16), as a speculator's heads need it. */
#include <stdint.h>
#include <string.h>

#include "eight.h"

static __m256 eight_halves(const uint16_t *at) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)at)), 16));
}

static float half(uint16_t bits) {
    const uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* y (rows, out) = x (rows, in) times the transpose of weights (out, in). */
void multiply_halves(const uint16_t *weights, int out, int in, int rows, const float *x, float *y) {
    for (int o = 0; o < out; o++) {
        const uint16_t *w = weights + (size_t)o * in;
        for (int r = 0; r < rows; r++) {
            const float *row = x + (size_t)r * in;
            __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
            int i = 0;
            for (; i + 32 <= in; i += 32) {
                a = _mm256_fmadd_ps(eight_halves(w + i), _mm256_loadu_ps(row + i), a);
                b = _mm256_fmadd_ps(eight_halves(w + i + 8), _mm256_loadu_ps(row + i + 8), b);
                c = _mm256_fmadd_ps(eight_halves(w + i + 16), _mm256_loadu_ps(row + i + 16), c);
                d = _mm256_fmadd_ps(eight_halves(w + i + 24), _mm256_loadu_ps(row + i + 24), d);
            }
            float sum = sum8(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)));
            for (; i < in; i++) sum += half(w[i]) * row[i];
            y[(size_t)r * out + o] = sum;
        }
    }
}
