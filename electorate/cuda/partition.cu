// The rows of the nodes of a growing tree: parting them, and the leaf of every row.

#define PART_THREADS 256
#define PART_ITEMS 8  // rows of a thread
#define PART_WARPS (PART_THREADS / 32)

// Part segments of rows: those that go left to the front of the same range of the other buffer, the others to its end.
// A segment is (low, high, split, buffer); blocks[segment] is the first of its blocks, of PART_THREADS * PART_ITEMS rows
// each. cursors[segment][side]: how many rows there are so far.
extern "C" __global__ void __launch_bounds__(PART_THREADS)
    partition(CODES_ARGUMENTS, ORDERS_ARGUMENTS, const i64* blocks, const i64* segments, int n_segments,
              const int* column, const u8* on_left, u32* cursors) {
    CODES;
    ORDERS;
    __shared__ u32 counts[PART_ITEMS * PART_WARPS];
    __shared__ u32 bases[2];
    int number = 0, after = n_segments;
    while (after - number > 1) {
        int middle = (number + after) / 2;
        if (blocks[middle] <= blockIdx.x)
            number = middle;
        else
            after = middle;
    }
    const i64* segment = segments + 4 * number;
    i64 low = segment[0] + (blockIdx.x - blocks[number]) * (PART_THREADS * PART_ITEMS), buffer = segment[3];
    int count = (int)min(segment[1] - low, (i64)(PART_THREADS * PART_ITEMS)), split = (int)segment[2];
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    u32 rows[PART_ITEMS], before[PART_ITEMS], goes = 0;
#pragma unroll
    for (int i = 0; i < PART_ITEMS; i++) {
        int at = i * PART_THREADS + threadIdx.x;
        bool left = false;
        if (at < count) {
            rows[i] = row_at(orders, buffer, low + at);
            left = on_left[(i64)split * codes.width + code_of(codes, rows[i], column[split])];
        }
        u32 lanes = __ballot_sync(EVERY_LANE, left);
        before[i] = __popc(lanes & ((1u << lane) - 1));
        goes |= (left ? 1u : 0u) << i;
        if (lane == 0) counts[i * PART_WARPS + warp] = __popc(lanes);
    }
    __syncthreads();
    if (warp == 0) {  // lane k has the counts 2 k and 2 k + 1
        u32 one = counts[2 * lane], both = one + counts[2 * lane + 1], upto = both;
        for (int offset = 1; offset < 32; offset <<= 1) {
            u32 other = __shfl_up_sync(EVERY_LANE, upto, offset);
            if (lane >= offset) upto += other;
        }
        counts[2 * lane] = upto - both;
        counts[2 * lane + 1] = upto - both + one;
        if (lane == 31) {
            bases[0] = atomicAdd(&cursors[2 * number], upto);
            bases[1] = atomicAdd(&cursors[2 * number + 1], (u32)count - upto);
        }
    }
    __syncthreads();
    u32* out = buffer == 0 ? orders.second : orders.first;
#pragma unroll
    for (int i = 0; i < PART_ITEMS; i++) {
        int at = i * PART_THREADS + threadIdx.x;
        if (at >= count) continue;
        u32 lefts = counts[i * PART_WARPS + warp] + before[i];
        if (goes >> i & 1u)
            out[segment[0] + bases[0] + lefts] = rows[i];
        else
            out[segment[1] - 1 - bases[1] - (at - lefts)] = rows[i];
    }
}

extern "C" __global__ void find_leaves(CODES_ARGUMENTS, TREE_ARGUMENTS, int* leaf) {
    CODES;
    TREE;
    i64 row = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (row < codes.n_rows) leaf[row] = leaf_of(codes, tree, row);
}
