// A round over all rows: change the state, compute what the booster sums, round it to the grid, and add it up.

#define MOST_CHANNELS 4

struct Rows {  // as RowArrays of kernels/layouts.py; null: every row counts once
    const i64* starts;
    const i64* group;
    int n_labels;
    int n_groups;
    const double* real;
    const i64* times;
    const i64* counts;
    double scale;
};

#define ROWS_ARGUMENTS                                                                                       \
    const i64 *starts, const i64 *groups, int n_labels, int n_groups, const double *real, const i64 *times, \
        const i64 *counts, double scale
#define ROWS Rows rows = {starts, groups, n_labels, n_groups, real, times, counts, scale}

__device__ double softplus(double v) {
    double x = own_exp(-fabs(v));
    double u = 1.0 + x;
    return fmax(v, 0.0) + (own_log(u) - ((u - 1.0) - x) / u);
}

// As kernels/weights.py. first: the value of the first channel.
__device__ double evaluate(int kind, double s, double first, double a, double b, double c) {
    if (kind == 0) return own_exp(a - s);
    if (kind == 1) {
        double e = own_exp(fmin(-s - a, 340.0));
        return e * (b * e + (1.0 - b)) * c;
    }
    if (kind == 2) {
        double e = fmin(first, 1e150);
        return e * e * a;
    }
    if (kind == 3) {
        double v = b - s;
        return own_exp(fmin(fmin(v, 0.0) + a, 700.0)) / (1.0 + own_exp(-fabs(v)));
    }
    if (kind == 4) return a * softplus(b - s);
    return a + b * s;
}

__device__ bool is_missed(const double* state, i64 n, int n_states, i64 row, int margin_row, int votes_row, i64 group) {
    if (votes_row == 0) {
        double margin = state[margin_row * n + row];
        return margin < 0.0 || (group > 0 && margin == 0.0);
    }
    int best = votes_row;
    for (int k = votes_row + 1; k < n_states; k++)
        if (state[k * n + row] > state[best * n + row]) best = k;
    return best - votes_row != group;
}

__device__ void add_sum(i64* sum, i64 part) {
    if (part != 0) atomicAdd((u64*)sum, (u64)part);
}

__device__ i64 sum_of_warp(i64 part) {
    for (int offset = 16; offset > 0; offset >>= 1) part += __shfl_down_sync(EVERY_LANE, part, offset);
    return part;
}

// found: the counts of rows that the ensemble gets wrong, then totals[channel][group].
extern "C" __global__ void __launch_bounds__(256, 5) advance(CODES_ARGUMENTS, ROWS_ARGUMENTS, TREE_ARGUMENTS, const double* gains, int n_leaves,
                                   const double* formulas, int n_channels, int margin_row, int votes_row, int n_states,
                                   double* state, i64* grids, i64* found) {
    CODES;
    ROWS;
    TREE;
    i64 n = codes.n_rows, wrong = 0, totals[MOST_CHANNELS] = {0, 0, 0, 0};
    int label = 0;
    for (i64 row = blockIdx.x * (i64)blockDim.x + threadIdx.x; row < n; row += (i64)gridDim.x * blockDim.x) {
        i64 before = rows.group[label];
        while (row >= rows.starts[label + 1]) label++;
        i64 group = rows.group[label];
        if (group != before) {
#pragma unroll
            for (int c = 0; c < MOST_CHANNELS; c++) {
                if (c < n_channels) add_sum(&found[1 + c * rows.n_groups + before], totals[c]);
                totals[c] = 0;
            }
        }
        if (n_leaves > 0) {
            int leaf = leaf_of(codes, tree, row);
            for (int s = 0; s < n_states; s++)
                state[s * n + row] += gains[((i64)s * rows.n_labels + label) * n_leaves + leaf];
        }
        double first = 0.0;
#pragma unroll
        for (int c = 0; c < MOST_CHANNELS; c++) {
            if (c >= n_channels) continue;
            const double* formula = formulas + 5 * c;
            double value = evaluate((int)formula[0], state[(i64)formula[1] * n + row], first, formula[2], formula[3],
                                    formula[4]);
            if (c == 0) first = value;
            if (rows.real) value *= rows.real[row];
            i64 q = (i64)rint(value * rows.scale);
            if (rows.times) q *= rows.times[row];
            grids[c * n + row] = q;
            totals[c] += q;
        }
        if (n_channels > 0 && is_missed(state, n, n_states, row, margin_row, votes_row, group))
            wrong += rows.counts ? rows.counts[row] : 1;
    }
    i64 group = rows.group[label];
    bool lead = (threadIdx.x & 31) == 0, same = __all_sync(EVERY_LANE, group == __shfl_sync(EVERY_LANE, group, 0));
#pragma unroll
    for (int c = 0; c < MOST_CHANNELS; c++) {
        if (c >= n_channels) continue;
        i64 part = same ? sum_of_warp(totals[c]) : totals[c];
        if (lead || !same) add_sum(&found[1 + c * rows.n_groups + group], part);
    }
    wrong = sum_of_warp(wrong);
    if (lead) add_sum(found, wrong);
}
