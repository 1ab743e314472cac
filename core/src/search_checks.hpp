// Checks of the arguments that most searches have in common.
#pragma once
#include "electorate/search_layouts.hpp"

#include "methods.hpp"

namespace electorate::python {

inline void check_columns(Sums sums, Ints n_bins, Flags has_missing, Flags ordered, RowCounts rows) {
  const i64 columns = n_bins.shape[0], bins = sums.shape[2] - 1;
  require(has_missing.shape[0] >= columns && ordered.shape[0] >= columns, "has_missing or ordered is too short");
  require(columns == 0 || (sums.shape[1] >= columns && bins >= 0), "there are more columns than sums");
  require(rows.shape[0] == 0 || (rows.shape[0] >= columns && rows.shape[1] == bins + 1), "rows and sums differ in shape");
  for (i64 j = 0; j < columns; j++) require(0 <= n_bins[j] && n_bins[j] <= bins, "a column has more bins than sums");
}

inline void check_node(Sums sums, Ints totals, Ints n_bins, Flags has_missing, Flags ordered, RowCounts rows,
                       Array<i64, 1> found) {
  check_columns(sums, n_bins, has_missing, ordered, rows);
  require(totals.shape[0] >= sums.shape[0], "totals is too short");
  require(found.shape[0] >= 3, "found has less than three cells");
}

}  // namespace electorate::python
