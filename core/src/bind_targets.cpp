// Numeric targets of leaves, and weighted medians of votes.
#include "electorate/leaf_targets.hpp"
#include "electorate/median.hpp"

#include "methods.hpp"

namespace electorate::python {
namespace {

void require_weights(const TargetWeights& of) {
  const i64 rows = of.log.shape[0];
  const auto fits = [rows](const auto& factor) { return factor.empty() || factor.shape[0] >= rows; };
  require(of.target.shape[0] >= rows && fits(of.kappa) && fits(of.real) && fits(of.times), "weights and targets do not fit");
}

void weigh_targets_checked(TargetWeights of, Array<const u32, 1> rows, Array<i64, 1> out) {
  require_weights(of);
  require(out.shape[0] >= rows.shape[0], "there is too little room");
  weigh_targets(of, rows.data, rows.shape[0], out.data);
}

void sum_targets_any(PackedCodes codes, Array<const i64, 1> grid, TargetWeights of, Array<const u32, 1> order, NodeArrays nodes,
                     Array<const i64, 1> numbers, Array<i64, 4> sums, bool clear) {
  require_weights(of);
  require(sums.shape[0] >= numbers.shape[0] && sums.shape[1] == 2, "there are sums of fewer nodes");
  std::visit(
      [&]<class T>(Array<const T, 2> packed) {
        const i64 columns = packed.shape[0];
        require(sums.shape[2] == columns || (sizeof(T) == 4 && sums.shape[2] == 4 * columns), "columns do not fit");
        sum_targets(packed, grid, of, order, nodes, numbers, sums, clear);
      },
      codes);
}

void require_leaves(Array<const i32, 1> leaf, i64 targets, i64 weights, i64 ends) {
  require(least(leaf.shape[0], weights) >= targets, "targets, weights and leaves do not fit");
  require(ends > 0, "there are no ends of leaves");
}

void require_rows(Array<const double, 2> values, Array<const i64, 2> weights, i64 needs, i64 out) {
  const i64 rows = values.shape[0];
  require(needs >= rows && out >= rows, "values and needs do not fit");
  require(rows == 0 || weights.shape[0] == 1 || weights.shape[0] >= rows, "there are weights of fewer rows than values");
  require(weights.shape[1] >= values.shape[1] || rows == 0, "there are weights of fewer voters than values");
}

}  // namespace

std::vector<PyMethodDef> targets_methods() {
  return {
      kernel<"weigh_targets", weigh_targets_checked>(),
      kernel<"sum_targets", sum_targets_any>(),
      kernel<"mass_up_to", mass_up_to>([](auto leaf, auto targets, auto weights, auto points, auto ends, auto mass,
          auto following) {
        require_leaves(leaf, targets.shape[0], weights.shape[0], ends.shape[0]);
        const i64 n = ends[ends.shape[0] - 1];
        require(points.shape[0] >= n && following.shape[0] >= n, "points do not fit");
        require(n == 0 || (mass.shape[0] >= 2 && mass.shape[1] >= n), "points do not fit");
      }),
      kernel<"targets_between", targets_between>([](auto leaf, auto targets, auto weights, auto ranges, auto ends,
          auto found_leaf, auto found, auto mass) {
        require_leaves(leaf, targets.shape[0], weights.shape[0], ends.shape[0]);
        const i64 n = ends[ends.shape[0] - 1];
        require(ranges.shape[0] >= n && (n == 0 || ranges.shape[1] >= 2), "ranges do not fit");
        require(least(found_leaf.shape[0], mass.shape[0]) >= found.shape[0], "the arrays of the answer do not fit");
      }),
      kernel<"weigh_near", weigh_near>([](auto leaf, auto targets, auto weights, auto values, auto, auto found) {
        require_leaves(leaf, targets.shape[0], weights.shape[0], 1);
        require(found.shape[0] >= values.shape[0] && (found.shape[0] == 0 || found.shape[1] >= 2), "values and weights do not fit");
      }),
      kernel<"targets_by_leaf", targets_by_leaf>([](auto leaf, auto targets, auto weights, auto, auto targets_out,
          auto weights_out) {
        const i64 n = leaf.shape[0];
        require(least(targets.shape[0], weights.shape[0]) >= n, "targets, weights and leaves do not fit");
        require(least(targets_out.shape[0], weights_out.shape[0]) >= n, "there is too little room");
      }),
      kernel<"vote_quantiles", vote_quantiles>([](auto values, auto weights, auto needs, auto, auto out) {
        require_rows(values, weights, needs.shape[0], out.shape[0]);
      }),
      kernel<"place_quantiles", place_quantiles>([](auto places, auto weights, auto needs, auto n_places, auto, auto out) {
        require_rows(places, weights, needs.shape[0], out.shape[0]);
        require(n_places > 0 || (n_places == 0 && places.shape[1] == 0), "there are values, and no places");
      }),
      kernel<"insert_votes", insert_votes>([](auto values, auto weights, auto count, auto new_values, auto new_weights) {
        require_rows(values, weights, new_values.shape[0], new_weights.shape[0]);
        require(count >= 0 && weights.shape[0] >= values.shape[0], "values and weights do not fit");
      }),
      kernel<"sorted_quantiles", sorted_quantiles>([](auto values, auto weights, auto count, auto needs, auto, auto out) {
        require_rows(values, weights, needs.shape[0], out.shape[0]);
        require(count >= 0 && count <= values.shape[1] && weights.shape[0] >= values.shape[0], "values and weights do not fit");
      }),
  };
}

}  // namespace electorate::python
