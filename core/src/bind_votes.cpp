#include "electorate/votes.hpp"

#include "methods.hpp"

namespace electorate::python {
namespace {

void require_votes(i64 rows, i64 outputs, Array<i64, 2> votes, i64 units) {
  require(votes.shape[1] >= rows && (rows == 0 || units >= outputs), "votes and units do not fit");
}

void walk_checked(Array<const i32, 2> cells, Array<const i64, 1> offsets, Array<const i32, 1> place, Array<const i32, 1> cut,
                  Array<const i32, 1> members, Array<const bool, 1> missing_left, Array<const i32, 2> children,
                  Array<const bool, 2> sets, Array<const i64, 2> units, Array<i64, 2> votes) {
  require_votes(cells.shape[1], votes.shape[0], votes, units.shape[1]);
  walk(cells, offsets, {place, cut, members, missing_left, children, sets}, units, votes);
}

void walk_ordered_checked(Array<const i32, 2> cells, Array<const i64, 1> offsets, Array<const i32, 1> depths,
                          Array<const i32, 1> place, Array<const i32, 1> low, Array<const i32, 1> cut,
                          Array<const i32, 2> kids, Array<const i64, 2> units, Array<i64, 2> votes, Array<i32, 1> scratch) {
  require_votes(cells.shape[1], votes.shape[0], votes, units.shape[1]);
  require(scratch.shape[0] >= cells.shape[1] && depths.shape[0] >= offsets.shape[0] - 1, "rows or depths do not fit");
  require(kids.shape[0] < i64{1} << 30 && (kids.shape[0] < 2 || kids.stride[0] == 2), "kids are not one array");
  const bool few = (cells.shape[0] + 1) * most(cells.stride[0], i64{1}) < i64{1} << 31;
  const auto walked = few ? &walk_ordered<i32> : &walk_ordered<i64>;
  walked(cells, offsets, depths, place, low, cut, kids, units, votes, scratch);
}

// Whether there is room for the leaves of trees with the splits up to `last`.
void require_masks(Array<const u8, 2> cells, i64 last, const MaskTests& tests, Array<u8, 2> planes, Array<u8, 1> leaf) {
  require(planes.shape[1] >= cells.shape[1] && leaf.shape[0] >= cells.shape[1], "planes have fewer rows than cells");
  require(last <= tests.place.shape[0] && (last == 0 || planes.shape[0] >= tests.keep.shape[1]), "there are too few planes");
}

void require_trees(Array<const i64, 1> offsets, Array<const i64, 1> leaves, i64 units) {
  require(leaves.shape[0] >= offsets.shape[0] && offsets.shape[0] > 0, "leaves and offsets do not fit");
  require(leaves[offsets.shape[0] - 1] <= units, "there are fewer units than leaves");
}

void cross_out_checked(Array<const u8, 2> cells, i64 first, i64 last, MaskTests tests, Array<u8, 2> planes, Array<u8, 1> leaf) {
  require_masks(cells, last, tests, planes, leaf);
  cross_out(cells, first, last, tests, planes, leaf);
}

void vote_checked(Array<const u8, 2> cells, Array<const i64, 1> offsets, Array<const i64, 1> leaves, MaskTests tests,
                  Array<const i64, 2> units, Array<i64, 2> votes, Array<u8, 2> planes, Array<u8, 1> leaf) {
  require_trees(offsets, leaves, units.shape[1]);
  require_votes(cells.shape[1], votes.shape[0], votes, units.shape[0]);
  require_masks(cells, offsets[offsets.shape[0] - 1], tests, planes, leaf);
  vote(cells, offsets, leaves, tests, units, votes, planes, leaf);
}

void tree_outputs_checked(Array<const u8, 2> cells, Array<const i64, 1> offsets, Array<const i64, 1> leaves, MaskTests tests,
                          Array<const double, 2> values, Array<double, 3> out, Array<u8, 2> planes, Array<u8, 1> leaf) {
  require_trees(offsets, leaves, values.shape[1]);
  require(out.shape[1] == cells.shape[1] && out.shape[2] >= offsets.shape[0] - 1 && values.shape[0] >= out.shape[0],
          "outputs and values do not fit");
  require_masks(cells, offsets[offsets.shape[0] - 1], tests, planes, leaf);
  tree_outputs(cells, offsets, leaves, tests, values, out, planes, leaf);
}

}  // namespace

std::vector<PyMethodDef> votes_methods() {
  return {
      kernel<"walk", walk_checked>(),
      kernel<"walk_ordered", walk_ordered_checked>(),
      kernel<"cross_out", cross_out_checked>(),
      kernel<"vote", vote_checked>(),
      kernel<"tree_outputs", tree_outputs_checked>(),
  };
}

}  // namespace electorate::python
