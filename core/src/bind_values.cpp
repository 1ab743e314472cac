#include "electorate/values.hpp"

#include "methods.hpp"

namespace electorate::python {
namespace {

Made<i64, 1> made(std::vector<i64> values) { return {{static_cast<i64>(values.size())}, std::move(values)}; }

Made<u64, 1> hash_values_made(Array<const double, 1> values) {
  Made<u64, 1> hashes{{values.shape[0]}, std::vector<u64>(static_cast<std::size_t>(values.shape[0]))};
  hash_values(values.data, values.shape[0], hashes.values.data());
  return hashes;
}

void fold_rows_any(std::variant<Array<const double, 2>, Array<const float, 2>> array, Array<u64, 1> hashes) {
  std::visit(
      [&]<class T>(Array<const T, 2> a) {
        require(hashes.shape[0] >= a.shape[0], "there are fewer hashes than rows");
        fold_rows<T>(a, hashes);
      },
      array);
}

i64 tally_checked(Strided<const double> values, Array<const i64, 1> weights, i64 start, Array<double, 1> keys,
                  Array<i64, 1> totals, Array<i64, 1> info, i64 capacity) {
  const i64 size = keys.shape[0];
  require(start >= 0 && weights.shape[0] >= values.shape[0] && info.shape[0] >= 3, "values and weights do not fit");
  require(totals.shape[0] >= size && (size & (size - 1)) == 0 && (size == 0 || capacity < size), "the table is not one");
  return tally(values, weights, start, keys, totals, info, capacity);
}

i64 select_checked(Strided<const double> values, Array<const i64, 1> weights, i64 start, u64 limit, Array<double, 1> chosen,
                   Array<i64, 1> chosen_weights, Array<i64, 1> info) {
  require(start >= 0 && weights.shape[0] >= values.shape[0] && info.shape[0] >= 3, "values and weights do not fit");
  require(least(chosen.shape[0], chosen_weights.shape[0]) >= values.shape[0] - start, "there is too little room");
  return select(values, weights, start, limit, chosen, chosen_weights, info);
}

Made<i64, 1> cuts_made(Array<const i64, 1> weights, i64 max_bins) { return made(cuts(weights, max_bins)); }

}  // namespace

std::vector<PyMethodDef> values_methods() {
  return {
      kernel<"mix", mix>(),
      kernel<"hash_values", hash_values_made>(),
      kernel<"fold", fold>(),
      kernel<"fold_rows", fold_rows_any>(),
      kernel<"tally", tally_checked>(),
      kernel<"select", select_checked>(),
      kernel<"cuts", cuts_made>(),
      kernel<"first_infinite", first_infinite>(),
  };
}

}  // namespace electorate::python
