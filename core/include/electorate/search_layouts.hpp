// Groups of arrays that searches take as one argument: NamedTuples of electorate/kernels/layouts.py, field by field.
#pragma once
#include <tuple>

#include "electorate/array.hpp"

namespace electorate {

using Ints = Array<const i64, 1>;
using Flags = Array<const bool, 1>;
using Sums = Array<const i64, 3>;  // [label, column, bin]
using RowCounts = Array<const i64, 2>;  // [column, bin]

struct ColumnLayout {
  Ints n_bins;
  Flags has_missing, ordered;
  Ints number;
  Array<const i64, 2> seen;
  static constexpr const char* name = "ColumnLayout";
  static constexpr auto fields = std::tuple(&ColumnLayout::n_bins, &ColumnLayout::has_missing, &ColumnLayout::ordered,
                                            &ColumnLayout::number, &ColumnLayout::seen);
};

struct SplitRule {
  i64 criterion, n_labels, min_samples_leaf, min_samples_split, n_drawn;
  static constexpr const char* name = "SplitRule";
  static constexpr auto fields = std::tuple(&SplitRule::criterion, &SplitRule::n_labels, &SplitRule::min_samples_leaf,
                                            &SplitRule::min_samples_split, &SplitRule::n_drawn);
};

struct TargetRule {
  i64 kind;
  Ints reach;
  Array<const double, 1> targets, away;
  double rate;
  Array<const double, 2> table;
  bool abstains;
  static constexpr const char* name = "TargetRule";
  static constexpr auto fields = std::tuple(&TargetRule::kind, &TargetRule::reach, &TargetRule::targets, &TargetRule::away,
                                            &TargetRule::rate, &TargetRule::table, &TargetRule::abstains);
};

}  // namespace electorate
