// Hashes of numbers: of rows, and to choose the values of a column that its sketch holds.

// A hash of the bits of a number, as kernels/values.py.
__device__ __forceinline__ u64 mix(double value) {
    u64 z = (u64)__double_as_longlong(value);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

// Fold one more number into a hash of a row.
__device__ u64 fold(u64 hash, double value) {
    value = value + 0.0;
    u64 more = value == value ? mix(value) : 0xD1B54A32D192ED03ULL;
    u64 z = (hash ^ more) * 0x9E3779B97F4A7C15ULL;
    return z ^ (z >> 32);
}

#define HASH(name, Number)                                                                                            \
    extern "C" __global__ void name(const Number* block, i64 row_stride, i64 column_stride, i64 n_rows, int n_columns, \
                                    u64* hashes) {                                                                    \
        for (i64 row = blockIdx.x * (i64)blockDim.x + threadIdx.x; row < n_rows; row += (i64)gridDim.x * blockDim.x) { \
            u64 hash = hashes[row];                                                                                   \
            for (int j = 0; j < n_columns; j++)                                                                       \
                hash = fold(hash, (double)block[row * row_stride + j * column_stride]);                               \
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
            } else if (mix(x) <= limit) {                                                                            \
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
