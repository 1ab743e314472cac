#include "checks.hpp"

namespace electorate::python {
namespace {

void evaluate_checked(i64 formula, Array<const double, 1> state, Array<const double, 1> first, double a, double b, double c,
                      Array<double, 1> out) {
  require(state.shape[0] >= out.shape[0] && first.shape[0] >= out.shape[0], "there are fewer numbers than results");
  evaluate(formula, state, first, a, b, c, out);
}

i64 advance_checked(PackedCodes packed, RowArrays rows, Column column, Array<const u8, 1> leaf_of_code,
                    Array<const double, 3> gains, Formulas formulas, Array<double, 2> state, Array<i64, 2> grids,
                    Array<i64, 2> totals, Array<i64, 4> sums, bool clear, i64 first_row, i64 last_row) {
  check_advance(rows, gains, formulas, state, grids, totals, first_row, last_row);
  require(std::visit([](auto c) { return c.shape[0]; }, column) >= last_row || gains.empty(), "the column is too short");
  require(sums.shape[0] <= grids.shape[0], "there are more histograms than channels");
  if (sums.shape[0] > 0) check_sums(packed, rows.group, last_row, sums.shape[1], sums.shape[2]);
  return advance(packed, rows, column, leaf_of_code, gains, formulas, state, grids, totals, sums, clear, first_row, last_row);
}

}  // namespace

std::vector<PyMethodDef> weights_methods() {
  return {kernel<"evaluate", evaluate_checked>(), kernel<"advance", advance_checked>()};
}

}  // namespace electorate::python
