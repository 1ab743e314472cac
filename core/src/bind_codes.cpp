#include "electorate/codes.hpp"

#include "methods.hpp"

namespace electorate::python {
namespace {

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

bool join_checked(Array<const u8, 3> codes, Array<const i64, 1> columns, Array<const i64, 1> sizes, Array<const i64, 1> place,
                  Array<const i64, 1> first, Array<i16, 1> steps, Array<i64, 1> count, Array<const i64, 1> dest,
                  Array<u8, 3> out) {
  require(codes.shape[1] >= dest.shape[0] && codes.shape[2] == out.shape[2], "codes have other rows or groups");
  const i64 known = least(least(sizes.shape[0], place.shape[0]), least(first.shape[0], count.shape[0]));
  for (i64 c = 0; c < columns.shape[0]; c++) {
    const i64 j = columns[c];
    require(j >= 0 && j < known && j < codes.shape[0] * codes.shape[2], "there is no such column");
    require(place[j] >= 0 && place[j] < out.shape[0] * out.shape[2], "there is no such stored column");
    require(first[j] >= 0 && sizes[j] >= 0 && first[j] + 256 * sizes[j] <= steps.shape[0], "there are too few steps");
  }
  return join(codes, columns, sizes, place, first, steps, count, dest, out);
}

void require_columns(Array<const i64, 1> columns, Array<const double, 2> block, Array<i64, 2> votes) {
  for (i64 j = 0; j < columns.shape[0]; j++) require(columns[j] >= 0 && columns[j] < block.shape[0], "there is no such column");
  require(votes.shape[1] >= block.shape[1], "there are votes of fewer rows than the block has");
}

void lookup_checked(Array<const double, 2> block, Array<const i64, 1> columns, Array<const double, 2> edges,
                    Array<const i64, 1> depths, Array<const i64, 1> first, Array<const i64, 2> tables, Array<i64, 2> votes,
                    Array<i32, 1> scratch) {
  const i64 n = columns.shape[0];
  require_columns(columns, block, votes);
  require_edges(edges, depths, n, block.shape[1], scratch);
  require(first.shape[0] > n && tables.shape[0] >= votes.shape[0] && first[n] <= tables.shape[1], "tables do not fit");
  lookup(block, columns, edges, depths, first, tables, votes, scratch);
}

void climb_checked(Array<const double, 2> block, Array<const i64, 1> columns, Array<const i64, 1> first,
                   Array<const double, 1> edges, Array<const i64, 1> rises, Array<const i64, 1> absent, Array<i64, 2> votes) {
  const i64 n = columns.shape[0] * votes.shape[0];
  require_columns(columns, block, votes);
  require(first.shape[0] > n && absent.shape[0] >= n && first[n] <= least(edges.shape[0], rises.shape[0]),
          "edges and rises do not fit");
  climb(block, columns, first, edges, rises, absent, votes);
}

}  // namespace

std::vector<PyMethodDef> codes_methods() {
  return {
      kernel<"encode", encode_any>(),
      kernel<"encode_array", encode_array_any>(),
      kernel<"join", join_checked>(),
      kernel<"lookup", lookup_checked>(),
      kernel<"climb", climb_checked>(),
  };
}

}  // namespace electorate::python
