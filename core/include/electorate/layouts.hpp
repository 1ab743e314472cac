// Groups of arrays that kernels take as one argument: the NamedTuples of electorate/kernels/layouts.py, field by field.
#pragma once
#include <tuple>
#include <variant>

#include "electorate/array.hpp"

namespace electorate {

// Codes as words of four columns [word, row], or codes of more than 8 bits [column, row].
using PackedCodes = std::variant<Array<const u32, 2>, Array<const u16, 2>, Array<const u8, 2>>;
// Codes [group, row, column of the group].
using Codes = std::variant<Array<const u8, 3>, Array<const u16, 3>>;

struct RowArrays {
  Array<const i64, 1> starts, group;
  Array<const double, 1> real;
  Array<const i64, 1> times, counts;
  double scale;
  static constexpr const char* name = "RowArrays";
  static constexpr auto fields = std::tuple(&RowArrays::starts, &RowArrays::group, &RowArrays::real, &RowArrays::times,
                                            &RowArrays::counts, &RowArrays::scale);
};

struct NodeArrays {
  Array<i64, 1> low;
  Array<i64, 2> starts;
  static constexpr const char* name = "NodeArrays";
  static constexpr auto fields = std::tuple(&NodeArrays::low, &NodeArrays::starts);
};

struct LevelArrays {
  Array<const i64, 1> node, left, right, column;
  Array<const bool, 2> on_left;
  static constexpr const char* name = "LevelArrays";
  static constexpr auto fields = std::tuple(&LevelArrays::node, &LevelArrays::left, &LevelArrays::right,
                                            &LevelArrays::column, &LevelArrays::on_left);
};

}  // namespace electorate
