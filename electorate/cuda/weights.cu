// A round over all rows: change the state, compute what the booster sums, round it to the grid, and add it up.

#define MOST_CHANNELS 2

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
    const i64 *__restrict__ starts, const i64 *__restrict__ groups, int n_labels, int n_groups,              \
        const double *__restrict__ real, const i64 *__restrict__ times, const i64 *__restrict__ counts, double scale
#define ROWS Rows rows = {starts, groups, n_labels, n_groups, real, times, counts, scale}

// first: the value of the first channel.
__device__ double evaluate(int kind, double s, double first, double a, double b, double c) {
    using namespace electorate;
    switch (kind) {
        case exponential: return value_of<exponential>(s, first, a, b, c);
        case penalised: return value_of<penalised>(s, first, a, b, c);
        case squared: return value_of<squared>(s, first, a, b, c);
        case sigmoid: return value_of<sigmoid>(s, first, a, b, c);
        case soft_plus: return value_of<soft_plus>(s, first, a, b, c);
        default: return value_of<line>(s, first, a, b, c);
    }
}

__device__ __forceinline__ i64 sum_of_warp(i64 part) {
    for (int offset = 16; offset > 0; offset >>= 1) part += __shfl_down_sync(EVERY_LANE, part, offset);
    return part;
}

// Add a sum over all threads of a warp.
__device__ __forceinline__ void add_sum(i64* sum, i64 part) {
    part = sum_of_warp(part);
    if ((threadIdx.x & 31) == 0 && part != 0) atomicAdd((u64*)sum, (u64)part);
}

struct Formula {
    int kind, row;
    double a, b, c;
};

// found: the counts of rows that the ensemble gets wrong, then totals[channel][group]. The outer loop is over labels, so
// that what depends on the label only stays in registers.
extern "C" __global__ void __launch_bounds__(256, 4)
    advance(CODES_ARGUMENTS, ROWS_ARGUMENTS, TREE_ARGUMENTS, const double* __restrict__ gains, int n_leaves,
            const double* __restrict__ formulas, int n_channels, int margin_row, int votes_row, int n_states,
            double* __restrict__ state, i64* __restrict__ grids, i64* __restrict__ found) {
    CODES;
    ROWS;
    TREE;
    i64 n = codes.n_rows, wrong = 0;
    Formula formula[MOST_CHANNELS];
#pragma unroll
    for (int c = 0; c < MOST_CHANNELS; c++)
        if (c < n_channels) {
            const double* mine = formulas + 5 * c;
            formula[c] = {(int)mine[0], (int)mine[1], mine[2], mine[3], mine[4]};
        }
    for (int label = 0; label < rows.n_labels; label++) {
        i64 group = rows.group[label], end = rows.starts[label + 1], totals[MOST_CHANNELS] = {0, 0};
        i64 stride = (i64)gridDim.x * blockDim.x;
        for (i64 row = rows.starts[label] + blockIdx.x * (i64)blockDim.x + threadIdx.x; row < end; row += stride) {
            double margin = state[margin_row * n + row];
            if (n_leaves > 0) {
                int leaf = leaf_of(codes, tree, row);
                for (int s = 0; s < n_states; s++) {
                    double gain = gains[((i64)s * rows.n_labels + label) * n_leaves + leaf];
                    double value = (s == margin_row ? margin : state[s * n + row]) + gain;
                    state[s * n + row] = value;
                    if (s == margin_row) margin = value;
                }
            }
            double first = 0.0;
#pragma unroll
            for (int c = 0; c < MOST_CHANNELS; c++) {
                if (c >= n_channels) continue;
                double s = formula[c].row == margin_row ? margin : state[formula[c].row * n + row];
                double value = evaluate(formula[c].kind, s, first, formula[c].a, formula[c].b, formula[c].c);
                if (c == 0) first = value;
                if (rows.real) value *= rows.real[row];
                i64 q = electorate::on_grid(value * rows.scale);
                if (rows.times) q *= rows.times[row];
                grids[c * n + row] = q;
                totals[c] += q;
            }
            if (n_channels == 0) continue;
            bool missed = margin < 0.0 || (group > 0 && margin == 0.0);
            if (votes_row > 0) {
                int best = votes_row;
                for (int k = votes_row + 1; k < n_states; k++)
                    if (state[k * n + row] > state[best * n + row]) best = k;
                missed = best - votes_row != group;
            }
            if (missed) wrong += rows.counts ? rows.counts[row] : 1;
        }
#pragma unroll
        for (int c = 0; c < MOST_CHANNELS; c++)
            if (c < n_channels) add_sum(&found[1 + c * rows.n_groups + group], totals[c]);
    }
    add_sum(found, wrong);
}
