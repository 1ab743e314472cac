// Predictions for rows of numbers: votes by tables of columns, or of the leaves that rows reach in trees, and medians.

template <typename Number>
struct Block {  // [row][column], of any strides
    const Number* data;
    i64 row_stride;
    i64 column_stride;
    i64 n_rows;
    __device__ __forceinline__ double at(i64 row, int column) const {
        return (double)data[row * row_stride + column * column_stride];
    }
};

#define BLOCK_ARGUMENTS(Number) const Number *__restrict__ block_data, i64 row_stride, i64 column_stride, i64 n_rows
#define BLOCK(Number) Block<Number> block = {block_data, row_stride, column_stride, n_rows}
#define EVERY_ROW \
    for (i64 row = blockIdx.x * (i64)blockDim.x + threadIdx.x; row < n_rows; row += (i64)gridDim.x * blockDim.x)

// How many of n edges are below a value.
__device__ __forceinline__ int count_below(const double* edges, int n, double x) {
    int low = 0;
    while (n > 0) {
        int half = n >> 1;
        if (x > edges[low + half]) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

// Column columns[j] has the cells first[j]..first[j + 1] of tables[output], the last one for missing values, and two
// edges fewer than cells.
#define VOTE_TABLES(name, Number)                                                                                    \
    extern "C" __global__ void name(BLOCK_ARGUMENTS(Number), const int* columns, int n_columns, const int* first,    \
                                    const double* edges, const i64* tables, int n_cells, const i64* constant,        \
                                    int n_outputs, i64* votes) {                                                     \
        BLOCK(Number);                                                                                               \
        EVERY_ROW {                                                                                                  \
            i64 sum = constant[0];                                                                                   \
            for (int k = 1; k < n_outputs; k++) votes[k * n_rows + row] = constant[k];                               \
            for (int j = 0; j < n_columns; j++) {                                                                    \
                double x = block.at(row, columns[j]);                                                                \
                int begin = first[j], end = first[j + 1];                                                            \
                int cell = x == x ? begin + count_below(edges + begin - 2 * j, end - begin - 2, x) : end - 1;        \
                sum += tables[cell];                                                                                 \
                for (int k = 1; k < n_outputs; k++) votes[k * n_rows + row] += tables[(i64)k * n_cells + cell];      \
            }                                                                                                        \
            votes[row] = sum;                                                                                        \
        }                                                                                                            \
    }

VOTE_TABLES(vote_tables_float, float)
VOTE_TABLES(vote_tables_double, double)

// Trees over values: column is -1 at a leaf; kids: the left and the right child among all nodes.
struct ValueTrees {
    const int* roots;
    int n_voters;
    const int* column;
    const double* threshold;
    const int* members;  // a set of categories, or -1
    const u8* missing_left;
    const int* kids;
    const u8* sets;
};

#define TREES_ARGUMENTS                                                                                              \
    const int *__restrict__ roots, int n_voters, const int *__restrict__ column, const double *__restrict__ threshold, \
        const int *__restrict__ members, const u8 *__restrict__ missing_left, const int *__restrict__ kids,          \
        const u8 *__restrict__ sets
#define TREES ValueTrees trees = {roots, n_voters, column, threshold, members, missing_left, kids, sets}

template <typename Number>
__device__ __forceinline__ int node_of(const ValueTrees& trees, int root, const Block<Number>& block, i64 row) {
    int node = root;
    for (int column = trees.column[node]; column >= 0; column = trees.column[node]) {
        double x = block.at(row, column);
        bool left;
        if (x != x)
            left = trees.missing_left[node];
        else if (trees.members[node] >= 0)
            left = trees.sets[trees.members[node] * 256 + (int)x];
        else
            left = x <= trees.threshold[node];
        node = trees.kids[2 * node + (left ? 0 : 1)];
    }
    return node;
}

#define VOTE_TREES(name, Number)                                                                                \
    extern "C" __global__ void name(BLOCK_ARGUMENTS(Number), TREES_ARGUMENTS, const i64* units, int n_outputs,  \
                                    i64* votes) {                                                               \
        BLOCK(Number);                                                                                          \
        TREES;                                                                                                  \
        EVERY_ROW {                                                                                             \
            i64 sum = 0;                                                                                        \
            for (int k = 1; k < n_outputs; k++) votes[k * n_rows + row] = 0;                                    \
            for (int t = 0; t < n_voters; t++) {                                                                \
                i64 node = node_of<Number>(trees, roots[t], block, row);                                        \
                sum += units[node * n_outputs];                                                                 \
                for (int k = 1; k < n_outputs; k++) votes[k * n_rows + row] += units[node * n_outputs + k];     \
            }                                                                                                   \
            votes[row] = sum;                                                                                   \
        }                                                                                                       \
    }

VOTE_TREES(vote_trees_float, float)
VOTE_TREES(vote_trees_double, double)

#define FIND_NODES(name, Number)                                                                             \
    extern "C" __global__ void name(BLOCK_ARGUMENTS(Number), TREES_ARGUMENTS, int* nodes) {                  \
        BLOCK(Number);                                                                                       \
        TREES;                                                                                               \
        EVERY_ROW for (int t = 0; t < n_voters; t++)                                                         \
            nodes[t * n_rows + row] = node_of<Number>(trees, roots[t], block, row);                          \
    }

FIND_NODES(find_nodes_float, float)
FIND_NODES(find_nodes_double, double)

// places[row]: the lowest place up to which the weights of the voters come to half of them (lower), or to more than
// half; -1 without any weight. nodes[voter][row]; of a node its place and its weight. decides: the last voter decides
// alone where it has a weight.
extern "C" __global__ void choose_places(const int* nodes, i64 n_rows, int n_voters, const int* place,
                                         const i64* weight, int n_places, int lower, int decides, int* places) {
    EVERY_ROW {
        int last = nodes[(i64)(n_voters - 1) * n_rows + row];
        if (decides && weight[last] > 0) {
            places[row] = place[last];
            continue;
        }
        i64 mass = 0;
        for (int t = 0; t < n_voters; t++) mass += weight[nodes[t * n_rows + row]];
        i64 need = lower ? (mass + 1) / 2 : mass / 2 + 1;
        int low = 0, high = n_places - 1;
        while (low < high) {
            int middle = (low + high) / 2;
            i64 upto = 0;
            for (int t = 0; t < n_voters; t++) {
                int node = nodes[t * n_rows + row];
                if (place[node] <= middle) upto += weight[node];
            }
            if (upto >= need)
                high = middle;
            else
                low = middle + 1;
        }
        places[row] = mass > 0 ? low : -1;
    }
}
