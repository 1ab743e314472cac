// Distinct values, bins, codes, exp and log, and draws of columns.
#include "electorate/codes.hpp"
#include "electorate/drawing.hpp"
#include "electorate/special.hpp"
#include "electorate/values.hpp"

#include "methods.hpp"

namespace electorate::python {
namespace {

Made<i64, 1> made(std::vector<i64> values) { return {{static_cast<i64>(values.size())}, std::move(values)}; }

Made<u64, 1> hash_values_made(Array<const double, 1> values) {
  Made<u64, 1> hashes{{values.shape[0]}, std::vector<u64>(static_cast<std::size_t>(values.shape[0]))};
  hash_values(values.data, values.shape[0], hashes.values.data());
  return hashes;
}

void fold_rows_any(std::variant<Array<const double, 2>, Array<const float, 2>> array, Array<u64, 1> hashes) {
  std::visit(
      [&]<class T>(Array<const T, 2> a) {
        require(hashes.shape[0] >= a.shape[0], "there are fewer hashes than rows");
        fold_rows<T>(a, hashes);
      },
      array);
}

Made<i64, 1> cuts_made(Array<const i64, 1> weights, i64 max_bins) { return made(cuts(weights, max_bins)); }

using Cells = std::variant<Array<u8, 3>, Array<u16, 3>, Array<i32, 3>>;

// Whether each of some columns has 2^depth edges, and there is room to count them.
void require_edges(Array<const double, 2> edges, Array<const i64, 1> depths, i64 columns, i64 rows, Array<i32, 1> scratch) {
  require(least(edges.shape[0], depths.shape[0]) >= columns, "there are fewer edges than columns");
  for (i64 j = 0; j < columns; j++)
    require(depths[j] >= 0 && depths[j] < 31 && i64{1} << depths[j] <= edges.shape[1], "there are fewer edges than 2^depth");
  require(scratch.shape[0] >= rows, "the scratch array has fewer rows than the block");
}

template <class T>
void require_room(Array<T, 3> out, i64 columns, Array<const i64, 1> dest, i64 rows) {
  require(out.shape[0] * out.shape[2] >= columns, "there are codes of fewer columns than the block has");
  require(dest.shape[0] >= rows, "there are fewer places than rows");
}

void encode_any(Array<const double, 2> block, Array<const double, 2> edges, Array<const i64, 1> depths, i64 missing,
                Array<const i64, 1> dest, Cells out, Array<i32, 1> scratch) {
  require_edges(edges, depths, block.shape[0], block.shape[1], scratch);
  std::visit(
      [&](auto codes) {
        require_room(codes, block.shape[0], dest, block.shape[1]);
        encode(block, edges, depths, missing, dest, codes, scratch);
      },
      out);
}

bool encode_array_any(std::variant<Array<const double, 2>, Array<const float, 2>> array, Array<const double, 2> edges,
                      Array<const i64, 1> depths, i64 missing, Array<const i64, 1> dest, Cells out, Array<double, 2> block,
                      Array<i32, 1> scratch) {
  return std::visit(
      [&]<class T>(Array<const T, 2> rows, auto codes) {
        require(block.shape[0] == rows.shape[1] && block.shape[1] > 0, "the block has other columns than the array");
        require_edges(edges, depths, rows.shape[1], block.shape[1], scratch);
        require_room(codes, rows.shape[1], dest, rows.shape[0]);
        return encode_array(rows, edges, depths, missing, dest, codes, block, scratch);
      },
      array, out);
}

void require_columns(Array<const i64, 1> columns, Array<const double, 2> block, Array<i64, 2> votes) {
  for (i64 j = 0; j < columns.shape[0]; j++) require(columns[j] >= 0 && columns[j] < block.shape[0], "there is no such column");
  require(votes.shape[1] >= block.shape[1], "there are votes of fewer rows than the block has");
}

}  // namespace

std::vector<PyMethodDef> values_methods() {
  return {
      kernel<"mix", mix>(),
      kernel<"hash_values", hash_values_made>(),
      kernel<"fold", fold>(),
      kernel<"fold_rows", fold_rows_any>(),
      kernel<"tally", tally>([](auto values, auto weights, auto start, auto keys, auto totals, auto info, auto capacity) {
        const i64 size = keys.shape[0];
        require(start >= 0 && weights.shape[0] >= values.shape[0] && info.shape[0] >= 3, "values and weights do not fit");
        require(totals.shape[0] >= size && (size & (size - 1)) == 0 && (size == 0 || capacity < size), "the table is not one");
      }),
      kernel<"select", select>([](auto values, auto weights, auto start, auto, auto chosen, auto chosen_weights, auto info) {
        require(start >= 0 && weights.shape[0] >= values.shape[0] && info.shape[0] >= 3, "values and weights do not fit");
        require(least(chosen.shape[0], chosen_weights.shape[0]) >= values.shape[0] - start, "there is too little room");
      }),
      kernel<"cuts", cuts_made>(),
      kernel<"first_infinite", first_infinite>(),
      kernel<"encode", encode_any>(),
      kernel<"encode_array", encode_array_any>(),
      kernel<"join", join>([](auto codes, auto columns, auto sizes, auto place, auto first, auto steps, auto count, auto dest,
          auto out) {
        require(codes.shape[1] >= dest.shape[0] && codes.shape[2] == out.shape[2], "codes have other rows or groups");
        const i64 known = least(least(sizes.shape[0], place.shape[0]), least(first.shape[0], count.shape[0]));
        for (i64 c = 0; c < columns.shape[0]; c++) {
          const i64 j = columns[c];
          require(j >= 0 && j < known && j < codes.shape[0] * codes.shape[2], "there is no such column");
          require(place[j] >= 0 && place[j] < out.shape[0] * out.shape[2], "there is no such stored column");
          require(first[j] >= 0 && sizes[j] >= 0 && first[j] + 256 * sizes[j] <= steps.shape[0], "there are too few steps");
        }
      }),
      kernel<"lookup", lookup>([](auto block, auto columns, auto edges, auto depths, auto first, auto tables, auto votes,
          auto scratch) {
        const i64 n = columns.shape[0];
        require_columns(columns, block, votes);
        require_edges(edges, depths, n, block.shape[1], scratch);
        require(first.shape[0] > n && tables.shape[0] >= votes.shape[0] && first[n] <= tables.shape[1], "tables do not fit");
      }),
      kernel<"climb", climb>([](auto block, auto columns, auto first, auto edges, auto rises, auto absent, auto votes) {
        const i64 n = columns.shape[0] * votes.shape[0];
        require_columns(columns, block, votes);
        require(first.shape[0] > n && absent.shape[0] >= n && first[n] <= least(edges.shape[0], rises.shape[0]),
                "edges and rises do not fit");
      }),
      kernel<"exp", &electorate::exp>(),
      kernel<"log", &electorate::log>(),
      kernel<"log_total", log_total>(),
      kernel<"exp_of", exp_of>(),
      kernel<"log_of", log_of>(),
      kernel<"fold_key", fold_key>(),
      kernel<"draw_columns", draw_columns>(),
  };
}

}  // namespace electorate::python
