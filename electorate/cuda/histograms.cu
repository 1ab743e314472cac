// Exact sums per column and bin over ranges of rows: 64-bit integers in two halves in shared memory.

struct Orders {  // row numbers of the nodes of a growing tree; buffer -1: all rows in their own order
    u32* first;
    u32* second;
};

#define ORDERS_ARGUMENTS u32 *first_order, u32 *second_order
#define ORDERS Orders orders = {first_order, second_order}

__device__ __forceinline__ u32 row_at(const Orders& orders, i64 buffer, i64 place) {
    return buffer < 0 ? (u32)place : buffer == 0 ? orders.first[place] : orders.second[place];
}

// Add a 64-bit number to a cell: the carry of the lower half goes into the upper one.
__device__ __forceinline__ void add_cell(u32* low, u32* high, int cell, u32 lower, u32 upper) {
    u32 before = atomicAdd(&low[cell], lower);
    upper += (u32)(before + lower) < lower ? 1u : 0u;
    if (upper) atomicAdd(&high[cell], upper);
}

// Columns of a word differ in the bank of equal bins, so that columns of few bins do not wait for each other.
__device__ __forceinline__ int cell_of(int word, int place, u32 code) {
    return word * CELLS_PER_WORD + place * 256 + (int)(code ^ (u32)word);
}

// Add the cells of a block to sums[histogram][column][bin].
__device__ void flush_cells(const u32* lower, const u32* upper, int n_cells, int panel, i64 histogram, int n_columns,
                            u64* sums) {
    for (int cell = threadIdx.x; cell < n_cells; cell += blockDim.x) {
        u64 found = (u64)lower[cell] | (u64)upper[cell] << 32;
        if (found == 0) continue;
        int column = 4 * panel * PANEL + (cell >> 8), bin = (cell & 255) ^ (cell / CELLS_PER_WORD);
        atomicAdd(&sums[((u64)histogram * n_columns + column) * 256 + bin], found);
    }
}

#define AT_ONCE 2
#define STAGED 512  // rows of which numbers and places are in shared memory at a time

struct OwnOrder {  // all rows from `low` on
    const i64* grid;
    i64 low;
    __device__ __forceinline__ i64 place(int row) const { return low + row; }
    __device__ __forceinline__ u64 number(int row) const { return (u64)grid[low + row]; }
};

struct Staged {  // rows of a node: their places and numbers are read once for all words
    const u32* places;
    const u64* numbers;
    __device__ __forceinline__ i64 place(int row) const { return places[row]; }
    __device__ __forceinline__ u64 number(int row) const { return numbers[row]; }
};

// Add `count` rows to the cells of a panel; thread by thread, a word of four columns of a row at a time.
template <typename Rows>
__device__ __forceinline__ void add_rows(const Rows& rows, int count, const u32* words, int n_words, u32* lower,
                                         u32* upper) {
    int row = threadIdx.x / n_words, word = threadIdx.x % n_words;
    int more_rows = blockDim.x / n_words, more_words = blockDim.x % n_words;
    while (row < count) {
        u32 code[AT_ONCE];
        u64 number[AT_ONCE];
        int place[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            place[i] = row < count ? word : -1;
            if (row < count) {
                code[i] = words[rows.place(row) * n_words + word];
                number[i] = rows.number(row);
            }
            row += more_rows;
            word += more_words;
            if (word >= n_words) {
                word -= n_words;
                row++;
            }
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            if (place[i] < 0) continue;
#pragma unroll
            for (int j = 0; j < 4; j++)
                add_cell(lower, upper, cell_of(place[i], j, code[i] >> (8 * j) & 255u), (u32)number[i],
                         (u32)(number[i] >> 32));
        }
    }
}

// sums[histogram][column][bin] += grid. A task (low, high, histogram, buffer) is a range of row numbers; a block sums
// one task over one panel of columns. The rows of `sum_rows` are all rows, in their own order.
#define SUM_ROWS(name)                                                                                              \
    extern "C" __global__ void __launch_bounds__(1024, 2)                                                           \
        name(CODES_ARGUMENTS, ORDERS_ARGUMENTS, const i64* grid, const i64* tasks, u64* sums)
#define BEGIN_SUMS                                                                                                  \
    CODES;                                                                                                          \
    extern __shared__ u32 cells[];                                                                                  \
    const i64* task = tasks + 4 * blockIdx.x;                                                                       \
    i64 low = task[0];                                                                                              \
    int count = (int)(task[1] - low), panel = blockIdx.y;                                                           \
    int n_words = words_of_panel(codes.n_columns >> 2, panel), n_cells = n_words * CELLS_PER_WORD;                  \
    u32 *lower = cells, *upper = cells + n_cells;                                                                   \
    const u32* words = (const u32*)codes.data + codes.n_rows * (panel * PANEL);                                     \
    for (int i = threadIdx.x; i < 2 * n_cells; i += blockDim.x) cells[i] = 0;                                       \
    __syncthreads()
#define END_SUMS                                                                                                    \
    __syncthreads();                                                                                                \
    flush_cells(lower, upper, n_cells, panel, task[2], codes.n_columns, sums)

SUM_ROWS(sum_rows) {
    BEGIN_SUMS;
    add_rows(OwnOrder{grid, low}, count, words, n_words, lower, upper);
    END_SUMS;
}

SUM_ROWS(sum_node_rows) {
    ORDERS;
    __shared__ u64 numbers[STAGED];
    __shared__ u32 places[STAGED];
    BEGIN_SUMS;
    for (int begin = 0; begin < count; begin += STAGED) {
        int here = min(STAGED, count - begin);
        if (threadIdx.x < here) {
            u32 mine = row_at(orders, task[3], low + begin + threadIdx.x);
            places[threadIdx.x] = mine;
            numbers[threadIdx.x] = (u64)grid[mine];
        }
        __syncthreads();
        add_rows(Staged{places, numbers}, here, words, n_words, lower, upper);
        __syncthreads();
    }
    END_SUMS;
}

// The same for wide codes, whose sums do not fit in shared memory.
extern "C" __global__ void sum_wide_rows(CODES_ARGUMENTS, ORDERS_ARGUMENTS, const i64* grid, const i64* tasks,
                                         u64* sums) {
    CODES;
    ORDERS;
    const i64* task = tasks + 4 * blockIdx.x;
    i64 low = task[0], cells = (task[1] - low) * codes.n_columns, histogram = task[2];
    for (i64 at = threadIdx.x; at < cells; at += blockDim.x) {
        i64 row = row_at(orders, task[3], low + at / codes.n_columns);
        int column = (int)(at % codes.n_columns), code = code_of(codes, row, column);
        u64 number = (u64)grid[row];
        if (number) atomicAdd(&sums[((u64)histogram * codes.n_columns + column) * codes.width + code], number);
    }
}
