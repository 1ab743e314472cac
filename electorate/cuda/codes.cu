// The layout of codes. Compiled after electorate/arithmetic.hpp, whose functions are those of the CPU, and without
// contraction into fused multiply-adds, so that every product and sum is rounded by itself.

using electorate::i64;
using electorate::u16;
using electorate::u32;
using electorate::u64;
using electorate::u8;

#define PANEL 13          // words of four columns that are stored side by side, row after row
#define CELLS_PER_WORD 1024  // four columns of 256 bins
#define EVERY_LANE 0xffffffffu

// Codes of 8 bits: panels [row][word]. Wide codes, of 16 bits: [row][column].
struct Codes {
    const void* data;
    i64 n_rows;
    int n_columns;
    int width;  // bins of a column
    int wide;
};

// Kernels take structures as single arguments, which the caller then need not lay out.
#define CODES_ARGUMENTS const void *__restrict__ data, i64 n_rows, int n_columns, int width, int wide
#define CODES Codes codes = {data, n_rows, n_columns, width, wide}
#define TREE_ARGUMENTS \
    const int *__restrict__ tree_column, const u8 *__restrict__ tree_on_left, const int *__restrict__ tree_children, \
        int tree_begin
#define TREE Tree tree = {tree_column, tree_on_left, tree_children, tree_begin}

__device__ __forceinline__ int words_of_panel(int n_words, int panel) {
    int left = n_words - panel * PANEL;
    return left < PANEL ? left : PANEL;
}

__device__ __forceinline__ int code_of(const Codes& codes, i64 row, int column) {
    if (codes.wide) return ((const u16*)codes.data)[row * codes.n_columns + column];
    int word = column >> 2, panel = word / PANEL;
    i64 at = codes.n_rows * (panel * PANEL) + row * words_of_panel(codes.n_columns >> 2, panel) + (word - panel * PANEL);
    return ((const u8*)codes.data)[4 * at + (column & 3)];
}

// A tree: split s sends a row to children[2 s] if on_left[s][code], else to children[2 s + 1]: a split, or ~leaf.
struct Tree {
    const int* column;
    const u8* on_left;
    const int* children;
    int begin;
};

__device__ __forceinline__ int leaf_of(const Codes& codes, const Tree& tree, i64 row) {
    int at = tree.begin;
    while (at >= 0) {
        int code = code_of(codes, row, tree.column[at]);
        at = tree.children[2 * at + (tree.on_left[(i64)at * codes.width + code] ? 0 : 1)];
    }
    return ~at;
}
