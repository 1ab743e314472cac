// Values to bins: the number of edges below a value, or the code of missing values.

template <typename Number>
__device__ void encode_words(const Number* block, i64 row_stride, i64 column_stride, i64 n_rows, int n_filled,
                             const double* edges, int n_edges, const int* depths, int missing, const i64* dest,
                             u32* words, i64 all_rows, int n_columns) {
    int n_words = n_columns >> 2;
    for (i64 at = blockIdx.x * (i64)blockDim.x + threadIdx.x; at < n_rows * n_words; at += (i64)gridDim.x * blockDim.x) {
        i64 row = at / n_words, place = dest[row];
        if (place < 0) continue;
        int word = (int)(at % n_words), panel = word / PANEL;
        u32 code = 0;
        for (int j = 0; j < 4; j++) {
            int column = 4 * word + j;
            if (column >= n_filled) break;
            double x = (double)block[row * row_stride + column * column_stride];
            const double* mine = edges + (i64)column * n_edges;
            int below = 0;
            for (int step = (1 << depths[column]) >> 1; step > 0; step >>= 1)
                if (x > mine[below + step - 1]) below += step;
            code |= (u32)(x == x ? below : missing) << (8 * j);
        }
        words[all_rows * (panel * PANEL) + place * words_of_panel(n_words, panel) + (word - panel * PANEL)] = code;
    }
}

#define ENCODE(name, Number)                                                                                        \
    extern "C" __global__ void name(const Number* block, i64 row_stride, i64 column_stride, i64 n_rows, int n_filled, \
                                    const double* edges, int n_edges, const int* depths, int missing,               \
                                    const i64* dest, u32* words, i64 all_rows, int n_columns) {                     \
        encode_words<Number>(block, row_stride, column_stride, n_rows, n_filled, edges, n_edges, depths, missing,   \
                             dest, words, all_rows, n_columns);                                                     \
    }

ENCODE(encode_float, float)
ENCODE(encode_double, double)
