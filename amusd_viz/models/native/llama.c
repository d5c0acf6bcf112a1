/* One forward pass of a Llama-shaped model on a CPU with AVX2.
 *
 * Every row of a window is computed by the same operations in the same order, however many rows
 * there are, whatever the number of threads: the logits of a token do not depend, to the last bit,
 * on the window it was verified in. That is what makes speculative decoding exact in any precision,
 * and lets plain decoding run in its fastest shape, one row, with the numbers of a verification.
 *
 * Weights are stored in 32, 16, 8 or 4 bits; all sums are made in 32-bit floats, and activations
 * meet 8- and 4-bit weights as integers of one byte, or two for more exactness, that share a scale
 * in groups of 32.
 *
 * Shapes: rows x width, row-major. The KV cache of a layer holds keys as (kv head, slots / 32, size,
 * 32), so that scores are made for many slots at once, and values as (kv head, slot, size).
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lanes.h"

#define PANEL (2 * LANES) /* outputs whose float weights lie side by side */
#define GROUP 32 /* columns that share a scale */
#define LARGEST (127 * 128) /* of an input's integers */
#define BLOCK 32 /* slots whose keys lie together */
#define SHARED 3 /* queries that share one reading of keys and values */
#define REFINED 64 /* words whose scores are made again with more bits */
#define TILE 4   /* rows that share one reading of low-bit weights */
#define SPREAD 4 /* rows whose spread numbers fit the first caches */

enum kind { F32, BF16, Q8, Q4 };

typedef struct {
    int32_t kind, parts, out, in; /* parts: Q8, Q4: bytes used of each number of the input */
    const void *weights;   /* F32: (out / PANEL, in, PANEL)
                              BF16: (out / PANEL, in, LANES, 2): in the upper half of each word one of
                              the first outputs of the panel, in the lower half one of the others
                              Q8: (out / 8, in / 4, 8, 4)
                              Q4: (out / 8, in / 8, 8, 4), of eight columns the first four low */
    const void *scales;    /* Q8: float (out)
                              Q4: bf16 (out / 8, groups, 8, 2): in the upper half of each word the
                              scale, in the lower half the value of level 0 */
    const float *bias;     /* (out) or NULL */
} matrix;

typedef struct {
    matrix qkv, o, gate_up, down;
    const float *attention_norm, *mlp_norm;
    float *keys, *values;
} layer;

typedef struct {
    int32_t layers, hidden, heads, kv_heads, head_size, inner, slots, threads;
    int32_t state_layer; /* whose normed input is given out as well; -1: of none */
    float epsilon;
    const layer *layer;
    const float *norm;
    matrix head, rough_head; /* rough_head: 4 bits, of a draft; nothing (out = 0) of a target */
    const float *cosines, *sines; /* (positions, head_size) */
} model;

/* The input of a matrix as its kernel reads it. Of 8- and 4-bit weights: integers, where value =
 * (128 high + low) * scale of its group. */
typedef struct {
    int8_t *numbers;     /* (rows, groups, 2, 32): high parts, low parts; spread: (rows, groups, 2, 8,
                            32), each four of them eight times */
    int spread;          /* of few rows: the products need no operations to spread them then */
    float *scale, *sums; /* (rows, groups) */
    float *tiles;        /* of float weights: (in, rows) of one tile after the other */
} quantised;

/* Four numbers of a group, from number `at`, for each of eight outputs. */
ALWAYS __m256i four_bytes(int spread, const int8_t *group, int at) {
    if (spread) return _mm256_load_si256((const __m256i *)(group + 8 * at));
    int32_t four;
    memcpy(&four, group + at, sizeof four);
    return _mm256_set1_epi32(four);
}

/* ---- matrix products ------------------------------------------------------------------------ */

/* How many outputs have a panel of their own. */
int panel_outputs(void) { return PANEL; }

/* The weights of a panel's outputs for one column. */
ALWAYS void load_column(enum kind kind, const void *weights, size_t at, lanes *first,
                        lanes *others) {
    if (kind == BF16) {
        load_lane_pairs((const uint16_t *)weights + at, first, others);
    } else {
        *first = load_lanes((const float *)weights + at);
        *others = load_lanes((const float *)weights + at + LANES);
    }
}

/* How many bytes ahead memory is asked for; 0: the processor does best by itself. As measured: one
 * with AVX2 alone (Zen 1) stops at the end of a page, and there a whole tile ahead is best. One with
 * AVX512 (Zen 4) goes on by itself; where words must be taken apart for many rows as well, a page
 * ahead is best. */
ALWAYS size_t ahead(enum kind kind, int rows, size_t tile) {
    if (LANES == 8) return tile;
    return kind == BF16 && rows > 3 ? 4096 : 0;
}

/* `rows` x (`panels` x PANEL) outputs; both are constants where this is inlined.
 *
 * x  (in, rows): what one column of the weights meets lies side by side, and all of x is one stream */
ALWAYS void float_tile(enum kind kind, int rows, int panels, const matrix *m, int panel,
                       const float *x, float *y) {
    lanes sum[TALLEST][2];
    const size_t in = m->in, size = in * PANEL, first = panel * size, bytes = kind == F32 ? 4 : 2;
    const size_t further = ahead(kind, rows, panels * size * bytes);
    for (int i = 0; i < rows * panels; i++) sum[i][0] = sum[i][1] = no_lanes();
    for (size_t k = 0; k < in; k++)
        for (int p = 0; p < panels; p++) {
            const size_t at = first + p * size + k * PANEL;
            lanes w[2];
            if (further)
                _mm_prefetch((const char *)m->weights + at * bytes + further, _MM_HINT_T0);
            load_column(kind, m->weights, at, w, w + 1);
            for (int r = 0; r < rows; r++) {
                const lanes one = same_lanes(x[k * rows + r]);
                lanes *of = sum[r * panels + p];
                of[0] = add_product(w[0], one, of[0]);
                of[1] = add_product(w[1], one, of[1]);
            }
        }
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < 2 * panels; i++) {
            const int at = panel * PANEL + i * LANES;
            lanes v = sum[r * panels + i / 2][i % 2];
            if (m->bias) v = add_lanes(v, load_lanes(m->bias + at));
            store_lanes(y + (size_t)r * m->out + at, v);
        }
}

/* How many of the `left` rows the next tile has; a small rest would cost a reading of its own. */
static int height(int left) {
    if (left <= TALLEST) return left;
    return left < 2 * TALLEST ? (left + 1) / 2 : TALLEST;
}

/* Lays x (rows, in) out as tiles read it. */
static void side_by_side(const float *x, int rows, int in, float *to) {
    for (int r = 0, tall; r < rows; r += tall) {
        tall = height(rows - r);
        for (int i = 0; i < tall; i++)
            for (int k = 0; k < in; k++)
                to[(size_t)r * in + k * tall + i] = x[(size_t)(r + i) * in + k];
    }
}

ALWAYS void float_rows(enum kind kind, const matrix *m, int panel, int rows, const float *x,
                       float *y) {
    for (int r = 0, tall; r < rows; r += tall) {
        const float *from = x + (size_t)r * m->in;
        float *to = y + (size_t)r * m->out;
        tall = height(rows - r);
        switch (tall) { /* constants for the compiler */
        case 1: float_tile(kind, 1, 1, m, panel, from, to); break;
        case 2: float_tile(kind, 2, 1, m, panel, from, to); break;
        case 3: float_tile(kind, 3, 1, m, panel, from, to); break;
        case 4: float_tile(kind, 4, 1, m, panel, from, to); break;
        case 5: float_tile(kind, 5, 1, m, panel, from, to); break;
        case 6: float_tile(kind, 6, 1, m, panel, from, to); break;
#if TALLEST > 6
        case 7: float_tile(kind, 7, 1, m, panel, from, to); break;
        case 8: float_tile(kind, 8, 1, m, panel, from, to); break;
#endif
        }
    }
}

ALWAYS void float_panels(enum kind kind, const matrix *m, int first, int last, int rows,
                         const float *x, float *y) {
    int i = first;
#if LANES == 8 /* elsewhere a second stream of weights only costs */
    if (rows == 1)
        for (; i + 2 <= last; i += 2) float_tile(kind, 1, 2, m, i, x, y);
    if (rows == 2)
        for (; i + 2 <= last; i += 2) float_tile(kind, 2, 2, m, i, x, y);
#endif
    for (; i < last; i++) float_rows(kind, m, i, rows, x, y);
}

ALWAYS __m256i with_parts(int parts, __m256i high, __m256i low) {
    if (parts == 1) return _mm256_madd_epi16(high, _mm256_set1_epi16(128));
    return _mm256_add_epi32(_mm256_madd_epi16(high, _mm256_set1_epi16(128)),
                            _mm256_madd_epi16(low, _mm256_set1_epi16(1)));
}

/* Sums of products of a group's levels, 0..15, with the input, for eight outputs. */
ALWAYS __m256i group_q4(int parts, int spread, const __m256i levels[8], const int8_t *x) {
    __m256i high = _mm256_setzero_si256(), low = high; /* 8 x 2 x 15 x 127 still fits 16 bits */
    for (int i = 0; i < 8; i++) {
        const __m256i h = four_bytes(spread, x, 4 * i);
        high = _mm256_add_epi16(high, _mm256_maddubs_epi16(levels[i], h));
        if (parts == 1) continue;
        const __m256i l = four_bytes(spread, x, GROUP + 4 * i);
        low = _mm256_add_epi16(low, _mm256_maddubs_epi16(levels[i], l));
    }
    return with_parts(parts, high, low);
}

/* The same for weights of -127..127; their products must be widened one by one. */
ALWAYS __m256i group_q8(int parts, int spread, const __m256i weights[8], const int8_t *x) {
    __m256i sum = _mm256_setzero_si256();
    for (int i = 0; i < 8; i++) {
        const __m256i w = weights[i], size = _mm256_abs_epi8(w);
        const __m256i high = _mm256_sign_epi8(four_bytes(spread, x, 4 * i), w);
        const __m256i low =
            parts == 2 ? _mm256_sign_epi8(four_bytes(spread, x, GROUP + 4 * i), w) : w;
        sum = _mm256_add_epi32(sum, with_parts(parts, _mm256_maddubs_epi16(size, high),
                                               _mm256_maddubs_epi16(size, low)));
    }
    return sum;
}

/* `rows` x 8 outputs of a matrix in 8 or 4 bits, from output 8 * `block`. */
ALWAYS void low_bit_tile(enum kind kind, int parts, int spread, int rows, const matrix *m,
                         int block, const quantised *x, int first, float *y) {
    const size_t in = m->in, groups = in / GROUP;
    __m256 sum[TILE];
    for (int r = 0; r < rows; r++) sum[r] = _mm256_setzero_ps();
    for (size_t g = 0; g < groups; g++) {
        const size_t at = block * groups + g;
        const char *from = (const char *)m->weights + at * (kind == Q4 ? 128 : 256);
        __m256i weights[8];
        __m256 scale, least;
        _mm_prefetch(from + 2048, _MM_HINT_T0);
        _mm_prefetch(from + 2112, _MM_HINT_T0);
        if (kind == Q4) {
            const __m256i low = _mm256_set1_epi8(15);
            for (int i = 0; i < 4; i++) {
                const __m256i bytes = _mm256_loadu_si256((const __m256i *)(from + 32 * i));
                weights[2 * i] = _mm256_and_si256(bytes, low);
                weights[2 * i + 1] = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low);
            }
            load_pairs((const uint16_t *)m->scales + at * 16, &scale, &least);
        } else {
            _mm_prefetch(from + 2176, _MM_HINT_T0);
            _mm_prefetch(from + 2240, _MM_HINT_T0);
            for (int i = 0; i < 8; i++)
                weights[i] = _mm256_loadu_si256((const __m256i *)(from + 32 * i));
        }
        for (int r = 0; r < rows; r++) {
            const size_t of = (first + r) * groups + g;
            const int8_t *numbers = x->numbers + of * 2 * GROUP * (spread ? 8 : 1);
            const __m256i s = kind == Q4 ? group_q4(parts, spread, weights, numbers)
                                         : group_q8(parts, spread, weights, numbers);
            __m256 factor = _mm256_broadcast_ss(x->scale + of);
            if (kind == Q4) {
                factor = _mm256_mul_ps(factor, scale);
                sum[r] = _mm256_fmadd_ps(least, _mm256_broadcast_ss(x->sums + of), sum[r]);
            }
            sum[r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(s), factor, sum[r]);
        }
    }
    for (int r = 0; r < rows; r++) {
        __m256 v = sum[r];
        if (kind == Q8)
            v = _mm256_mul_ps(v, _mm256_loadu_ps((const float *)m->scales + 8 * block));
        if (m->bias) v = _mm256_add_ps(v, _mm256_loadu_ps(m->bias + 8 * block));
        _mm256_storeu_ps(y + (size_t)r * m->out + 8 * block, v);
    }
}

ALWAYS void low_bit_rows(enum kind kind, int parts, int spread, const matrix *m, int block, int rows,
                         const quantised *x, float *y) {
    int r = 0;
    for (; r + TILE <= rows; r += TILE)
        low_bit_tile(kind, parts, spread, TILE, m, block, x, r, y + (size_t)r * m->out);
    for (; r + 2 <= rows; r += 2)
        low_bit_tile(kind, parts, spread, 2, m, block, x, r, y + (size_t)r * m->out);
    if (r < rows) low_bit_tile(kind, parts, spread, 1, m, block, x, r, y + (size_t)r * m->out);
}

ALWAYS void low_bit_blocks(enum kind kind, int parts, const matrix *m, int first, int last,
                           int rows, const quantised *x, float *y) {
    if (x->spread)
        for (int i = first; i < last; i++) low_bit_rows(kind, parts, 1, m, i, rows, x, y);
    else
        for (int i = first; i < last; i++) low_bit_rows(kind, parts, 0, m, i, rows, x, y);
}

/* The 32 floats of a group as integers up to 127 * 128. */
ALWAYS void quantise_group(const float *from, int8_t *to, float *scale, float *sum) {
    __m256 v[4], most = _mm256_setzero_ps(), total = _mm256_setzero_ps();
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_loadu_ps(from + 8 * i);
        most = _mm256_max_ps(most, _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v[i]));
        total = _mm256_add_ps(total, v[i]);
    }
    const float largest = most8(most);
    const __m256 inverse = _mm256_set1_ps(largest > 0 ? LARGEST / largest : 0);
    __m128i high[4], low[4];
    for (int i = 0; i < 4; i++) {
        const __m256i n = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], inverse));
        const __m256i h = _mm256_srai_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(64)), 7);
        const __m256i l = _mm256_sub_epi32(n, _mm256_slli_epi32(h, 7));
        high[i] = _mm_packs_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
        low[i] = _mm_packs_epi32(_mm256_castsi256_si128(l), _mm256_extracti128_si256(l, 1));
    }
    __m128i *parts = (__m128i *)to;
    _mm_storeu_si128(parts, _mm_packs_epi16(high[0], high[1]));
    _mm_storeu_si128(parts + 1, _mm_packs_epi16(high[2], high[3]));
    _mm_storeu_si128(parts + 2, _mm_packs_epi16(low[0], low[1]));
    _mm_storeu_si128(parts + 3, _mm_packs_epi16(low[2], low[3]));
    *scale = largest / LARGEST;
    *sum = sum8(total);
}

static void spread_group(const int8_t *group, int8_t *to) {
    for (int at = 0; at < 2 * GROUP; at += 4)
        _mm256_store_si256((__m256i *)(to + 8 * at), four_bytes(0, group, at));
}

static void quantise(const float *x, int rows, int in, quantised *q) {
    q->spread = rows <= SPREAD;
    for (size_t g = 0; g < (size_t)rows * in / GROUP; g++) {
        int8_t group[2 * GROUP];
        int8_t *to = q->spread ? group : q->numbers + g * 2 * GROUP;
        quantise_group(x + g * GROUP, to, q->scale + g, q->sums + g);
        if (q->spread) spread_group(group, q->numbers + g * 2 * GROUP * 8);
    }
}

/* Outputs first..last of a product, in panels or blocks. The compiler makes a loop of its own of each
 * kind, which it cannot do across the border of a parallel region. */
static void some_outputs(const matrix *m, int first, int last, int rows, const float *x,
                         const quantised *q, float *y) {
    switch (2 * m->kind + (m->kind >= Q8 && m->parts == 2)) {
    case 2 * F32: float_panels(F32, m, first, last, rows, x, y); return;
    case 2 * BF16: float_panels(BF16, m, first, last, rows, x, y); return;
    case 2 * Q8: low_bit_blocks(Q8, 1, m, first, last, rows, q, y); return;
    case 2 * Q8 + 1: low_bit_blocks(Q8, 2, m, first, last, rows, q, y); return;
    case 2 * Q4: low_bit_blocks(Q4, 1, m, first, last, rows, q, y); return;
    case 2 * Q4 + 1: low_bit_blocks(Q4, 2, m, first, last, rows, q, y);
    }
}

/* y = x times the transposed matrix: (rows, in) -> (rows, out). */
static void multiply(const matrix *m, int rows, const float *x, float *y, quantised *q,
                     int threads) {
    const int all = m->out / (m->kind >= Q8 ? 8 : PANEL);
    if (m->kind >= Q8) {
        quantise(x, rows, m->in, q);
    } else if (rows > 1) {
        side_by_side(x, rows, m->in, q->tiles);
        x = q->tiles;
    }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int t = 0; t < threads; t++)
        some_outputs(m, all * t / threads, all * (t + 1) / threads, rows, x, q, y);
}

/* ---- between the products ------------------------------------------------------------------- */

static void rms_norm(const float *x, const float *weight, int width, float epsilon, float *y) {
    __m256 squares = _mm256_setzero_ps();
    for (int i = 0; i < width; i += 8) {
        const __m256 v = _mm256_loadu_ps(x + i);
        squares = _mm256_fmadd_ps(v, v, squares);
    }
    const __m256 scale = _mm256_set1_ps(1 / sqrtf(sum8(squares) / width + epsilon));
    for (int i = 0; i < width; i += 8)
        _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_loadu_ps(weight + i),
                                              _mm256_mul_ps(_mm256_loadu_ps(x + i), scale)));
}

/* gate_up is (rows, 2 inner), gates first; the product goes to (rows, inner). */
static void gated(const float *gate_up, int rows, int inner, float *y) {
    const __m256 one = _mm256_set1_ps(1);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < inner; i += 8) {
            const float *gate = gate_up + (size_t)r * 2 * inner + i;
            const __m256 g = _mm256_loadu_ps(gate), up = _mm256_loadu_ps(gate + inner);
            const __m256 e = exp8(_mm256_sub_ps(_mm256_setzero_ps(), g));
            const __m256 silu = _mm256_div_ps(g, _mm256_add_ps(one, e));
            _mm256_storeu_ps(y + (size_t)r * inner + i, _mm256_mul_ps(silu, up));
        }
}

static void rotate(float *head, const float *cosines, const float *sines, int size) {
    const int half = size / 2;
    for (int i = 0; i < half; i++) {
        const float a = head[i], b = head[i + half];
        head[i] = a * cosines[i] - b * sines[i];
        head[i + half] = b * cosines[i + half] + a * sines[i + half];
    }
}

/* The first number of a slot's key; the others follow at distances of a block. */
ALWAYS float *key_of(const model *m, const layer *l, int kv_head, int slot) {
    const size_t block = (size_t)kv_head * (m->slots / BLOCK) + slot / BLOCK;
    return l->keys + block * m->head_size * BLOCK + slot % BLOCK;
}

/* Turns the rows' queries and keys to their positions and puts keys and values into the cache. */
static void enter(const model *m, const layer *l, float *qkv, int rows, const int32_t *positions,
                  int past) {
    const int size = m->head_size, width = l->qkv.out;
    for (int r = 0; r < rows; r++) {
        float *row = qkv + (size_t)r * width;
        const float *c = m->cosines + (size_t)positions[r] * size;
        const float *s = m->sines + (size_t)positions[r] * size;
        for (int h = 0; h < m->heads + m->kv_heads; h++) rotate(row + h * size, c, s, size);
        const float *keys = row + m->heads * size, *values = keys + m->kv_heads * size;
        for (int h = 0; h < m->kv_heads; h++) {
            float *column = key_of(m, l, h, past + r);
            for (int d = 0; d < size; d++) column[d * BLOCK] = keys[h * size + d];
            memcpy(l->values + ((size_t)h * m->slots + past + r) * size, values + h * size,
                   size * sizeof(float));
        }
    }
}

/* Scores of some queries with slots 0..n of their kv head; n is rounded up to a whole block. Those of
 * query i go to `to` + i * `stride`. */
ALWAYS void score(int queries, const float *query, const float *keys, int size, int n, float *to,
                  int stride) {
    const __m256 scale = _mm256_set1_ps(1 / sqrtf((float)size));
    for (int j = 0; j < n; j += BLOCK, keys += size * BLOCK) {
        __m256 sum[SHARED][4], q[SHARED];
        for (int h = 0; h < queries; h++)
            for (int i = 0; i < 4; i++) sum[h][i] = _mm256_setzero_ps();
        for (int d = 0; d < size; d++) {
            const float *key = keys + d * BLOCK;
            for (int h = 0; h < queries; h++) q[h] = _mm256_broadcast_ss(query + h * size + d);
            for (int i = 0; i < 4; i++) {
                const __m256 k = _mm256_loadu_ps(key + 8 * i);
                for (int h = 0; h < queries; h++) sum[h][i] = _mm256_fmadd_ps(q[h], k, sum[h][i]);
            }
        }
        for (int h = 0; h < queries; h++)
            for (int i = 0; i < 4; i++)
                _mm256_storeu_ps(to + h * stride + j + 8 * i, _mm256_mul_ps(sum[h][i], scale));
    }
}

/* Turns n scores into weights that sum to one; to[n..] up to a multiple of 8 is overwritten. */
static void softmax(float *to, int n) {
    for (int j = n; j % 8; j++) to[j] = -INFINITY;
    __m256 highest = _mm256_loadu_ps(to);
    for (int j = 8; j < n; j += 8) highest = _mm256_max_ps(highest, _mm256_loadu_ps(to + j));
    const float most = most8(highest);
    __m256 total = _mm256_setzero_ps();
    for (int j = 0; j < n; j += 8) {
        __m256 e = exp8(_mm256_sub_ps(_mm256_loadu_ps(to + j), _mm256_set1_ps(most)));
        if (j + 8 > n) {
            float part[8];
            _mm256_storeu_ps(part, e);
            for (int i = n - j; i < 8; i++) part[i] = 0;
            e = _mm256_loadu_ps(part);
        }
        _mm256_storeu_ps(to + j, e);
        total = _mm256_add_ps(total, e);
    }
    const __m256 share = _mm256_set1_ps(1 / sum8(total));
    for (int j = 0; j < n; j += 8)
        _mm256_storeu_ps(to + j, _mm256_mul_ps(_mm256_loadu_ps(to + j), share));
}

/* For some queries, the weighted sum of `eights` x 8 numbers of the values in `path`. */
ALWAYS void mix(int queries, int eights, const float *values, int size, const int32_t *path, int n,
                const float *weights, int stride, float *to) {
    __m256 sum[SHARED][4], w[SHARED];
    for (int h = 0; h < queries; h++)
        for (int i = 0; i < eights; i++) sum[h][i] = _mm256_setzero_ps();
    for (int j = 0; j < n; j++) {
        const float *value = values + (size_t)path[j] * size;
        for (int h = 0; h < queries; h++) w[h] = _mm256_broadcast_ss(weights + h * stride + j);
        for (int i = 0; i < eights; i++) {
            const __m256 v = _mm256_loadu_ps(value + 8 * i);
            for (int h = 0; h < queries; h++) sum[h][i] = _mm256_fmadd_ps(w[h], v, sum[h][i]);
        }
    }
    for (int h = 0; h < queries; h++)
        for (int i = 0; i < eights; i++) _mm256_storeu_ps(to + h * size + 8 * i, sum[h][i]);
}

/* Some queries of one row, which share a kv head, over the slots in `path` (n of them, in order of
 * their positions). */
ALWAYS void attend(int queries, const model *m, const layer *l, const float *query, int kv,
                   const int32_t *path, int n, int slots_used, float *weights, float *to) {
    const int size = m->head_size, stride = m->slots;
    score(queries, query, key_of(m, l, kv, 0), size, slots_used, weights, stride);
    for (int h = 0; h < queries; h++) {
        float *of = weights + (size_t)h * stride;
        if (n < slots_used)
            for (int j = 0; j < n; j++) of[j] = of[path[j]]; /* path[j] >= j */
        softmax(of, n);
    }
    const float *values = l->values + (size_t)kv * m->slots * size;
    int d = 0;
    for (; d + 32 <= size; d += 32)
        mix(queries, 4, values + d, size, path, n, weights, stride, to + d);
    for (; d < size; d += 8) mix(queries, 1, values + d, size, path, n, weights, stride, to + d);
}

/* ---- the pass ------------------------------------------------------------------------------- */

/* The slots each row attends to, in order: everything before the window, then its ancestors. */
static int32_t *paths_of(int rows, const int32_t *parents, int past, int32_t *lengths) {
    const int most = past + rows;
    int32_t *paths = malloc(sizeof(int32_t) * rows * most);
    for (int r = 0; paths && r < rows; r++) {
        int32_t *path = paths + (size_t)r * most;
        const int parent = parents ? parents[r] : r - 1;
        const int before = parent < 0 ? past : lengths[parent];
        if (parent < 0)
            for (int j = 0; j < past; j++) path[j] = j;
        else
            memcpy(path, paths + (size_t)parent * most, sizeof(int32_t) * before);
        path[before] = past + r;
        lengths[r] = before + 1;
    }
    return paths;
}

static void attention(const model *m, const layer *l, const float *qkv, int rows,
                      const int32_t *paths, const int32_t *lengths, int past, float *weights,
                      float *to) {
    const int size = m->head_size, width = l->qkv.out;
    const int of_kv = m->heads / m->kv_heads, units = (of_kv + SHARED - 1) / SHARED;
#pragma omp parallel for num_threads(m->threads) schedule(static) if (m->threads > 1)
    for (int unit = 0; unit < m->kv_heads * units; unit++) {
        const int kv = unit / units, place = unit % units * SHARED, h = kv * of_kv + place;
        float *own = weights + (size_t)h * m->slots;
        for (int r = 0; r < rows; r++) {
            const float *query = qkv + (size_t)r * width + h * size;
            const int32_t *path = paths + (size_t)r * (past + rows);
            const int n = lengths[r], used = past + r + 1;
            float *out = to + ((size_t)r * m->heads + h) * size;
            switch (of_kv - place) { /* constants for the compiler */
            case 1: attend(1, m, l, query, kv, path, n, used, own, out); break;
            case 2: attend(2, m, l, query, kv, path, n, used, own, out); break;
            default: attend(SHARED, m, l, query, kv, path, n, used, own, out);
            }
        }
    }
}

void best_of(const float *scores, int n, int most, int32_t *best);

/* A draft only needs to know its best words well: all are scored with four bits, and those that may
 * be the best again with eight. */
static void refine(const matrix *head, int rows, const quantised *x, float *logits) {
    int32_t best[REFINED];
    for (int r = 0; r < rows; r++) {
        float *row = logits + (size_t)r * head->out;
        best_of(row, head->out, REFINED, best);
        for (int i = 0; i < REFINED; i++)
            if (x->spread)
                low_bit_tile(Q8, 1, 1, 1, head, best[i] / 8, x, r, row);
            else
                low_bit_tile(Q8, 1, 0, 1, head, best[i] / 8, x, r, row);
    }
}

static void give_logits(const model *m, int rows, const float *x, float *logits, quantised *q) {
    if (m->rough_head.out > REFINED) {
        multiply(&m->rough_head, rows, x, logits, q, m->threads);
        refine(&m->head, rows, q, logits);
    } else {
        multiply(&m->head, rows, x, logits, q, m->threads);
    }
}

static void add(float *x, const float *y, size_t n) {
    for (size_t i = 0; i < n; i++) x[i] += y[i];
}

static float *floats(size_t n) { return aligned_alloc(64, (n * sizeof(float) + 63) / 64 * 64); }

/* Feeds `rows` tokens into slots past.. and gives the logits of rows `from`...
 *
 * x          (rows, hidden): the tokens' embeddings; holds the normed last states afterwards
 * positions  (rows): place of each row in its sequence
 * parents    (rows): the row of the window each row follows, -1 for the last token before the
 *            window; NULL for a plain sequence
 * logits     (rows - from, vocabulary)
 * inside     (rows, hidden): the normed input of the state layer
 * Returns 0, or 1 if there was no memory. */
int forward(const model *m, int rows, float *x, const int32_t *positions, const int32_t *parents,
            int past, int from, float *logits, float *inside) {
    const int size = m->head_size, hidden = m->hidden, queries = m->heads * size;
    const size_t qkv_width = m->layer->qkv.out; /* whole panels */
    const int widest = m->inner > hidden ? m->inner : hidden;
    const size_t of_row = (widest > queries ? widest : queries) / GROUP, groups = rows * of_row;
    /* The output layer may read fewer rows than the others, and those spread. */
    const size_t numbers = 2 * GROUP * of_row * (rows > 8 * SPREAD ? rows : 8 * SPREAD);
    float *normed = floats((size_t)rows * hidden), *qkv = floats(rows * qkv_width);
    float *attended = floats((size_t)rows * queries), *added = floats((size_t)rows * hidden);
    float *gate_up = floats((size_t)rows * 2 * m->inner), *inner = floats((size_t)rows * m->inner);
    float *weights = floats((size_t)m->heads * m->slots);
    quantised q = {aligned_alloc(64, numbers), 0, floats(groups), floats(groups),
                   floats(rows * of_row * GROUP)};
    int32_t *lengths = malloc(sizeof(int32_t) * rows);
    int32_t *paths = lengths ? paths_of(rows, parents, past, lengths) : NULL;
    const int failed = !(normed && qkv && attended && added && gate_up && inner && weights &&
                         q.numbers && q.scale && q.sums && q.tiles && paths);
    for (int i = 0; !failed && i < m->layers; i++) {
        const layer *l = m->layer + i;
        for (int r = 0; r < rows; r++)
            rms_norm(x + (size_t)r * hidden, l->attention_norm, hidden, m->epsilon,
                     normed + (size_t)r * hidden);
        if (i == m->state_layer) memcpy(inside, normed, sizeof(float) * rows * hidden);
        multiply(&l->qkv, rows, normed, qkv, &q, m->threads);
        enter(m, l, qkv, rows, positions, past);
        attention(m, l, qkv, rows, paths, lengths, past, weights, attended);
        multiply(&l->o, rows, attended, added, &q, m->threads);
        add(x, added, (size_t)rows * hidden);
        for (int r = 0; r < rows; r++)
            rms_norm(x + (size_t)r * hidden, l->mlp_norm, hidden, m->epsilon,
                     normed + (size_t)r * hidden);
        multiply(&l->gate_up, rows, normed, gate_up, &q, m->threads);
        gated(gate_up, rows, m->inner, inner);
        multiply(&l->down, rows, inner, added, &q, m->threads);
        add(x, added, (size_t)rows * hidden);
    }
    if (!failed) {
        for (int r = 0; r < rows; r++)
            rms_norm(x + (size_t)r * hidden, m->norm, hidden, m->epsilon, x + (size_t)r * hidden);
        give_logits(m, rows - from, x + (size_t)from * hidden, logits, &q);
    }
    free(normed), free(qkv), free(attended), free(added), free(gate_up), free(inner), free(weights);
    free(q.numbers), free(q.scale), free(q.sums), free(q.tiles), free(lengths), free(paths);
    return failed;
}

/* Copies what row `row` of the last window left in the cache to slot `slot`: the winner of a tree
 * of candidates moves to where a plain sequence would have it. */
void move_slot(const model *m, int from, int to) {
    const int size = m->head_size;
    for (int i = 0; i < m->layers; i++)
        for (int h = 0; h < m->kv_heads; h++) {
            const float *key = key_of(m, m->layer + i, h, from);
            float *new_key = key_of(m, m->layer + i, h, to);
            float *values = m->layer[i].values + (size_t)h * m->slots * size;
            for (int d = 0; d < size; d++) new_key[d * BLOCK] = key[d * BLOCK];
            memcpy(values + (size_t)to * size, values + (size_t)from * size, size * sizeof(float));
        }
}
