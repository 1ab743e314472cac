#include "electorate/leaf_targets.hpp"

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

void mass_up_to_checked(Array<const i32, 1> leaf, Array<const double, 1> targets, Array<const i64, 1> weights,
                        Array<const double, 1> points, Array<const i64, 1> ends, Array<i64, 2> mass, Array<double, 1> following) {
  require_leaves(leaf, targets.shape[0], weights.shape[0], ends.shape[0]);
  const i64 n = ends[ends.shape[0] - 1];
  require(points.shape[0] >= n && following.shape[0] >= n, "points do not fit");
  require(n == 0 || (mass.shape[0] >= 2 && mass.shape[1] >= n), "points do not fit");
  mass_up_to(leaf, targets, weights, points, ends, mass, following);
}

i64 targets_between_checked(Array<const i32, 1> leaf, Array<const double, 1> targets, Array<const i64, 1> weights,
                            Array<const double, 2> ranges, Array<const i64, 1> ends, Array<i64, 1> found_leaf,
                            Array<double, 1> found, Array<i64, 1> mass) {
  require_leaves(leaf, targets.shape[0], weights.shape[0], ends.shape[0]);
  const i64 n = ends[ends.shape[0] - 1];
  require(ranges.shape[0] >= n && (n == 0 || ranges.shape[1] >= 2), "ranges do not fit");
  require(least(found_leaf.shape[0], mass.shape[0]) >= found.shape[0], "the arrays of the answer do not fit");
  return targets_between(leaf, targets, weights, ranges, ends, found_leaf, found, mass);
}

void weigh_near_checked(Array<const i32, 1> leaf, Array<const double, 1> targets, Array<const i64, 1> weights,
                        Strided<const double> values, double eps, Array<i64, 2> found) {
  require_leaves(leaf, targets.shape[0], weights.shape[0], 1);
  require(found.shape[0] >= values.shape[0] && (found.shape[0] == 0 || found.shape[1] >= 2), "values and weights do not fit");
  weigh_near(leaf, targets, weights, values, eps, found);
}

void targets_by_leaf_checked(Array<const i32, 1> leaf, Array<const double, 1> targets, Array<const i64, 1> weights,
                             Array<i64, 1> n_rows, Array<double, 1> targets_out, Array<i64, 1> weights_out) {
  const i64 n = leaf.shape[0];
  require(least(targets.shape[0], weights.shape[0]) >= n, "targets, weights and leaves do not fit");
  require(least(targets_out.shape[0], weights_out.shape[0]) >= n, "there is too little room");
  targets_by_leaf(leaf, targets, weights, n_rows, targets_out, weights_out);
}

}  // namespace

std::vector<PyMethodDef> leaf_targets_methods() {
  return {
      kernel<"weigh_targets", weigh_targets_checked>(),
      kernel<"sum_targets", sum_targets_any>(),
      kernel<"mass_up_to", mass_up_to_checked>(),
      kernel<"targets_between", targets_between_checked>(),
      kernel<"weigh_near", weigh_near_checked>(),
      kernel<"targets_by_leaf", targets_by_leaf_checked>(),
  };
}

}  // namespace electorate::python
