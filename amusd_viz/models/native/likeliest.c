/* What is recorded of a choice: the best few scores of a row, and the sum that makes them chances. */
#include <math.h>
#include <stdint.h>

#include "eight.h"

/* Puts the ids of the `most` best of `n` scores into `best`, in order; of equal ones the first.
 * Returns the sum of exp(score - best score). Scores may be -infinity, and n any number >= most. */
double likeliest(const float *scores, int n, int most, int32_t *best) {
    int found = 0;
    for (int i = 0; i < n; i++) {
        if (found == most) {
            /* Nearly every eight are below the last of the best. */
            const __m256 last = _mm256_set1_ps(scores[best[most - 1]]);
            while (i + 8 <= n && !_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(scores + i),
                                                                   last, _CMP_GT_OQ)))
                i += 8;
            if (i >= n) break;
            if (!(scores[i] > scores[best[most - 1]])) continue;
        }
        int place = found < most ? found++ : most - 1;
        for (; place > 0 && scores[i] > scores[best[place - 1]]; place--) best[place] = best[place - 1];
        best[place] = i;
    }
    const __m256 highest = _mm256_set1_ps(scores[best[0]]);
    double total = 0;
    int i = 0;
    for (; i + 8 <= n; i += 8)
        total += sum8(exp8(_mm256_sub_ps(_mm256_loadu_ps(scores + i), highest)));
    for (; i < n; i++) total += expf(scores[i] - scores[best[0]]);
    return total;
}
