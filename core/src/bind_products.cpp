#include "electorate/products.hpp"

#include "methods.hpp"

namespace electorate::python {
namespace {

void correlate_signs_checked(Array<const u8, 2> bits, Array<const i64, 1> units, Array<i64, 1> sums) {
  require(bits.shape[0] == 0 || bits.shape[1] >= sums.shape[0], "there are fewer columns of bits than sums");
  correlate_signs(bits, units, sums);
}

void count_differences_checked(Array<const u64, 2> words, i64 column, Array<i64, 1> counts) {
  require(column >= 0 && column < words.shape[0] && counts.shape[0] >= words.shape[0], "there is no such column");
  count_differences(words, column, counts);
}

void correlate_reals_checked(Array<const double, 2> columns, Array<const double, 1> units, Array<const i64, 1> times,
                             Array<i64, 1> sums) {
  require(sums.shape[0] >= columns.shape[0], "there are fewer sums than columns");
  require(columns.shape[0] == 0 || least(units.shape[0], times.shape[0]) >= columns.shape[1], "rows do not fit");
  correlate_reals(columns, units, times, sums);
}

template <auto product>
void product_checked(Array<const double, 2> rows, Array<const double, 2> others, Array<double, 2> out) {
  require(out.shape[0] >= rows.shape[0] && others.shape[0] >= rows.shape[1], "rows and columns do not fit");
  require(rows.shape[1] == 0 || others.shape[1] >= out.shape[1], "there are fewer others than columns of the answer");
  product(rows, others, out);
}

}  // namespace

std::vector<PyMethodDef> products_methods() {
  return {
      kernel<"correlate_signs", correlate_signs_checked>(),
      kernel<"count_differences", count_differences_checked>(),
      kernel<"correlate_reals", correlate_reals_checked>(),
      kernel<"inner_products", product_checked<inner_products>>(),
      kernel<"squared_distances", product_checked<squared_distances>>(),
  };
}

}  // namespace electorate::python
