// Types, the layout of codes, and exp and log in plain IEEE arithmetic (the twins of kernels/special.py).
// Compiled without contraction into fused multiply-adds, so that every product and sum is rounded by itself.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

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

__device__ __forceinline__ double power_of_two(double biased) {
    return __longlong_as_double((i64)((u64)__double_as_longlong(biased) << 52));
}

__device__ double own_exp(double x) {
    const double LOWEST = -745.2, HIGHEST = 709.8, WHOLE = 6755399441055744.0, BIASED = WHOLE + 1023.0;
    double inside = (x < LOWEST || x > HIGHEST) ? 0.0 : x;
    double k = (inside * 1.4426950408889634 + WHOLE) - WHOLE;
    double r = (inside - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
    double square = r * r;
    double fourth = square * square;
    double low = (1.0 / 2 + r * (1.0 / 6)) + square * (1.0 / 24 + r * (1.0 / 120));
    double middle = (1.0 / 720 + r * (1.0 / 5040)) + square * (1.0 / 40320 + r * (1.0 / 362880));
    double high = (1.0 / 3628800 + r * (1.0 / 39916800)) + square * (1.0 / 479001600 + r * (1.0 / 6227020800.0));
    double value = 1.0 + (r + square * (low + fourth * (middle + fourth * high)));
    double half = k * 0.5 + BIASED;
    double rest = (k - (half - BIASED)) + BIASED;
    value *= power_of_two(half);
    value *= power_of_two(rest);
    return x < LOWEST ? 0.0 : x > HIGHEST ? __longlong_as_double(0x7ff0000000000000LL) : value;
}

__device__ double own_log(double x) {
    const u64 SQRT_HALF = 0x3FE6A09E667F3BCDULL, ONE = 0x3FF0000000000000ULL;
    bool subnormal = x < 0x1p-1022;
    u64 bits = (u64)__double_as_longlong(subnormal ? x * 0x1p54 : x) + (ONE - SQRT_HALF);
    double k = __longlong_as_double((i64)(bits >> 52 | 0x4330000000000000ULL));
    k = k - (0x1p52 + (subnormal ? 1077.0 : 1023.0));
    double f = __longlong_as_double((i64)((bits & 0xFFFFFFFFFFFFFULL) + SQRT_HALF)) - 1.0;
    double s = f / (2.0 + f);
    double square = s * s;
    double fourth = square * square;
    double eighth = fourth * fourth;
    double low = (2.0 / 3 + square * (2.0 / 5)) + fourth * (2.0 / 7 + square * (2.0 / 9));
    double high = (2.0 / 11 + square * (2.0 / 13)) + fourth * (2.0 / 15 + square * (2.0 / 17));
    double series = square * (low + eighth * (high + eighth * (2.0 / 19 + square * (2.0 / 21))));
    double half = 0.5 * f * f;
    return k * 0x1.62e42feep-1 - ((half - (s * (half + series) + k * 0x1.a39ef35793c76p-33)) - f);
}
