#include "electorate/histograms.hpp"

#include "methods.hpp"

namespace electorate::python {
namespace {

using Rows = std::variant<Array<const i64, 1>, Array<const u32, 1>>;

template <class Codes>
using Code = std::remove_const_t<typename Codes::value_type>;

// Codes, or the leaf of every row.
using CodesOrLeaves = std::variant<Array<const u32, 2>, Array<const u16, 2>, Array<const u8, 2>, Array<const i32, 2>>;

void histogram_any(CodesOrLeaves codes, Array<const i64, 1> grid, i64 low, i64 high, Array<i64, 2> sums) {
  std::visit([&](auto c) { histogram<Code<decltype(c)>>(c, grid, low, high, sums); }, codes);
}

void histogram_of_any(PackedCodes codes, Array<const i64, 1> grid, Rows order, i64 low, i64 high, Array<i64, 2> sums) {
  std::visit([&](auto c, auto rows) { histogram_of<Code<decltype(c)>, Code<decltype(rows)>>(c, grid, rows, low, high, sums); },
             codes, order);
}

void label_histograms_any(PackedCodes codes, Array<const i64, 1> grid, Array<const i64, 1> starts, Array<const i64, 1> group,
                          Array<i64, 3> sums, bool clear) {
  std::visit([&](auto c) { label_histograms<Code<decltype(c)>>(c, grid, starts, group, sums, clear); }, codes);
}

void node_histograms_any(PackedCodes codes, Array<const i64, 1> grid, Rows order, i64 low, Array<const i64, 1> starts,
                         Array<const i64, 1> group, Array<i64, 3> sums, bool clear) {
  std::visit(
      [&](auto c, auto rows) {
        node_histograms<Code<decltype(c)>, Code<decltype(rows)>>(c, grid, rows, low, starts, group, sums, clear);
      },
      codes, order);
}

}  // namespace

std::vector<PyMethodDef> histograms_methods() {
  return {
      kernel<"quantise", quantise>(),
      kernel<"histogram", histogram_any>(),
      kernel<"histogram_of", histogram_of_any>(),
      kernel<"label_histograms", label_histograms_any>(),
      kernel<"node_histograms", node_histograms_any>(),
      kernel<"add_up", add_up>(),
      kernel<"spread", spread>(),
      kernel<"unpack", unpack>(),
  };
}

}  // namespace electorate::python
