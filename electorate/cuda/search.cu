// The best threshold of every column of some nodes, from their histograms: as kernels/search.py, by the same operations.

#define BINS 256
#define MOST_LABELS 8
#define NO_SCORE ((i64)0x8000000000000000ULL)

// The sum over all threads up to this one. warps: eight numbers in shared memory.
__device__ i64 scan(i64 value, i64* warps) {
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int offset = 1; offset < 32; offset <<= 1) {
        i64 other = __shfl_up_sync(EVERY_LANE, value, offset);
        if (lane >= offset) value += other;
    }
    __syncthreads();
    if (lane == 31) warps[warp] = value;
    __syncthreads();
    for (int k = 0; k < warp; k++) value += warps[k];
    return value;
}

// Integers in the order of the doubles.
__device__ i64 key_of(double score) {
    i64 bits = __double_as_longlong(score + 0.0);
    return bits < 0 ? bits ^ 0x7fffffffffffffffLL : bits;
}

__device__ double purity_of_many(int criterion, int labels, const i64* left, const i64* totals) {
    double all_left = 0.0, all_right = 0.0, score_left = 0.0, score_right = 0.0;
    for (int k = 0; k < labels; k++) {
        all_left += (double)left[k];
        all_right += (double)(totals[k] - left[k]);
    }
    if (criterion == electorate::gini) {
        all_left = fmax(all_left, 1.0);
        all_right = fmax(all_right, 1.0);
    }
    for (int k = 0; k < labels; k++) {
        double here = (double)left[k], there = (double)(totals[k] - left[k]);
        if (criterion == electorate::gini) {
            score_left += here * here / all_left;
            score_right += there * there / all_right;
        } else {
            score_left -= sqrt(here * fmax(all_left - here, 0.0));
            score_right -= sqrt(there * fmax(all_right - there, 0.0));
        }
    }
    return score_left + score_right;
}

// The weight that is right if each side votes for its heaviest label, -1 if that is the same one.
__device__ i64 right_of_many(int labels, const i64* left, const i64* totals) {
    i64 most_left = -1, most_right = -1;
    int at_left = 0, at_right = 0;
    for (int k = 0; k < labels; k++) {
        if (left[k] > most_left) most_left = left[k], at_left = k;
        if (totals[k] - left[k] > most_right) most_right = totals[k] - left[k], at_right = k;
    }
    return at_left == at_right ? -1 : most_left + most_right;
}

__device__ i64 score_of(int criterion, int labels, const i64* left, const i64* totals) {
    if (criterion == 0) {
        if (labels > 2) return right_of_many(labels, left, totals);
        return electorate::right_of_two(left[1] - left[0], totals[0], totals[1]);
    }
    if (labels > 2) return key_of(purity_of_many(criterion, labels, left, totals));
    return key_of(electorate::purity_of_two(criterion, (double)left[0], (double)(totals[0] - left[0]), (double)left[1],
                                            (double)(totals[1] - left[1])));
}

// Block (column, node), one thread per cut. found[node][column]: the score, 2 x cut + (missing values go right), and the
// weight of each label on the left; the score is an integer for criterion 0, else a key of a double.
extern "C" __global__ void __launch_bounds__(BINS)
    search(const i64* pool, const i64* slots, int n_columns, int labels, const int* n_bins, const u8* has_missing,
           const u8* ordered, int n_searched, int criterion, i64* found) {
    __shared__ i64 warps[BINS / 32], best_scores[BINS / 32];
    __shared__ int best_places[BINS / 32];
    int column = blockIdx.x, cut = threadIdx.x, bins = n_bins[column];
    const i64* sums = pool + ((slots[blockIdx.y] * labels) * n_columns + column) * BINS;
    i64 left[MOST_LABELS], totals[MOST_LABELS], missing[MOST_LABELS];
    bool moved = false;
#pragma unroll
    for (int k = 0; k < MOST_LABELS; k++) {
        if (k >= labels) continue;
        i64 mine = sums[(i64)k * n_columns * BINS + cut];
        i64 upto = scan(mine, warps);
        __syncthreads();
        if (cut == BINS - 1) warps[0] = upto, warps[1] = mine;
        __syncthreads();
        totals[k] = warps[0];
        missing[k] = warps[1];
        left[k] = upto;
        moved |= mine != 0;
    }
    int cuts = has_missing[column] ? bins : bins - 1;
    i64 score = NO_SCORE;
    int place = 2 * cut + 1;
    if (ordered[column] && cut < cuts && (moved || criterion == 0)) {
        if (has_missing[column] && cut < bins - 1) {
            i64 with[MOST_LABELS];
#pragma unroll
            for (int k = 0; k < MOST_LABELS; k++)
                if (k < labels) with[k] = left[k] + missing[k];
            score = score_of(criterion, labels, with, totals);
            place = 2 * cut;
        }
        i64 other = score_of(criterion, labels, left, totals);
        if (other > score) {
            score = other;
            place = 2 * cut + 1;
        }
    }
    i64 best = score;
    int at = place;
    for (int offset = 16; offset > 0; offset >>= 1) {
        i64 their = __shfl_down_sync(EVERY_LANE, best, offset);
        int where = __shfl_down_sync(EVERY_LANE, at, offset);
        if (their > best || (their == best && where < at)) best = their, at = where;
    }
    if ((cut & 31) == 0) best_scores[cut >> 5] = best, best_places[cut >> 5] = at;
    __syncthreads();
    best = best_scores[0], at = best_places[0];
    for (int k = 1; k < BINS / 32; k++)
        if (best_scores[k] > best || (best_scores[k] == best && best_places[k] < at))
            best = best_scores[k], at = best_places[k];
    i64* out = found + ((i64)blockIdx.y * n_searched + column) * (2 + labels);
    if (cut == 0) out[0] = best, out[1] = at;
    if (cut == at >> 1) {
#pragma unroll
        for (int k = 0; k < MOST_LABELS; k++)
            if (k < labels) out[2 + k] = left[k] + (at & 1 ? 0 : missing[k]);
    }
}

// pool[into[i]] = pool[whole[i]] - pool[part[i]]; a histogram has `cells` numbers. pairs: (whole, part, into).
extern "C" __global__ void subtract(i64* pool, const i64* pairs, i64 cells) {
    const i64* pair = pairs + 3 * blockIdx.y;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < cells; i += (i64)gridDim.x * blockDim.x)
        pool[pair[2] * cells + i] = pool[pair[0] * cells + i] - pool[pair[1] * cells + i];
}
