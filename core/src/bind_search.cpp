#include "electorate/search.hpp"

#include "search_checks.hpp"

namespace electorate::python {
namespace {

using Found = Array<i64, 1>;

i64 best_threshold_of(Sums sums, Ints totals, Ints n_bins, Flags has_missing, Flags ordered, RowCounts rows, i64 min_rows,
                      Found found) {
  check_node(sums, totals, n_bins, has_missing, ordered, rows, found);
  return best_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, found);
}

i64 best_common_threshold_of(Sums left, Sums whole, Ints totals_left, Ints totals, Ints n_bins, Flags has_missing,
                             Flags ordered, i64 taken, Found found) {
  check_node(whole, totals, n_bins, has_missing, ordered, {}, found);
  check_node(left, totals_left, n_bins, has_missing, ordered, {}, found);
  require(left.shape[0] == whole.shape[0] && left.shape[2] == whole.shape[2], "left and whole differ in shape");
  return best_common_threshold(left, whole, totals_left, totals, n_bins, has_missing, ordered, taken, found);
}

double cheapest_threshold_of(Sums sums, Ints totals, Sums squares, Ints square_totals, Ints n_bins, Flags has_missing,
                             Flags ordered, double lam, double spread, Found found) {
  check_node(sums, totals, n_bins, has_missing, ordered, {}, found);
  check_node(squares, square_totals, n_bins, has_missing, ordered, {}, found);
  require(sums.shape[0] == 2 && squares.shape[0] == 2, "sums and squares are of two labels");
  require(sums.shape[2] == squares.shape[2], "sums and squares differ in shape");
  return cheapest_threshold(sums, totals, squares, square_totals, n_bins, has_missing, ordered, lam, spread, found);
}

void send_left_of(Sums histogram, Ints seen, i64 column, i64 cut, i64 missing_left, Array<bool, 1> on_left,
                  Array<i64, 2> sides) {
  const i64 bins = on_left.shape[0];
  require(0 <= column && column < histogram.shape[1] && cut >= -1, "there is no such threshold");
  require(bins == 0 || (seen.shape[0] >= bins - 1 && histogram.shape[2] == bins), "the numbers of bins differ");
  require(sides.shape[0] >= 2 && sides.shape[1] >= histogram.shape[0], "sides is too small");
  send_left(histogram, seen, column, cut, missing_left, on_left, sides);
}

double purity_of(i64 criterion, Strided<const i64> left, Ints totals) {
  require(left.shape[0] == totals.shape[0], "left and totals differ in length");
  return purity(criterion, left, totals);
}

double purest_threshold_of(Sums sums, Ints totals, Ints n_bins, Flags has_missing, Flags ordered, RowCounts rows,
                           i64 min_rows, i64 criterion, Found found) {
  check_node(sums, totals, n_bins, has_missing, ordered, rows, found);
  return purest_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, criterion, found);
}

i64 best_subset_of(Sums sums, Ints n_bins, Flags has_missing, Flags ordered, RowCounts rows, i64 min_rows, Found found) {
  check_columns(sums, n_bins, has_missing, ordered, rows);
  require(found.shape[0] >= 3, "found has less than three cells");
  return best_subset(sums, n_bins, has_missing, ordered, rows, min_rows, found);
}

double purest_subset_of(Sums sums, Ints totals, Ints n_bins, Flags ordered, RowCounts rows, i64 min_rows, i64 criterion,
                        Found found, Array<bool, 1> on_left) {
  check_node(sums, totals, n_bins, ordered, ordered, rows, found);
  require(on_left.shape[0] == sums.shape[2], "on_left and sums differ in the number of bins");
  return purest_subset(sums, totals, n_bins, ordered, rows, min_rows, criterion, found, on_left);
}

}  // namespace

std::vector<PyMethodDef> search_methods() {
  return {
      kernel<"best_threshold", best_threshold_of>(),
      kernel<"best_common_threshold", best_common_threshold_of>(),
      kernel<"cheapest_threshold", cheapest_threshold_of>(),
      kernel<"cost_at_best", cost_at_best>(),
      kernel<"send_left", send_left_of>(),
      kernel<"purity", purity_of>(),
      kernel<"is_pure", is_pure>(),
      kernel<"purest_threshold", purest_threshold_of>(),
      kernel<"best_subset", best_subset_of>(),
      kernel<"purest_subset", purest_subset_of>(),
  };
}

}  // namespace electorate::python
