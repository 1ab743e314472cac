"""The kernels in Numba. Arrays and numbers in, arrays and numbers out; each has its twin in reference.py.

Sums are int64 on a fixed grid, so that their order, and with it the number of threads and shards, never
shows. Loops over cells run inside the kernel; callers keep a call under 0.2 s, so that Ctrl-C works.
"""

import numpy as np

from electorate.kernels.compile import kernel

WINDOW_ROWS = 64  # of a block, in `best_window`
ROWS_PICKED = 4096  # of a node at once: their numbers, in order, stay in the cache for all columns

# ---------------------------------------------------------------- distinct values and bins


@kernel
def mix(value):
    """A 64-bit hash of a float64's bits that loses nothing (splitmix64): distinct values, distinct hashes.

    Without splitmix64's added constant, so that mix(0.0) is 0, the smallest: a sketch always keeps a spike at zero.
    """
    z = np.float64(value).view(np.uint64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def hash_values(values):
    """`mix` of every value."""
    hashes = np.empty(values.shape[0], dtype=np.uint64)
    for i in range(values.shape[0]):
        hashes[i] = mix(values[i])
    return hashes


@kernel
def fold(values, hashes):
    """Fold one more number into the hash of every row; -0.0 is 0.0, and missing values are all one."""
    for i in range(values.shape[0]):
        value = values[i] + 0.0
        more = mix(value) if value == value else np.uint64(0xD1B54A32D192ED03)
        z = (hashes[i] ^ more) * np.uint64(0x9E3779B97F4A7C15)
        hashes[i] = z ^ (z >> np.uint64(32))


@kernel
def tally(values, weights, start, keys, totals, info, room):
    """Add values[start:] with their integer weights to a small open table of distinct values.

    Returns the next row to read: fewer than all when the table already holds `room` values and meets another.
    info: values held, missing weight, first infinite row (or -1).
    """
    mask = np.uint64(keys.shape[0] - 1)
    held = info[0]
    for i in range(start, values.shape[0]):
        weight = weights[i]
        value = values[i] + 0.0  # -0.0 is 0.0
        if weight == 0:
            continue
        if value != value:
            info[1] += weight
            continue
        if np.isinf(value):
            if info[2] < 0:
                info[2] = i
            continue
        slot = mix(value) & mask
        while totals[slot] != 0 and keys[slot] != value:
            slot = (slot + np.uint64(1)) & mask
        if totals[slot] == 0:
            if held == room:
                info[0] = held
                return i
            keys[slot] = value
            held += 1
        totals[slot] += weight
    info[0] = held
    return values.shape[0]


@kernel
def select(values, weights, start, limit, kept, kept_weights, info):
    """Copy the finite values[start:] whose hash is at most `limit`, with their weights; returns how many."""
    count = np.int64(0)
    for i in range(start, values.shape[0]):
        weight = weights[i]
        value = values[i] + 0.0
        if value != value:
            info[1] += weight
            continue
        if np.isinf(value):
            if weight > 0 and info[2] < 0:
                info[2] = i
            continue
        kept[count] = value
        kept_weights[count] = weight
        count += np.int64(weight > 0) & np.int64(mix(value) <= limit)
    return count


@kernel
def cuts(weights, max_bins):
    """Last positions of at most max_bins consecutive groups of values.

    A heavy value, one that weighs more than a bin's share of all, gets a group of its own; the light ones fill
    the other groups about equally. Where there are too few, runs of light values join the heavy one after them.
    """
    n = weights.shape[0]
    total = np.int64(0)
    for i in range(n):
        total += weights[i]
    heavy = total // max_bins
    extra = max_bins  # groups beyond one for each heavy value and each run of light ones
    rest = np.int64(0)  # weight of the light values that are in no group yet
    for i in range(n):
        if weights[i] > heavy:
            extra -= 1
        else:
            rest += weights[i]
            if i == n - 1 or weights[i + 1] > heavy:
                extra -= 1
    last = np.empty(max_bins, dtype=np.int64)
    used = 0
    inside = np.int64(0)
    share = -(-rest // max(extra + 1, 1))
    for i in range(n):
        if weights[i] <= heavy:
            inside += weights[i]
            if i < n - 1 and weights[i + 1] > heavy:
                if extra < 0:
                    extra += 1
                    continue
            elif i < n - 1:
                if extra <= 0 or inside < share:
                    continue
                extra -= 1
            rest -= inside
            share = -(-rest // max(extra + 1, 1))
        last[used] = i
        used += 1
        inside = np.int64(0)
    return last[:used]


@kernel
def encode(block, edges, depths, missing, dest, out, scratch):
    """Write the bin of every cell: how many edges lie below it, or `missing`.

    block[column, row]; edges[column, 2^k] padded with +inf; depths[column] = bits to search;
    out[group, row of shard, column in group]; dest[row] = row of shard, or -1 for a row left out.
    """
    per_group = out.shape[2]
    rows = block.shape[1]
    for j in range(block.shape[0]):
        x = block[j]
        below = edges[j]
        for i in range(rows):
            scratch[i] = 0
        step = np.int32(1) << np.int32(depths[j])
        while step > 1:
            step >>= 1
            for i in range(rows):
                p = scratch[i]
                scratch[i] = p + (step if x[i] > below[p + step - 1] else np.int32(0))
        column = out[j // per_group, :, j % per_group]
        for i in range(rows):
            if dest[i] >= 0:
                column[dest[i]] = scratch[i] if x[i] == x[i] else missing


@kernel
def join(codes, columns, sizes, place, first, steps, count, dest, out):
    """Joint codes of columns that share a stored one, given out as they are met; whether 256 were enough.

    From the joint code of the columns before it, and its own digit (the last one: a missing value, code 255), a column
    makes the next joint code: steps[first[j] + sizes[j] * code + digit], or -1. Of size 0: alone in its stored column.
    codes and out: [group, row, column in group]; dest[row] = row of out, or -1 for a row left out.
    """
    per_group = out.shape[2]
    for j in columns:
        mine = codes[j // per_group, :, j % per_group]
        joint = out[place[j] // per_group, :, place[j] % per_group]
        size = sizes[j]
        for i in range(dest.shape[0]):
            if dest[i] < 0:
                continue
            if size == 0:
                joint[dest[i]] = mine[i]
                continue
            digit = min(np.int64(mine[i]), size - 1)
            at = first[j] + size * np.int64(joint[dest[i]]) + digit
            if steps[at] < 0:
                if count[j] == 256:
                    return False
                steps[at] = count[j]
                count[j] += 1
            joint[dest[i]] = steps[at]
    return True


@kernel
def spread(sums, place, used, cell, out):
    """Of several histograms: out[cell of a column's code] += the sums of that code in the stored column."""
    for h in range(sums.shape[0]):
        found = out[h]
        for j in range(place.shape[0]):
            joint, cells = sums[h, place[j]], cell[j]
            for code in range(used[j]):
                found[cells[code]] += joint[code]


@kernel
def unpack(packed, cells, out):
    """Of several histograms: out[cells[i]] = packed[i], and 0 elsewhere; cells rise."""
    for h in range(packed.shape[0]):
        found, numbers = out[h], packed[h]
        last = np.uint64(0)
        for i in range(cells.shape[0]):
            cell = np.uint64(cells[i])
            for empty in range(last, cell):
                found[empty] = 0
            found[cell] = numbers[i]
            last = cell + np.uint64(1)
        for empty in range(last, found.shape[0]):
            found[empty] = 0


@kernel
def add_gains(column, leaf_of_bin, gains, starts, state):
    """state[row, i] += gains[row, label of i, leaf of i], rows sorted by label."""
    table = np.empty(leaf_of_bin.shape[0], dtype=np.float64)
    for row in range(state.shape[0]):
        numbers = state[row]
        for label in range(starts.shape[0] - 1):
            for b in range(table.shape[0]):
                table[b] = gains[row, label, leaf_of_bin[b]]
            for i in range(starts[label], starts[label + 1]):
                numbers[i] += table[column[i]]


# ---------------------------------------------------------------- a round in a shard


@kernel
def quantise(channel, times, scale, starts, grid, totals):
    """grid[i] = rint(channel[i] * scale) * times[i] (once, if times is empty); totals[label] = its sums."""
    for label in range(totals.shape[0]):
        total = np.int64(0)
        if times.shape[0] == 0:
            for i in range(starts[label], starts[label + 1]):
                q = np.int64(np.rint(channel[i] * scale))
                grid[i] = q
                total += q
        else:
            for i in range(starts[label], starts[label + 1]):
                q = np.int64(np.rint(channel[i] * scale)) * times[i]
                grid[i] = q
                total += q
        totals[label] = total


@kernel
def histogram8(codes, grid, low, high, sums):
    """sums[column, bin] += grid over rows low..high; codes: 4 columns of 8 bits to a word."""
    byte = np.uint32(255)
    numbers = grid[low:high]  # indices that start at 0 are known not to be negative: a sixth faster
    for g in range(codes.shape[0]):
        words = codes[g, low:high]
        first = sums[4 * g]
        second = sums[4 * g + 1]
        third = sums[4 * g + 2]
        fourth = sums[4 * g + 3]
        for i in range(numbers.shape[0]):
            word = words[i]
            q = numbers[i]
            first[word & byte] += q
            second[(word >> np.uint32(8)) & byte] += q
            third[(word >> np.uint32(16)) & byte] += q
            fourth[word >> np.uint32(24)] += q


@kernel
def histogram16(codes, grid, low, high, sums):
    """sums[column, bin] += grid over rows low..high; codes[column, row] of 16 bits."""
    numbers = grid[low:high]
    for j in range(codes.shape[0]):
        column = codes[j, low:high]
        total = sums[j]
        for i in range(numbers.shape[0]):
            total[column[i]] += numbers[i]


# ---------------------------------------------------------------- the rows of a node of a tree
#
# order: row numbers without a sign, which costs half: others might count from the end.


@kernel
def part(before, low, starts, column, on_left, order, spare, left_starts):
    """Of the rows before[low:] of a node, those that go left come first in order[low:]; both sides keep their order.

    before and order may be the same. The rows are sorted by label, label k at starts[k]..starts[k+1] after low;
    left_starts gets the same of the left side. spare: room for the right side. Returns how many went left.
    """
    left = np.uint64(0)  # indices that cannot be negative: twice as fast
    right = np.uint64(0)
    parted = order[low:]
    for label in range(starts.shape[0] - 1):
        left_starts[label] = left
        rows = before[low + starts[label] : low + starts[label + 1]]
        for k in range(rows.shape[0]):
            row = rows[k]
            goes = np.uint64(on_left[column[row]])
            parted[left] = row  # what stood there has been read; without branches this is 3 times as fast
            spare[right] = row
            left += goes
            right += np.uint64(1) - goes
    left_starts[starts.shape[0] - 1] = left
    rest = parted[left:]
    for k in range(right):
        rest[k] = spare[k]
    return np.int64(left)


@kernel
def gather(grid, order, low, high, picked):
    """picked[k] = grid of the k-th of the rows order[low:high]."""
    rows = order[low:high]
    for k in range(rows.shape[0]):
        picked[k] = grid[rows[k]]


@kernel
def histogram8_of(codes, grid, order, low, high, sums):
    """`histogram8` over the rows order[low:high]."""
    byte = np.uint32(255)
    picked = np.empty(min(ROWS_PICKED, high - low), dtype=np.int64)
    for at in range(low, high, ROWS_PICKED):
        rows = order[at : min(at + ROWS_PICKED, high)]
        for k in range(rows.shape[0]):
            picked[k] = grid[rows[k]]
        for g in range(codes.shape[0]):
            words = codes[g]
            first = sums[4 * g]
            second = sums[4 * g + 1]
            third = sums[4 * g + 2]
            fourth = sums[4 * g + 3]
            for k in range(rows.shape[0]):
                word = words[rows[k]]
                q = picked[k]
                first[word & byte] += q
                second[(word >> np.uint32(8)) & byte] += q
                third[(word >> np.uint32(16)) & byte] += q
                fourth[word >> np.uint32(24)] += q


@kernel
def histogram16_of(codes, grid, order, low, high, sums):
    """`histogram16` over the rows order[low:high]."""
    picked = np.empty(min(ROWS_PICKED, high - low), dtype=np.int64)
    for at in range(low, high, ROWS_PICKED):
        rows = order[at : min(at + ROWS_PICKED, high)]
        for k in range(rows.shape[0]):
            picked[k] = grid[rows[k]]
        for j in range(codes.shape[0]):
            column = codes[j]
            total = sums[j]
            for k in range(rows.shape[0]):
                total[column[rows[k]]] += picked[k]


@kernel
def histograms8(codes, grid, starts, sums):
    """`histogram8` of every label, whose rows are starts[label]..starts[label + 1], in one call; sums are set anew."""
    for label in range(starts.shape[0] - 1):
        sums[label] = 0  # just before it is used: large sums do not stay in the cache
        if starts[label] < starts[label + 1]:
            histogram8(codes, grid, starts[label], starts[label + 1], sums[label])


@kernel
def histograms8_of(codes, grid, order, low, starts, sums, whole):
    """`histogram8_of` of every label of a node, in one call; grid: of all rows. Sums are set anew.

    They are taken off `whole`, if that is not empty: the sums of the node whose child this is.
    """
    for label in range(starts.shape[0] - 1):
        first = low + starts[label]
        last = low + starts[label + 1]
        sums[label] = 0
        if first < last:
            histogram8_of(codes, grid, order, first, last, sums[label])
            if whole.shape[0] > 0:
                for j in range(sums.shape[1]):
                    mine = sums[label, j]
                    rest = whole[label, j]
                    for b in range(mine.shape[0]):
                        rest[b] -= mine[b]


@kernel
def sum_signs(grid, award):
    """The sums of the grid where the award is positive, and where it is negative."""
    right = np.int64(0)
    wrong = np.int64(0)
    for i in range(grid.shape[0]):
        right += grid[i] if award[i] > 0 else np.int64(0)
        wrong += grid[i] if award[i] < 0 else np.int64(0)
    return right, wrong


@kernel
def tell(order, low, high, value, said):
    """said = value for the rows order[low:high]."""
    rows = order[low:high]
    for k in range(rows.shape[0]):
        said[rows[k]] = value


@kernel
def add_gains_of(order, low, starts, column, side, gains, state):
    """state[s, row] += gains[s, label, side of its code] for the rows of one node, sorted by label."""
    table = np.empty(side.shape[0], dtype=np.float64)
    for s in range(state.shape[0]):
        numbers = state[s]
        for label in range(starts.shape[0] - 1):
            for b in range(table.shape[0]):
                table[b] = gains[s, label, side[b]]
            rows = order[low + starts[label] : low + starts[label + 1]]
            for k in range(rows.shape[0]):
                numbers[rows[k]] += table[column[rows[k]]]


# ---------------------------------------------------------------- the search for a test


@kernel
def best_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, found):
    """The ordered test whose vote is right on the most weight, over all columns and cuts.

    sums[label, column, bin] (missing: the last bin), totals[label]. Each side votes for its heaviest label; a
    test whose sides agree is no better than none and is left out. rows[column, bin], unless empty: how many
    rows; each side must have min_rows. Ties: first column, first cut, missing on the left.
    found: column, cut, missing left. Returns the weight that is right, -1 if there is no test.
    """
    labels = sums.shape[0]
    if labels == 2 and rows.shape[0] == 0:
        return best_threshold_of_two(sums, totals, n_bins, has_missing, ordered, found)
    miss = sums.shape[2] - 1
    left = np.empty(labels, dtype=np.int64)
    most = np.int64(-1)
    for j in range(n_bins.shape[0]):
        if not ordered[j]:
            continue
        left[:] = 0
        rows_left = np.int64(0)
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            for k in range(labels):
                left[k] += sums[k, j, cut]
            if rows.shape[0] > 0:
                rows_left += rows[j, cut]
            # side 0: missing goes left (not after the last bin: nothing would go right); side 1: right
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                at_left, at_right = 0, 0
                most_left, most_right = np.int64(-1), np.int64(-1)
                for k in range(labels):
                    here = left[k] + (sums[k, j, miss] if side == 0 else 0)
                    there = totals[k] - here
                    if here > most_left:
                        most_left = here
                        at_left = k
                    if there > most_right:
                        most_right = there
                        at_right = k
                better = at_left != at_right and most_left + most_right > most
                if better and (rows.shape[0] == 0 or enough_rows(rows, j, rows_left, side, min_rows)):
                    most = most_left + most_right
                    found[0] = j
                    found[1] = cut
                    found[2] = 1 - side
    return most


@kernel
def best_common_threshold(left, whole, totals_left, totals, n_bins, has_missing, ordered, taken, found):
    """The ordered test, asked on both sides of another one, whose four leaves are right on the most weight.

    left, whole[label, column, bin]: of the rows on the left of the first test, and of all; totals_left, totals[label].
    taken: the first test's column, which is left out. Sums may be negative. Ties: first column, first cut, missing on
    the left. found: column, cut, missing left. Returns the weight that is right, the lowest integer without a test.
    """
    labels = whole.shape[0]
    miss = whole.shape[2] - 1
    first = np.empty(labels, dtype=np.int64)
    both = np.empty(labels, dtype=np.int64)
    lowest = np.int64(-(2**63))
    most = lowest
    for j in range(n_bins.shape[0]):
        if not ordered[j] or j == taken:
            continue
        first[:] = 0
        both[:] = 0
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            for k in range(labels):
                first[k] += left[k, j, cut]
                both[k] += whole[k, j, cut]
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                a, b, c, d = lowest, lowest, lowest, lowest
                for k in range(labels):
                    here = first[k] + (left[k, j, miss] if side == 0 else 0)
                    every = both[k] + (whole[k, j, miss] if side == 0 else 0)
                    a = max(a, here)
                    b = max(b, totals_left[k] - here)
                    c = max(c, every - here)
                    d = max(d, totals[k] - totals_left[k] - every + here)
                if a + b + c + d > most:
                    most = a + b + c + d
                    found[0] = j
                    found[1] = cut
                    found[2] = 1 - side
    return most


@kernel
def right_of_two(more, totals):
    """The weight on which a test is right whose left side has `more` of the second label than of the first, or -1."""
    apart = totals[1] - totals[0]
    if more > 0 and more >= apart:
        return totals[0] + more
    if more <= 0 and more < apart:
        return totals[1] - more
    return np.int64(-1)


@kernel
def best_threshold_of_two(sums, totals, n_bins, has_missing, ordered, found):
    """`best_threshold` for two labels and any number of rows, by the difference of the labels on the left alone.

    The best test of a column has the largest or the smallest difference; where that beats the columns before it, the
    column is read again for the first cut that is as good.
    """
    miss = sums.shape[2] - 1
    most = np.int64(-1)
    for j in range(n_bins.shape[0]):
        if not ordered[j]:
            continue
        first = sums[0, j]
        second = sums[1, j]
        more = np.int64(0)
        low = np.int64(0)  # no cut at all: right on no more than no test
        high = np.int64(0)
        for cut in range(n_bins[j] - 1):
            more += second[cut] - first[cut]
            low = min(low, more)
            high = max(high, more)
        best = max(right_of_two(low, totals), right_of_two(high, totals))
        missing = second[miss] - first[miss] if has_missing[j] else np.int64(0)
        if has_missing[j] and n_bins[j] > 0:
            best = max(best, right_of_two(low + missing, totals), right_of_two(high + missing, totals))
            best = max(best, right_of_two(more + second[n_bins[j] - 1] - first[n_bins[j] - 1], totals))
        if best <= most:
            continue
        more = np.int64(0)
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            more += second[cut] - first[cut]
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                right = right_of_two(more + (missing if side == 0 else np.int64(0)), totals)
                if right > most:
                    most = right
                    found[0] = j
                    found[1] = cut
                    found[2] = 1 - side
    return most


@kernel
def cheapest_threshold(sums, totals, squares, square_totals, n_bins, has_missing, ordered, lam, spread, found):
    """The ordered test of the lowest cost at its own best step (EBBoost, cost (3)); its sides say the two labels.

    sums, squares[label, column, bin] and their totals[label]: of w and of w^2; spread: the mean of w^2 over the square
    of the mean of w. Ties: first column, first cut, missing on the left. found: column, cut, missing left. Returns the
    cost over that of no step, inf if there is no test.
    """
    miss = sums.shape[2] - 1
    all_weights = np.float64(totals[0] + totals[1])
    all_squares = np.float64(square_totals[0] + square_totals[1])
    least = np.inf
    for j in range(n_bins.shape[0]):
        if not ordered[j]:
            continue
        right, up = totals[0], square_totals[0]  # of the test that says label 1 on the left and label 0 on the right
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            right += sums[1, j, cut] - sums[0, j, cut]
            up += squares[1, j, cut] - squares[0, j, cut]
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                here, above = right, up
                if side == 0:
                    here += sums[1, j, miss] - sums[0, j, miss]
                    above += squares[1, j, miss] - squares[0, j, miss]
                cost = cost_at_best(here / all_weights, above / all_squares, lam, spread)
                if cost < least:
                    least = cost
                    found[0] = j
                    found[1] = cut
                    found[2] = 1 - side
    return least


@kernel
def cost_at_best(right, right_squares, lam, spread):
    """Cost (3) over that of no step, for a voter that is right on these shares of w and w^2: 2 sqrt(R W) + ..."""
    wrong = 1.0 - right
    ups = (1.0 - lam) * right * right + lam * (right_squares * spread)
    downs = (1.0 - lam) * wrong * wrong + lam * ((1.0 - right_squares) * spread)
    return 2.0 * np.sqrt(max(ups * downs, 0.0)) + 2.0 * (1.0 - lam) * right * wrong


@kernel
def send_left(histogram, seen, column, cut, missing_left, on_left, sides):
    """The bins on_left of a test x <= cut, and the weights sides[side, label] on its two sides.

    Missing values go left if missing_left is 1, right if it is 0; if -1, to the side that is heavier in seen[bin].
    """
    miss = on_left.shape[0] - 1
    if missing_left < 0:
        left = np.int64(0)
        right = np.int64(0)
        for b in range(miss):
            if b <= cut:
                left += seen[b]
            else:
                right += seen[b]
        missing_left = 1 if left >= right else 0
    for b in range(miss):
        on_left[b] = b <= cut
    on_left[miss] = missing_left == 1
    for k in range(histogram.shape[0]):
        sides[0, k] = 0
        sides[1, k] = 0
        for b in range(on_left.shape[0]):
            sides[0 if on_left[b] else 1, k] += histogram[k, column, b]


@kernel
def enough_rows(rows, column, rows_left, side, min_rows):
    """Whether both sides of a cut have min_rows rows; side 0: missing ones go left."""
    left = rows_left
    if side == 0:
        left += rows[column, rows.shape[1] - 1]
    return left >= min_rows and rows[column].sum() - left >= min_rows


@kernel
def purity(criterion, left, totals):
    """How well a test tells the labels apart, larger is better. 1: Gini; 2: Matsushita's error, negated.

    Gini: the sum over sides of sum_k w_k^2 / w. Matsushita: minus the sum over sides of sum_k sqrt(w_k (w - w_k)).
    """
    all_left = 0.0
    all_right = 0.0
    for k in range(left.shape[0]):
        all_left += np.float64(left[k])
        all_right += np.float64(totals[k] - left[k])
    # one number per side: a test and its mirror image then tie to the bit
    score_left = 0.0
    score_right = 0.0
    for k in range(left.shape[0]):
        here = np.float64(left[k])
        there = np.float64(totals[k] - left[k])
        if criterion == 1:
            if all_left > 0:
                score_left += here * here / all_left
            if all_right > 0:
                score_right += there * there / all_right
        else:
            score_left -= np.sqrt(here * max(all_left - here, 0.0))
            score_right -= np.sqrt(there * max(all_right - there, 0.0))
    return score_left + score_right


@kernel
def purity_of_two(criterion, here, there, also_here, also_there):
    """`purity` for two labels: weights of the first on both sides, then of the second."""
    left = here + also_here
    right = there + also_there
    if criterion == 2:
        return -2.0 * (np.sqrt(here * also_here) + np.sqrt(there * also_there))
    score = 0.0
    if left > 0:
        score += (here * here + also_here * also_here) / left
    if right > 0:
        score += (there * there + also_there * also_there) / right
    return score


@kernel
def purest_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, criterion, found):
    """As best_threshold, for the largest `purity`; -inf if there is no test."""
    labels = sums.shape[0]
    if labels == 2 and rows.shape[0] == 0:
        return purest_threshold_of_two(sums, totals, n_bins, has_missing, ordered, criterion, found)
    miss = sums.shape[2] - 1
    left = np.empty(labels, dtype=np.int64)
    here = np.empty(labels, dtype=np.int64)
    most = -np.inf
    for j in range(n_bins.shape[0]):
        if not ordered[j]:
            continue
        left[:] = 0
        rows_left = np.int64(0)
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            moved = False
            for k in range(labels):
                left[k] += sums[k, j, cut]
                moved |= sums[k, j, cut] != 0
            if rows.shape[0] > 0:
                rows_left += rows[j, cut]
            if not moved:  # an empty bin of this node: the cut before it is the same test, and came first
                continue
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                for k in range(labels):
                    here[k] = left[k] + (sums[k, j, miss] if side == 0 else 0)
                if labels == 2:
                    a, b = np.float64(here[0]), np.float64(here[1])
                    c, d = np.float64(totals[0] - here[0]), np.float64(totals[1] - here[1])
                    score = purity_of_two(criterion, a, c, b, d)
                else:
                    score = purity(criterion, here, totals)
                if score > most and (rows.shape[0] == 0 or enough_rows(rows, j, rows_left, side, min_rows)):
                    most = score
                    found[0] = j
                    found[1] = cut
                    found[2] = 1 - side
    return most


@kernel
def purest_threshold_of_two(sums, totals, n_bins, has_missing, ordered, criterion, found):
    """`purest_threshold` for two labels and any number of rows: the scores of a column's cuts all at once."""
    miss = sums.shape[2] - 1
    weights = np.empty((4, miss + 1), dtype=np.float64)
    scores = np.empty((2, miss + 1), dtype=np.float64)  # [missing on the right, cut]
    most = -np.inf
    for j in range(n_bins.shape[0]):
        if not ordered[j]:
            continue
        first = sums[0, j]
        second = sums[1, j]
        cuts = n_bins[j] if has_missing[j] else n_bins[j] - 1
        if has_missing[j]:
            score_cuts(criterion, first[:cuts], second[:cuts], first[miss], second[miss], totals, weights, scores[0])
        score_cuts(criterion, first[: max(cuts, 0)], second[: max(cuts, 0)], 0, 0, totals, weights, scores[1])
        for cut in range(cuts):
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                # an empty bin of this node: the cut before it is the same test, and came first
                if scores[side, cut] > most and (first[cut] != 0 or second[cut] != 0):
                    most = scores[side, cut]
                    found[0] = j
                    found[1] = cut
                    found[2] = 1 - side
    return most


@kernel
def score_cuts(criterion, first, second, more_first, more_second, totals, weights, scores):
    """scores[cut] = `purity_of_two` with the bins up to cut, and more, on the left. weights[4, cut]: scratch."""
    here, there, also_here, also_there = weights[0], weights[1], weights[2], weights[3]
    a = np.int64(more_first)
    b = np.int64(more_second)
    for cut in range(first.shape[0]):
        a += first[cut]
        b += second[cut]
        here[cut] = np.float64(a)
        there[cut] = np.float64(totals[0] - a)
        also_here[cut] = np.float64(b)
        also_there[cut] = np.float64(totals[1] - b)
    if criterion == 1:
        for cut in range(first.shape[0]):  # a side without weight scores 0; any other has at least 1
            left = (here[cut] * here[cut] + also_here[cut] * also_here[cut]) / max(here[cut] + also_here[cut], 1.0)
            right = there[cut] * there[cut] + also_there[cut] * also_there[cut]
            scores[cut] = left + right / max(there[cut] + also_there[cut], 1.0)
    else:
        for cut in range(first.shape[0]):
            scores[cut] = -2.0 * (np.sqrt(here[cut] * also_here[cut]) + np.sqrt(there[cut] * also_there[cut]))


@kernel
def best_subset(sums, n_bins, has_missing, ordered, rows, min_rows, found):
    """The set of categories whose vote is right on the most weight, over all category columns.

    For two labels the best set holds the categories that are heavier in the one than in the other, so every
    pair of labels is tried. Ties: first column, then first pair. found: column, left label, right label;
    a category is on the left if it is heavier in the left label. Returns the weight that is right, or -1.
    """
    labels = sums.shape[0]
    miss = sums.shape[2] - 1
    most = np.int64(-1)
    for j in range(n_bins.shape[0]):
        if ordered[j]:
            continue
        for a in range(labels):
            for b in range(a + 1, labels):
                total = np.int64(0)
                heavier = np.zeros(2, dtype=np.int64)
                held = np.zeros(2, dtype=np.int64)
                for c in range(n_bins[j] + 1):
                    at = c
                    if c == n_bins[j]:
                        if not has_missing[j]:
                            break
                        at = miss
                    side = 0 if sums[a, j, at] > sums[b, j, at] else 1
                    total += sums[b if side else a, j, at]
                    heavier[side] += 1
                    if rows.shape[0] > 0:
                        held[side] += rows[j, at]
                if heavier.min() > 0 and total > most and (rows.shape[0] == 0 or held.min() >= min_rows):
                    most = total
                    found[0] = j
                    found[1] = a
                    found[2] = b
    return most


@kernel
def purest_subset(sums, totals, n_bins, ordered, rows, min_rows, criterion, found, on_left):
    """As best_subset, for the largest `purity`: categories in the order of a label's share, cut once.

    For two labels this finds the best of all sets; for more, the best along each label's order. Missing values
    are one more category. on_left[bin] gets the set; found: column. Returns the purity, or -inf.
    """
    labels = sums.shape[0]
    miss = sums.shape[2] - 1
    here = np.empty(labels, dtype=np.int64)
    most = -np.inf
    for j in range(n_bins.shape[0]):
        if ordered[j]:
            continue
        at = np.empty(n_bins[j] + 1, dtype=np.int64)
        share = np.empty(n_bins[j] + 1, dtype=np.float64)
        for label in range(1 if labels == 2 else 0, labels):
            seen = 0
            for c in range(n_bins[j] + 1):
                bin = miss if c == n_bins[j] else c
                weight = 0.0
                for k in range(labels):
                    weight += np.float64(sums[k, j, bin])
                if weight > 0:
                    at[seen] = bin
                    share[seen] = np.float64(sums[label, j, bin]) / weight
                    seen += 1
            turn = np.argsort(share[:seen], kind="mergesort")
            here[:] = 0
            held = np.int64(0)
            for c in range(seen - 1):
                bin = at[turn[c]]
                for k in range(labels):
                    here[k] += sums[k, j, bin]
                if rows.shape[0] > 0:
                    held += rows[j, bin]
                    if held < min_rows or rows[j].sum() - held < min_rows:
                        continue
                if labels == 2:  # as for thresholds: the same test must get the same score
                    first, second = np.float64(here[0]), np.float64(here[1])
                    others = np.float64(totals[0] - here[0]), np.float64(totals[1] - here[1])
                    score = purity_of_two(criterion, first, others[0], second, others[1])
                else:
                    score = purity(criterion, here, totals)
                if score > most:
                    most = score
                    found[0] = j
                    on_left[:] = False
                    for e in range(c + 1):
                        on_left[at[turn[e]]] = True
    return most


# ---------------------------------------------------------------- prediction by lookup


@kernel
def lookup(block, columns, edges, depths, first, tables, votes, scratch):
    """votes[output, row] += tables[output, first[j] + cell] for every column j that has a table.

    A cell is the number of edges below the value; the last cell of a column's table is for missing values.
    first has one entry more than columns.
    """
    rows = block.shape[1]
    for j in range(columns.shape[0]):
        x = block[columns[j]]
        below = edges[j]
        for i in range(rows):
            scratch[i] = 0
        step = np.int32(1) << np.int32(depths[j])
        while step > 1:
            step >>= 1
            for i in range(rows):
                p = scratch[i]
                scratch[i] = p + (step if x[i] > below[p + step - 1] else np.int32(0))
        absent = np.int32(first[j + 1] - first[j] - 1)
        for i in range(rows):
            scratch[i] = scratch[i] if x[i] == x[i] else absent
        for k in range(votes.shape[0]):
            total = votes[k]
            table = tables[k, first[j] : first[j + 1]]
            for i in range(rows):
                total[i] += table[scratch[i]]


@kernel
def climb(block, columns, first, edges, rises, absent, votes):
    """votes[output, row] += the rises at all edges below a value, or `absent` where it is missing.

    For (column, output) number n = j * outputs + output: edges and rises first[n]..first[n+1], and absent[n]. Every
    edge is compared with all rows of a block, four at a time: without look-ups this is the fastest way for few edges.
    """
    outputs = votes.shape[0]
    rows = block.shape[1]
    zero = np.int64(0)
    for j in range(columns.shape[0]):
        x = block[columns[j]]
        for k in range(outputs):
            n = j * outputs + k
            total = votes[k]
            at = first[n]
            while at + 4 <= first[n + 1]:
                a, b, c, d = edges[at], edges[at + 1], edges[at + 2], edges[at + 3]
                e, f, g, h = rises[at], rises[at + 1], rises[at + 2], rises[at + 3]
                for i in range(rows):
                    v = x[i]
                    total[i] += (
                        (e if v > a else zero)
                        + (f if v > b else zero)
                        + (g if v > c else zero)
                        + (h if v > d else zero)
                    )
                at += 4
            while at < first[n + 1]:
                a, e = edges[at], rises[at]
                for i in range(rows):
                    total[i] += e if x[i] > a else zero
                at += 1
            gone = absent[n]
            if gone != 0:
                for i in range(rows):
                    total[i] += gone if x[i] != x[i] else zero


@kernel
def first_infinite(block):
    """Column and row of the first infinite value of a block, or (-1, -1)."""
    for j in range(block.shape[0]):
        x = block[j]
        some = False
        for i in range(x.shape[0]):
            some |= np.abs(x[i]) == np.inf
        if some:
            for i in range(x.shape[0]):
                if np.abs(x[i]) == np.inf:
                    return j, i
    return -1, -1


@kernel
def walk(cells, offsets, place, cut, members, missing_left, children, sets, units, votes):
    """votes[output, row] += units of the leaf each voter sends a row to.

    cells[place, row]: the cell of a value, -1 where missing. A node goes left if the cell is at most its cut, or
    in its set of categories; place is -1 at a leaf.
    """
    for t in range(offsets.shape[0] - 1):
        root = offsets[t]
        for i in range(cells.shape[1]):
            node = root
            while place[node] >= 0:
                cell = cells[place[node], i]
                if cell < 0:
                    left = missing_left[node]
                elif members[node] >= 0:
                    left = sets[members[node], cell]
                else:
                    left = cell <= cut[node]
                node = root + (children[node, 0] if left else children[node, 1])
            for k in range(votes.shape[0]):
                votes[k, i] += units[node, k]


@kernel
def walk_ordered(cells, offsets, depths, place, low, cut, kids, units, votes, scratch):
    """As `walk`, for voters that ask about thresholds only: all rows of a block go down together, without branches.

    A cell goes left if low <= cell <= cut, so that a missing one (-1) does where low is -1. kids[node, 1 if left]:
    counted from the first node of all; a leaf leads to itself.
    """
    rows = cells.shape[1]
    flat = cells.ravel()
    both = kids.ravel()
    for t in range(offsets.shape[0] - 1):
        for i in range(rows):
            scratch[i] = offsets[t]
        for _ in range(depths[t]):
            for i in range(rows):
                node = scratch[i]
                cell = flat[place[node] * rows + i]
                goes = np.int32(cell >= low[node]) & np.int32(cell <= cut[node])
                scratch[i] = both[2 * node + goes]
        for k in range(votes.shape[0]):
            total = votes[k]
            for i in range(rows):
                total[i] += units[scratch[i], k]


@kernel
def cross_out(cells, first, last, tests, planes, leaf):
    """leaf[row] of a tree with these questions: every question crosses out the leaves on the side not taken.

    planes[byte of leaves, row] are the leaves not crossed out, at last a single bit.
    """
    rows = cells.shape[1]
    if first == last:
        leaf[:] = np.uint8(0)
        return
    used = np.int64(0)
    for q in range(first, last):
        used = max(used, np.int64(tests.span[q, 1]))
    planes[:used] = np.uint8(255)
    for q in range(first, last):
        column = cells[tests.place[q]]
        by_table = tests.table[q] >= 0
        shift, cut = tests.shift[q], tests.cut[q]
        if by_table:
            goes_left = tests.tables[tests.table[q]]
            for i in range(rows):
                leaf[i] = goes_left[column[i]]
        for p in range(tests.span[q, 0], tests.span[q, 1]):
            plane = planes[p]
            right, left = tests.keep[q, p, 0], tests.keep[q, p, 1]
            if by_table:
                for i in range(rows):
                    plane[i] &= left if leaf[i] != 0 else right
            else:
                for i in range(rows):
                    plane[i] &= left if np.uint8(column[i] + shift) <= cut else right
    leaf[:] = np.uint8(0)
    for p in range(used):
        plane = planes[p]
        base = np.uint8(8 * p)
        for i in range(rows):
            bit = plane[i]
            odd, upper, high = bit & 0xAA, bit & 0xCC, bit & 0xF0
            number = np.uint8(odd != 0) | np.uint8((upper != 0) << 1) | np.uint8((high != 0) << 2)
            leaf[i] |= number | (base if bit != 0 else np.uint8(0))


@kernel
def vote(cells, offsets, leaves, tests, units, votes, planes, leaf):
    """votes[output, row] += the units of the leaf that a row reaches in every tree (see electorate/model/masks.py).

    cells[place, row]: bytes, 255 where missing; units[output, leaf] with the leaves of tree t from leaves[t] on.
    """
    for t in range(offsets.shape[0] - 1):
        cross_out(cells, offsets[t], offsets[t + 1], tests, planes, leaf)
        for k in range(votes.shape[0]):
            total, mine = votes[k], units[k, leaves[t] : leaves[t + 1]]
            for i in range(total.shape[0]):
                total[i] += mine[leaf[i]]


@kernel
def say(cells, offsets, leaves, tests, values, said, planes, leaf):
    """said[output, row, voter]: what every tree says, not their sum; as in `vote`."""
    for t in range(offsets.shape[0] - 1):
        cross_out(cells, offsets[t], offsets[t + 1], tests, planes, leaf)
        for k in range(said.shape[0]):
            mine = values[k, leaves[t] : leaves[t + 1]]
            for i in range(said.shape[1]):
                said[k, i, t] = mine[leaf[i]]


# ---------------------------------------------------------------- voters as columns


@kernel
def correlate_signs(bits, units, sums):
    """sums[column] += the units of all rows whose bit is set.

    bits[group, column]: 8 rows to a byte, the first in the lowest bit. For four groups at a time the sums of all 256
    bytes are tabled once; a column then costs one look-up for 8 rows.
    """
    table = np.zeros((4, 256), dtype=np.int64)
    groups = bits.shape[0]
    for low in range(0, groups, 4):
        many = min(4, groups - low)
        for g in range(4):
            table[g] = 0
            for k in range(8):
                row = 8 * (low + g) + k
                unit = units[row] if g < many and row < units.shape[0] else np.int64(0)
                half = 1 << k
                for b in range(half):
                    table[g, half + b] = table[g, b] + unit
        first, second, third, fourth = table[0], table[1], table[2], table[3]
        if many == 4:
            a, b, c, d = bits[low], bits[low + 1], bits[low + 2], bits[low + 3]
            for j in range(sums.shape[0]):
                sums[j] += first[a[j]] + second[b[j]] + third[c[j]] + fourth[d[j]]
        else:
            for g in range(many):
                for j in range(sums.shape[0]):
                    sums[j] += table[g, bits[low + g, j]]


@kernel
def count_differences(words, column, counts):
    """counts[j] = in how many bits words[j] and words[column] differ."""
    mine = words[column]
    for j in range(words.shape[0]):
        other = words[j]
        total = np.int64(0)
        for k in range(mine.shape[0]):
            z = mine[k] ^ other[k]
            z = z - ((z >> np.uint64(1)) & np.uint64(0x5555555555555555))
            z = (z & np.uint64(0x3333333333333333)) + ((z >> np.uint64(2)) & np.uint64(0x3333333333333333))
            z = (z + (z >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
            total += np.int64((z * np.uint64(0x0101010101010101)) >> np.uint64(56))
        counts[j] = total


@kernel
def correlate_reals(columns, units, times, sums):
    """sums[column] += times * rint(units * column) over rows: rounded row by row, so that their order never shows."""
    for j in range(columns.shape[0]):
        x = columns[j]
        total = np.int64(0)
        for i in range(x.shape[0]):
            total += times[i] * np.int64(np.rint(units[i] * x[i]))
        sums[j] += total


@kernel
def inner_products(rows, others, out):
    """out[i, m] = the sum over k, in order, of rows[i, k] * others[k, m]: the same bits for any block of rows."""
    for i in range(rows.shape[0]):
        total = out[i]
        total[:] = 0.0
        for k in range(rows.shape[1]):
            x = rows[i, k]
            y = others[k]
            for m in range(total.shape[0]):
                total[m] += x * y[m]


@kernel
def squared_distances(rows, others, out):
    """out[i, m] = the sum over k, in order, of (rows[i, k] - others[k, m])^2."""
    for i in range(rows.shape[0]):
        total = out[i]
        total[:] = 0.0
        for k in range(rows.shape[1]):
            x = rows[i, k]
            y = others[k]
            for m in range(total.shape[0]):
                apart = x - y[m]
                total[m] += apart * apart


# ---------------------------------------------------------------- QuadBoost on a pool
#
# kind of penalty: 0 none, 1 L1, 2 L2, 3 Linf. mode: 0 a voter enters every round, 1 one enters and all are swept,
# 2 the one with the largest decrease moves. Equation numbers are those of the QuadBoost paper.


@kernel
def quad_weight(kind, lam, most, pull, eta):
    """The best weight of a voter, eq. 6 to 9, on the grid of votes. pull: mu - M, with M of the other voters."""
    if eta <= 0.0:
        return 0.0
    if kind == 1:
        size = max(abs(pull) - lam, 0.0) / eta
        weight = size if pull > 0.0 else -size
    elif kind == 2:
        weight = pull / (eta + lam)
    elif kind == 3:
        weight = min(max(pull / eta, -most), most)
    else:
        weight = pull / eta
    return np.rint(weight * 1099511627776.0) / 1099511627776.0


@kernel
def quad_drop(kind, lam, c, eta, old, new):
    """What the objective loses when a voter's weight goes from old to new; c: its correlation with the residual."""
    change = new - old
    drop = change * (2.0 * c - eta * change)
    if kind == 1:
        drop += 2.0 * lam * (abs(old) - abs(new))
    elif kind == 2:
        drop -= lam * change * (old + new)
    return drop


@kernel
def quad_best(kind, lam, most, mode, full, c, eta, weight):
    """The voter whose move lowers the objective most (the first of equals), by how much, and the largest |c|.

    full: nobody may enter. In mode 0 every voter enters anew, in mode 1 only those of weight 0.
    """
    best, drop, largest = -1, 0.0, 0.0
    for j in range(c.shape[0]):
        largest = max(largest, abs(c[j]))
        old = weight[j]
        if (mode == 1 and old != 0.0) or (full and mode != 0 and old == 0.0):
            continue
        if mode == 0:
            old = 0.0
        here = quad_drop(kind, lam, c[j], eta[j], old, quad_weight(kind, lam, most, c[j] + old * eta[j], eta[j]))
        if here > drop:
            best, drop = j, here
    return best, drop, largest


@kernel
def quad_gap(kind, lam, most, power, c, mu, weight):
    """A bound on how far the objective of these weights is above the least there is; infinite without a penalty.

    L1: the duality gap of the Lasso, the residual scaled into the dual set. L2: by strong convexity. Linf: what a
    linear function with the same slope could still gain in the box. power: the mean of y^2.
    """
    if kind == 0 or (kind == 2 and lam <= 0.0):
        return np.inf
    total = 0.0
    if kind == 1:
        heard, risk, size, largest = power, power, 0.0, 0.0
        for j in range(c.shape[0]):
            largest = max(largest, abs(c[j]))
            if weight[j] != 0.0:
                heard -= weight[j] * mu[j]
                risk -= weight[j] * (mu[j] + c[j])
                size += abs(weight[j])
        if risk <= 0.0:
            return max(2.0 * lam * size, 0.0)
        scale = heard / risk
        if largest > 0.0:
            scale = min(max(scale, -lam / largest), lam / largest)
        return max(risk + 2.0 * lam * size - 2.0 * scale * heard + scale * scale * risk, 0.0)
    for j in range(c.shape[0]):
        if kind == 2:
            slope = lam * weight[j] - c[j]
            total += slope * slope / lam
        else:
            total += 2.0 * (most * abs(c[j]) - c[j] * weight[j])
    return total


@kernel
def quad_rounds(
    kind, lam, most, mode, tol, most_voters, power, c, mu, eta, weight, gram, slot, first, last, places, moves, info
):
    """Rounds first..last on a pool; places[move]: round, voter; moves[move]: weight, step, edge, drop, voters after it.

    gram[slot[j]] is the row of voter j. Returns the round to go on with. info: moves made, why it ended (0: the rounds
    are done or there is no more room, 1: a row of the Gram matrix is wanted, 2: within tol, 3: no move lowers the
    objective, 4: as many voters as may be), the voter whose row is wanted, voters of weight; and where a sweep was left
    for want of a row, to be handed in again: the next voter plus 1, whether anyone had moved in this round.
    """
    made, held = 0, 0
    for j in range(weight.shape[0]):
        if weight[j] != 0.0:
            held += 1
    info[1], info[2] = 0, -1
    number = first
    while number <= last and made + held + 2 <= places.shape[0]:
        start, moved = info[4] - 1, info[5]
        info[4], info[5] = 0, 0
        j = -1
        if start < 0:
            moved = 0
            j, drop, largest = quad_best(kind, lam, most, mode, held >= most_voters, c, eta, weight)
            if mode == 0 and kind == 1 and largest <= lam + tol:
                info[1] = 2
                break
            look = mode == 1 or (mode == 2 and number % 16 == 1)
            if look and (kind == 1 or held > 0) and quad_gap(kind, lam, most, power, c, mu, weight) <= tol:
                info[1] = 2
                break
            if j >= 0 and slot[j] < 0:
                info[1], info[2] = 1, j
                break
            if mode == 0 and j >= 0 and weight[j] == 0.0 and held >= most_voters:
                info[1] = 4
                break
        for k in range(start, weight.shape[0] if mode == 1 else 0):  # the chosen voter, then all that have a weight
            at = j if k < 0 else k
            if at < 0 or (k >= 0 and weight[at] == 0.0):
                continue
            old = 0.0 if mode == 0 else weight[at]
            pull = c[at] + old * eta[at]
            new = quad_weight(kind, lam, most, pull, eta[at])
            drop = quad_drop(kind, lam, c[at], eta[at], old, new)
            if new == old or drop <= 0.0:
                continue
            if slot[at] < 0:
                info[1], info[2], info[4], info[5] = 1, at, k + 1, moved
                break
            change = new - old
            row = gram[slot[at]]
            for i in range(c.shape[0]):
                c[i] -= change * row[i]
            held -= 1 if weight[at] != 0.0 else 0
            weight[at] += change
            held += 1 if weight[at] != 0.0 else 0
            places[made, 0], places[made, 1] = number, at
            moves[made, 0], moves[made, 1], moves[made, 2] = weight[at], new, pull
            moves[made, 3], moves[made, 4] = drop, held
            made += 1
            moved = 1
        if info[1] == 1:
            break
        if moved == 0:
            info[1] = 3
            break
        number += 1
    info[0], info[3] = made, held
    return number


@kernel
def quad_replay(kind, lam, mode, places, moves, c, eta, weight, gram, slot):
    """Make moves again: their weights are moves[:, 0], the other columns are filled."""
    held = 0
    for j in range(weight.shape[0]):
        if weight[j] != 0.0:
            held += 1
    for n in range(places.shape[0]):
        at = places[n, 1]
        change = moves[n, 0] - weight[at]
        old = 0.0 if mode == 0 else weight[at]
        moves[n, 1], moves[n, 2] = old + change, c[at] + old * eta[at]
        moves[n, 3] = quad_drop(kind, lam, c[at], eta[at], old, old + change)
        row = gram[slot[at]]
        for i in range(c.shape[0]):
            c[i] -= change * row[i]
        held -= 1 if weight[at] != 0.0 else 0
        weight[at] = moves[n, 0]
        held += 1 if weight[at] != 0.0 else 0
        moves[n, 4] = held


# ---------------------------------------------------------------- the vote by weighted median


@kernel
def vote_quantiles(values, weights, needs, sign, out):
    """out[row] = the smallest value (the largest for sign -1) up to which the votes come to needs[row].

    values[row, voter]; weights[row, voter], or one row for all. A need below 1 is 1; where the votes do not come to it,
    the last value. By partition around a pivot: linear in the voters.
    """
    voters = values.shape[1]
    value = np.empty(voters, dtype=np.float64)
    weight = np.empty(voters, dtype=np.int64)
    for i in range(values.shape[0]):
        mine = weights[i if weights.shape[0] > 1 else 0]
        for t in range(voters):
            value[t] = sign * values[i, t]
            weight[t] = mine[t]
        need = max(needs[i], np.int64(1))
        first = 0
        last = voters - 1
        while True:
            a = value[first]
            b = value[(first + last) >> 1]
            c = value[last]
            pivot = max(min(a, b), min(max(a, b), c))
            below = np.int64(0)
            equal = np.int64(0)
            less = first
            at = first
            more = last
            while at <= more:
                v = value[at]
                w = weight[at]
                if v < pivot:
                    below += w
                    value[at] = value[less]
                    weight[at] = weight[less]
                    value[less] = v
                    weight[less] = w
                    less += 1
                    at += 1
                elif v > pivot:
                    value[at] = value[more]
                    weight[at] = weight[more]
                    value[more] = v
                    weight[more] = w
                    more -= 1
                else:
                    equal += w
                    at += 1
            if need <= below:
                last = less - 1
            elif need <= below + equal or more == last:
                out[i] = sign * pivot
                break
            else:
                need -= below + equal
                first = more + 1


@kernel
def place_quantiles(places, weights, needs, n_places, from_top, out):
    """As `vote_quantiles`, of values known by their places among n_places in order; out[row]: a place.

    By two passes over the voters, first into buckets of places, then inside one bucket. from_top: for sign -1.
    """
    voters = places.shape[1]
    shift = 0
    while (1 << (2 * shift)) < n_places:
        shift += 1
    fine = 1 << shift
    coarse = ((n_places - 1) >> shift) + 1
    buckets = np.empty(coarse, dtype=np.int64)
    inside = np.empty(fine, dtype=np.int64)
    for i in range(places.shape[0]):
        mine = weights[i if weights.shape[0] > 1 else 0]
        said = places[i]
        buckets[:] = 0
        inside[:] = 0
        need = max(needs[i], np.int64(1))
        for t in range(voters):
            place = np.int64(said[t])
            buckets[(n_places - 1 - place if from_top else place) >> shift] += mine[t]
        bucket = 0
        while bucket < coarse - 1 and need > buckets[bucket]:
            need -= buckets[bucket]
            bucket += 1
        for t in range(voters):
            place = np.int64(said[t])
            place = n_places - 1 - place if from_top else place
            if place >> shift == bucket:
                inside[place - (bucket << shift)] += mine[t]
        at = 0
        while at < fine - 1 and need > inside[at]:
            need -= inside[at]
            at += 1
        found = min((bucket << shift) + at, n_places - 1)
        out[i] = n_places - 1 - found if from_top else found


@kernel
def insert_votes(values, weights, count, new_values, new_weights):
    """Put one more voter's value and weight among the `count` of every row, which stay sorted by value."""
    for i in range(values.shape[0]):
        v = new_values[i]
        row = values[i]
        mass = weights[i]
        at = count
        while at > 0 and row[at - 1] > v:
            row[at] = row[at - 1]
            mass[at] = mass[at - 1]
            at -= 1
        row[at] = v
        mass[at] = new_weights[i]


@kernel
def sorted_quantiles(values, weights, count, needs, from_top, out):
    """As `vote_quantiles`, of the first `count` values of every row, which are sorted."""
    for i in range(values.shape[0]):
        need = needs[i]
        at = count - 1 if from_top else 0
        step = -1 if from_top else 1
        for _ in range(count - 1):
            need -= weights[i, at]
            if need <= 0:
                break
            at += step
        out[i] = values[i, at]


# ---------------------------------------------------------------- the search for a test of a target
#
# A label is a bin of the target, in order. kind 0: a side may be right on all bins of one window, window k being the
# bins reach[k]..k. kind 1: it pays the distance to its weighted median, rate times. kind 2: table[value, bin] is what
# it earns on a bin for saying a value.


@kernel
def side_edge(kind, weights, reach, targets, rate, table):
    """The most that one side can earn, less what it then loses, from the weight of each bin of the target."""
    bins = weights.shape[0]
    total = np.int64(0)
    for k in range(bins):
        total += weights[k]
    if kind == 0:
        most = np.int64(0)
        inside = np.int64(0)
        first = 0
        for k in range(bins):
            inside += weights[k]
            while first < reach[k]:
                inside -= weights[first]
                first += 1
            most = max(most, inside)
        return np.float64(most - (total - most))
    if kind == 1:
        middle = 0
        so_far = weights[0]
        while so_far < total - so_far and middle < bins - 1:
            middle += 1
            so_far += weights[middle]
        distance = 0.0
        for k in range(bins):
            distance += np.float64(weights[k]) * abs(targets[k] - targets[middle])
        return np.float64(total) - rate * distance
    best = -np.inf
    for v in range(table.shape[0]):
        earned = 0.0
        for k in range(bins):
            earned += np.float64(weights[k]) * table[v, k]
        best = max(best, earned)
    return best


@kernel
def best_window_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, reach, abstains, found):
    """`best_target_threshold` of kind 0: all cuts of a column at once, window by window.

    Only labels and bins that weigh something are looked at: far fewer than there are, deep in a tree. upto[k, q]: the
    weight of the labels before the k-th of these, left of the q-th cut; a window is a difference of two.
    """
    labels = sums.shape[0]
    width = sums.shape[2]
    miss = width - 1
    present = np.empty(labels, dtype=np.int64)
    opens = np.empty(labels, dtype=np.int64)  # the first label, among those present, of the window of each
    n_present = 0
    for k in range(labels):
        if totals[k] > 0:
            present[n_present] = k
            at = 0
            while present[at] < reach[k]:
                at += 1
            opens[n_present] = at
            n_present += 1
    upto = np.zeros((n_present + 1, width), dtype=np.int64)
    all_upto = np.zeros(n_present + 1, dtype=np.int64)
    miss_upto = np.zeros(n_present + 1, dtype=np.int64)
    weight = np.empty(width, dtype=np.int64)
    place = np.empty(width, dtype=np.int64)  # the bins that weigh something
    best = np.empty((2, 2, width), dtype=np.int64)  # [missing on the right, side of the test, cut]: the best window
    for i in range(n_present):
        all_upto[i + 1] = all_upto[i] + totals[present[i]]
    total = all_upto[n_present]
    most = -np.inf
    for j in range(n_bins.shape[0]):
        cuts = n_bins[j] if has_missing[j] else n_bins[j] - 1
        if not ordered[j] or cuts <= 0:
            continue
        n_cuts = cuts
        if n_present < labels:  # few rows: many bins weigh nothing
            weight[:cuts] = 0
            for i in range(n_present):
                one = sums[present[i], j]
                for cut in range(cuts):
                    weight[cut] += one[cut]
            n_cuts = 0
            for cut in range(cuts):
                place[n_cuts] = cut
                n_cuts += int(weight[cut] != 0)
        best[:, :, :n_cuts] = 0
        for i in range(n_present):
            one = sums[present[i], j]
            before = upto[i]
            after = upto[i + 1]
            so_far = np.int64(0)
            if n_cuts == cuts:
                for cut in range(cuts):
                    so_far += one[cut]
                    after[cut] = before[cut] + so_far
            else:
                for q in range(n_cuts):
                    so_far += one[place[q]]
                    after[q] = before[q] + so_far
            miss_upto[i + 1] = miss_upto[i] + (one[miss] if has_missing[j] else np.int64(0))
            if i + 1 < n_present and opens[i + 1] == opens[i]:
                continue  # the next window holds all of this one
            opened = upto[opens[i]]  # windows at once, while the sums are near
            whole = all_upto[i + 1] - all_upto[opens[i]]
            missing = miss_upto[i + 1] - miss_upto[opens[i]]
            for side in range(0 if has_missing[j] else 1, 2):
                left = best[side, 0]
                right = best[side, 1]
                more = missing if side == 0 else np.int64(0)
                for q in range(n_cuts):
                    window = after[q] - opened[q] + more
                    left[q] = max(left[q], window)
                    right[q] = max(right[q], whole - window)
        last = upto[n_present]
        rows_left = np.int64(0)
        counted = 0
        for q in range(n_cuts):
            cut = q if n_cuts == cuts else place[q]
            if rows.shape[0] > 0:
                while counted <= cut:
                    rows_left += rows[j, counted]
                    counted += 1
            if last[q] == (last[q - 1] if q > 0 else np.int64(0)):
                continue  # a bin without weight is no place to cut
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                on_left = last[q] + (miss_upto[n_present] if side == 0 else np.int64(0))
                if on_left == 0 or on_left == total:
                    continue
                one_edge = np.float64(best[side, 0, q] - (on_left - best[side, 0, q]))
                other = np.float64(best[side, 1, q] - (total - on_left - best[side, 1, q]))
                edge = max(one_edge, 0.0) + max(other, 0.0) if abstains else one_edge + other
                if edge > most and (rows.shape[0] == 0 or enough_rows(rows, j, rows_left, side, min_rows)):
                    most = edge
                    found[0] = j
                    found[1] = cut
                    found[2] = 1 - side
    return most


@kernel
def distance_edge(totals, left, is_right, weight, moment, targets, rate):
    """Of the left side, or of what it leaves of the totals: its weight less `rate` times the distance to its median.

    weight, moment: the sums of the side's weights and of weight x target; only labels up to the median are looked at.
    """
    so_far = np.int64(0)
    some = 0.0
    middle = 0
    last = left.shape[0] - 1
    while True:
        here = totals[middle] - left[middle] if is_right else left[middle]
        so_far += here
        some += np.float64(here) * targets[middle]
        if so_far >= weight - so_far or middle == last:
            break
        middle += 1
    at = targets[middle]
    distance = (at * np.float64(so_far) - some) + ((moment - some) - at * np.float64(weight - so_far))
    return np.float64(weight) - rate * distance


@kernel
def best_distance_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, targets, rate, abstains, found):
    """`best_target_threshold` of kind 1: sums of weight x target are carried along, so that a side takes one pass."""
    labels = sums.shape[0]
    width = sums.shape[2]
    miss = width - 1
    middle = targets[labels // 2]  # sums of distances from here lose no digits where all targets are far from 0
    away = np.empty(labels, dtype=np.float64)
    by_bin = np.empty((width, labels), dtype=np.int64)
    left = np.empty(labels, dtype=np.int64)
    with_missing = np.empty(labels, dtype=np.int64)
    total = np.int64(0)
    total_moment = 0.0
    for k in range(labels):
        away[k] = targets[k] - middle
        total += totals[k]
        total_moment += np.float64(totals[k]) * away[k]
    most = -np.inf
    for j in range(n_bins.shape[0]):
        if not ordered[j]:
            continue
        missing = np.int64(0)
        missing_moment = 0.0
        for k in range(labels):
            one = sums[k, j]
            for b in range(n_bins[j]):
                by_bin[b, k] = one[b]
            by_bin[miss, k] = one[miss]
            missing += one[miss]
            missing_moment += np.float64(one[miss]) * away[k]
        left[:] = 0
        weight = np.int64(0)
        moment = 0.0
        rows_left = np.int64(0)
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            before = weight
            for k in range(labels):
                left[k] += by_bin[cut, k]
                weight += by_bin[cut, k]
                moment += np.float64(by_bin[cut, k]) * away[k]
            if rows.shape[0] > 0:
                rows_left += rows[j, cut]
            if weight == before:
                continue  # a bin without weight is no place to cut
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                here = weight + (missing if side == 0 else np.int64(0))
                if here == 0 or here == total:
                    continue
                here_moment = moment + (missing_moment if side == 0 else 0.0)
                mine = left
                if side == 0:
                    for k in range(labels):
                        with_missing[k] = left[k] + by_bin[miss, k]
                    mine = with_missing
                one_edge = distance_edge(totals, mine, False, here, here_moment, away, rate)
                other = distance_edge(totals, mine, True, total - here, total_moment - here_moment, away, rate)
                edge = max(one_edge, 0.0) + max(other, 0.0) if abstains else one_edge + other
                if edge > most and (rows.shape[0] == 0 or enough_rows(rows, j, rows_left, side, min_rows)):
                    most = edge
                    found[0] = j
                    found[1] = cut
                    found[2] = 1 - side
    return most


@kernel
def best_target_threshold(
    sums, totals, n_bins, has_missing, ordered, rows, min_rows, kind, reach, targets, rate, table, abstains, found
):
    """The ordered test with the largest edge, each side saying what earns it the most; see `side_edge`.

    abstains: a side that would lose says nothing. A test that leaves one side without weight is none. Ties: first
    column, first cut, missing on the left. found: column, cut, missing left. Returns the edge, -inf if no test.
    """
    if kind == 0:
        return best_window_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, reach, abstains, found)
    if kind == 1:
        return best_distance_threshold(
            sums, totals, n_bins, has_missing, ordered, rows, min_rows, targets, rate, abstains, found
        )
    labels = sums.shape[0]
    miss = sums.shape[2] - 1
    width = sums.shape[2]
    by_bin = np.empty((width, labels), dtype=np.int64)
    left = np.empty(labels, dtype=np.int64)
    here = np.empty(labels, dtype=np.int64)
    there = np.empty(labels, dtype=np.int64)
    edges = np.empty(2, dtype=np.float64)
    most = -np.inf
    for j in range(n_bins.shape[0]):
        if not ordered[j]:
            continue
        for k in range(labels):
            one = sums[k, j]
            for b in range(width):
                by_bin[b, k] = one[b]
        left[:] = 0
        rows_left = np.int64(0)
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            weighs = np.int64(0)
            for k in range(labels):
                left[k] += by_bin[cut, k]
                weighs |= by_bin[cut, k]
            if rows.shape[0] > 0:
                rows_left += rows[j, cut]
            if weighs == 0:
                continue  # a bin without weight is no place to cut
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                on_left = np.int64(0)
                on_right = np.int64(0)
                for k in range(labels):
                    here[k] = left[k] + (by_bin[miss, k] if side == 0 else np.int64(0))
                    there[k] = totals[k] - here[k]
                    on_left |= here[k]
                    on_right |= there[k]
                if on_left == 0 or on_right == 0:
                    continue
                edges[0] = side_edge(kind, here, reach, targets, rate, table)
                edges[1] = side_edge(kind, there, reach, targets, rate, table)
                if abstains:
                    edges[0] = max(edges[0], 0.0)
                    edges[1] = max(edges[1], 0.0)
                edge = edges[0] + edges[1]
                if edge > most and (rows.shape[0] == 0 or enough_rows(rows, j, rows_left, side, min_rows)):
                    most = edge
                    found[0] = j
                    found[1] = cut
                    found[2] = 1 - side
    return most


@kernel
def best_window(targets, weights, eps):
    """First and last of the sorted targets within eps of one value, for the most weight; of equals the first.

    Most windows need not be looked at: one that ends among WINDOW_ROWS rows holds no more than these and those before
    them that are near enough, by blocks.
    """
    n = targets.shape[0]
    blocks = (n + WINDOW_ROWS - 1) // WINDOW_ROWS
    upto = np.zeros(blocks + 1, dtype=np.int64)
    for block in range(blocks):
        total = np.int64(0)
        for row in range(block * WINDOW_ROWS, min(n, (block + 1) * WINDOW_ROWS)):
            total += weights[row]
        upto[block + 1] = upto[block] + total
    rounding = 1e-14 * (abs(targets[0]) + abs(targets[n - 1])) if n > 0 else 0.0
    opens = np.empty(blocks, dtype=np.int64)  # the first block that a window which ends in a block may reach into
    fullest = 0
    at = 0
    for block in range(blocks):
        start = targets[block * WINDOW_ROWS]
        while at < block and start - targets[(at + 1) * WINDOW_ROWS] > 2.0 * eps * (1.0 + 1e-14) + rounding:
            at += 1
        opens[block] = at
        if upto[block + 1] - upto[at] > upto[fullest + 1] - upto[opens[fullest]]:
            fullest = block
    near = 2.0 * eps * (1.0 - 1e-14) - rounding  # up to this distance no rounding can matter
    most = np.int64(-1)
    best_first = 0
    best_last = 0
    enough = np.int64(-1)  # what the fullest block comes to: blocks that cannot come to it are left out
    for turn in range(-1 if blocks > 4 else 0, blocks):
        block = fullest if turn < 0 else turn
        if upto[block + 1] - upto[opens[block]] < enough:
            continue
        first = opens[block] * WINDOW_ROWS
        inside = upto[block] - upto[opens[block]]
        for last in range(block * WINDOW_ROWS, min(n, (block + 1) * WINDOW_ROWS)):
            inside += weights[last]
            while targets[last] - targets[first] > near:
                middle = targets[first] + 0.5 * (targets[last] - targets[first])
                if targets[last] - middle <= eps and middle - targets[first] <= eps:
                    break
                inside -= weights[first]
                first += 1
            if inside > most:
                most = inside
                best_first = first
                best_last = last
        if turn < 0:
            enough = most
            most = np.int64(-1)
    return best_first, best_last


@kernel
def best_mean_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, found):
    """The ordered test that explains the most squares; sums[0, column, bin]: weights, sums[1]: of weight x target.

    A test that leaves one side without weight is none. Ties: first column, first cut, missing on the left. found:
    column, cut, missing left. Returns the explained squares, -inf if there is no test.
    """
    miss = sums.shape[2] - 1
    most = -np.inf
    for j in range(n_bins.shape[0]):
        if not ordered[j]:
            continue
        weights = sums[0, j]
        targets = sums[1, j]
        weight = np.int64(0)
        target = np.int64(0)
        rows_left = np.int64(0)
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            weight += weights[cut]
            target += targets[cut]
            if rows.shape[0] > 0:
                rows_left += rows[j, cut]
            if weights[cut] == 0 and targets[cut] == 0:
                continue  # a bin without weight is no place to cut
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                here = weight + (weights[miss] if side == 0 else np.int64(0))
                there = totals[0] - here
                if here <= 0 or there <= 0:
                    continue
                said = np.float64(target + (targets[miss] if side == 0 else np.int64(0)))
                other = np.float64(totals[1] - target - (targets[miss] if side == 0 else np.int64(0)))
                score = said * said / np.float64(here) + other * other / np.float64(there)
                if score > most and (rows.shape[0] == 0 or enough_rows(rows, j, rows_left, side, min_rows)):
                    most = score
                    found[0] = j
                    found[1] = cut
                    found[2] = 1 - side
    return most
