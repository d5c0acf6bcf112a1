/* What is recorded of a choice: the best few scores of a row, and the sum that makes them chances. */
#include <math.h>
#include <stdint.h>

#include "eight.h"

enum { BLOCK = 1024, BEST = 5 };

/* Probabilities to five digits: of the token taken, and of the best ids, in order. */
typedef struct {
    double taken, probabilities[BEST];
    int32_t ids[BEST], known;
} chances;

/* exp(x) for x <= 0 within four millionths of itself; what is recorded has five digits. */
ALWAYS __m256 about_exp8(__m256 x) {
    x = _mm256_mul_ps(_mm256_max_ps(x, _mm256_set1_ps(-87.0f)), _mm256_set1_ps(1.44269504f));
    const __m256 whole = _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    x = _mm256_sub_ps(x, whole);
    __m256 p = _mm256_set1_ps(9.6004e-3f);
    p = _mm256_fmadd_ps(p, x, _mm256_set1_ps(5.591689e-2f));
    p = _mm256_fmadd_ps(p, x, _mm256_set1_ps(2.4023718e-1f));
    p = _mm256_fmadd_ps(p, x, _mm256_set1_ps(6.9312199e-1f));
    p = _mm256_fmadd_ps(p, x, _mm256_set1_ps(1.0f));
    return _mm256_castsi256_ps(_mm256_add_epi32(
        _mm256_castps_si256(p), _mm256_slli_epi32(_mm256_cvtps_epi32(whole), 23)));
}

/* Whether one of 32 scores is above the limit. */
ALWAYS int any_above(const float *scores, float limit) {
    const __m256 a = _mm256_max_ps(_mm256_loadu_ps(scores), _mm256_loadu_ps(scores + 8));
    const __m256 b = _mm256_max_ps(_mm256_loadu_ps(scores + 16), _mm256_loadu_ps(scores + 24));
    return _mm256_movemask_ps(
        _mm256_cmp_ps(_mm256_max_ps(a, b), _mm256_set1_ps(limit), _CMP_GT_OQ));
}

/* Puts the ids of the `most` best of `n` scores into `best`, in order; of equal ones the first.
 * Scores may be -infinity, and n any number >= most. */
void best_of(const float *scores, int n, int most, int32_t *best) {
    int found = 0;
    for (int i = 0; i < n; i++) {
        if (found == most) {
            /* Nearly all are below the last of the best. */
            const float last = scores[best[most - 1]];
            while (i + 32 <= n && !any_above(scores + i, last)) i += 32;
            if (i >= n) break;
            if (!(scores[i] > scores[best[most - 1]])) continue;
        }
        int place = found < most ? found++ : most - 1;
        for (; place > 0 && scores[i] > scores[best[place - 1]]; place--) best[place] = best[place - 1];
        best[place] = i;
    }
}

/* The sum of exp(score - highest) over `n` scores, none of which is above the highest. */
static double sum_of_chances(const float *scores, int n, float most) {
    const __m256 highest = _mm256_set1_ps(most);
    double total = 0;
    int i = 0;
    while (i + 8 <= n) {
        /* Few enough are added in 32 bits that rounding does not matter. */
        __m256 a = _mm256_setzero_ps(), b = a;
        const int stop = n - i > BLOCK ? i + BLOCK : n;
        for (; i + 16 <= stop; i += 16) {
            a = _mm256_add_ps(a, about_exp8(_mm256_sub_ps(_mm256_loadu_ps(scores + i), highest)));
            b = _mm256_add_ps(b, about_exp8(_mm256_sub_ps(_mm256_loadu_ps(scores + i + 8), highest)));
        }
        if (i + 8 <= stop) {
            a = _mm256_add_ps(a, about_exp8(_mm256_sub_ps(_mm256_loadu_ps(scores + i), highest)));
            i += 8;
        }
        total += sum8(_mm256_add_ps(a, b));
    }
    for (; i < n; i++) total += expf(scores[i] - most);
    return total;
}

/* The same as best_of; returns the sum of exp(score - best score). */
double likeliest(const float *scores, int n, int most, int32_t *best) {
    best_of(scores, n, most, best);
    return sum_of_chances(scores, n, scores[best[0]]);
}

/* What is recorded of taking `token`. */
void chances_of(const float *scores, int n, int token, chances *found) {
    found->known = n < BEST ? n : BEST;
    const double total = likeliest(scores, n, found->known, found->ids);
    const float highest = scores[found->ids[0]];
#define SHARE(id) (nearbyint(1e5 * (double)expf(scores[id] - highest) / total) / 1e5)
    for (int i = 0; i < found->known; i++) found->probabilities[i] = SHARE(found->ids[i]);
    found->taken = SHARE(token);
#undef SHARE
}
