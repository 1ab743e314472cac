// Hashes of numbers: of rows, and to choose the values of a column that its sketch holds.

#define HASH(name, Number)                                                                                            \
    extern "C" __global__ void name(const Number* block, i64 row_stride, i64 column_stride, i64 n_rows, int n_columns, \
                                    u64* hashes) {                                                                    \
        for (i64 row = blockIdx.x * (i64)blockDim.x + threadIdx.x; row < n_rows; row += (i64)gridDim.x * blockDim.x) { \
            u64 hash = hashes[row];                                                                                   \
            for (int j = 0; j < n_columns; j++)                                                                       \
                hash = electorate::folded(hash, (double)block[row * row_stride + j * column_stride]);                               \
            hashes[row] = hash;                                                                                       \
        }                                                                                                             \
    }

HASH(hash_float, float)
HASH(hash_double, double)

// Copy the numbers of some columns whose hash is at most the limit, with their weights (null: 1 each), in any order.
// found[column]: how many there are, of which `room` are stored, and whether a number of positive weight is missing;
// then whether any is infinite.
#define SELECT(name, Number)                                                                                         \
    extern "C" __global__ void name(const Number* block, i64 row_stride, i64 column_stride, i64 n_rows,              \
                                    const int* columns, int n_columns, const i64* weights, u64 limit, u32 room,      \
                                    double* values, i64* totals, u32* found) {                                       \
        i64 cells = n_rows * n_columns;                                                                              \
        for (i64 at = blockIdx.x * (i64)blockDim.x + threadIdx.x; at < cells; at += (i64)gridDim.x * blockDim.x) {    \
            i64 row = at / n_columns;                                                                                \
            int j = (int)(at % n_columns);                                                                           \
            i64 weight = weights ? weights[row] : 1;                                                                 \
            if (weight == 0) continue;                                                                               \
            double x = (double)block[row * row_stride + columns[j] * column_stride] + 0.0;                           \
            if (x != x) {                                                                                            \
                found[2 * j + 1] = 1;                                                                                \
            } else if (isinf(x)) {                                                                                   \
                found[2 * n_columns] = 1;                                                                            \
            } else if (electorate::mix(x) <= limit) {                                                                            \
                u32 place = atomicAdd(&found[2 * j], 1u);                                                            \
                if (place < room) {                                                                                  \
                    values[(i64)j * room + place] = x;                                                               \
                    totals[(i64)j * room + place] = weight;                                                          \
                }                                                                                                    \
            }                                                                                                        \
        }                                                                                                            \
    }

SELECT(select_float, float)
SELECT(select_double, double)
