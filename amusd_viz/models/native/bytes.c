/* A speculator's output layer with weights of 8 bits: most of a head's time is reading it.
 *
 * A packed matrix is (out / 4, in / 16, 4, 16) bytes, so that four rows are one stream; every row has a
 * scale. `out` is a multiple of 4 and `in` of 16, up to 3,000. */
#include <math.h>
#include <stdint.h>

#include "eight.h"

enum { TOGETHER = 4 };

double likeliest(const float *scores, int n, int most, int32_t *best);

/* The largest whole number of an input: the sum of 3,000 products with 127 is still below 2^31. */
#define LARGEST 5000

/* Rounds x to whole numbers; returns what one of them stands for. */
static float in_whole_numbers(const float *x, int in, int16_t *whole) {
    float most = 0;
    for (int i = 0; i < in; i++) most = fmaxf(most, fabsf(x[i]));
    const float to_whole = most > 0 ? LARGEST / most : 0;
    for (int i = 0; i < in; i++) whole[i] = (int16_t)lrintf(x[i] * to_whole);
    return most / LARGEST;
}

/* Adds the products of sixteen weights and inputs. */
ALWAYS __m256i add_products(__m256i sum, const int8_t *weights, __m256i x) {
    const __m256i w = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)weights));
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
    return _mm256_dpwssd_epi32(sum, w, x);
#else
    return _mm256_add_epi32(sum, _mm256_madd_epi16(w, x));
#endif
}

/* y (rows, out) = x (rows, in) times the transpose of the packed matrix; whole (in): room. */
void multiply_bytes(const int8_t *packed, const float *scales, int out, int in, int rows,
                    const float *x, float *y, int16_t *whole) {
    for (int r = 0; r < rows; r++, x += in, y += out) {
        const float scale = in_whole_numbers(x, in, whole);
        const int8_t *weights = packed;
        for (int o = 0; o < out; o += TOGETHER) {
            __m256i sum[TOGETHER];
            for (int j = 0; j < TOGETHER; j++) sum[j] = _mm256_setzero_si256();
            for (int i = 0; i < in; i += 16) {
                const __m256i columns = _mm256_loadu_si256((const __m256i *)(whole + i));
                for (int j = 0; j < TOGETHER; j++, weights += 16)
                    sum[j] = add_products(sum[j], weights, columns);
            }
            const __m256i all = _mm256_hadd_epi32(_mm256_hadd_epi32(sum[0], sum[1]),
                                                  _mm256_hadd_epi32(sum[2], sum[3]));
            const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(all),
                                               _mm256_extracti128_si256(all, 1));
            _mm_storeu_ps(y + o, _mm_mul_ps(_mm_cvtepi32_ps(four),
                                            _mm_mul_ps(_mm_set1_ps(scale), _mm_loadu_ps(scales + o))));
        }
    }
}

/* The columns of the `most` best words after a state, best first, and their probabilities; logits and
 * whole are room. */
void best_words(const int8_t *head, const float *scales, int in, int words, const float *state,
                int most, float *logits, int16_t *whole, int32_t *best, float *probabilities) {
    const int out = (words + TOGETHER - 1) / TOGETHER * TOGETHER;
    multiply_bytes(head, scales, out, in, 1, state, logits, whole);
    const double total = likeliest(logits, words, most, best);
    for (int i = 0; i < most; i++)
        probabilities[i] = (float)(expf(logits[best[i]] - logits[best[0]]) / total);
}
