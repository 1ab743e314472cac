#include "electorate/median.hpp"

#include "methods.hpp"

namespace electorate::python {
namespace {

void require_rows(Array<const double, 2> values, Array<const i64, 2> weights, i64 needs, i64 out) {
  const i64 rows = values.shape[0];
  require(needs >= rows && out >= rows, "values and needs do not fit");
  require(rows == 0 || weights.shape[0] == 1 || weights.shape[0] >= rows, "there are weights of fewer rows than values");
  require(weights.shape[1] >= values.shape[1] || rows == 0, "there are weights of fewer voters than values");
}

void vote_quantiles_checked(Array<const double, 2> values, Array<const i64, 2> weights, Array<const i64, 1> needs, double sign,
                            Array<double, 1> out) {
  require_rows(values, weights, needs.shape[0], out.shape[0]);
  vote_quantiles(values, weights, needs, sign, out);
}

void place_quantiles_checked(Array<const double, 2> places, Array<const i64, 2> weights, Array<const i64, 1> needs,
                             i64 n_places, bool from_top, Array<i64, 1> out) {
  require_rows(places, weights, needs.shape[0], out.shape[0]);
  require(n_places > 0 || (n_places == 0 && places.shape[1] == 0), "there are values, and no places");
  place_quantiles(places, weights, needs, n_places, from_top, out);
}

void insert_votes_checked(Array<double, 2> values, Array<i64, 2> weights, i64 count, Array<const double, 1> new_values,
                          Array<const i64, 1> new_weights) {
  require_rows(values, weights, new_values.shape[0], new_weights.shape[0]);
  require(count >= 0 && weights.shape[0] >= values.shape[0], "values and weights do not fit");
  insert_votes(values, weights, count, new_values, new_weights);
}

void sorted_quantiles_checked(Array<const double, 2> values, Array<const i64, 2> weights, i64 count, Array<const i64, 1> needs,
                              bool from_top, Array<double, 1> out) {
  require_rows(values, weights, needs.shape[0], out.shape[0]);
  require(count >= 0 && count <= values.shape[1] && weights.shape[0] >= values.shape[0], "values and weights do not fit");
  sorted_quantiles(values, weights, count, needs, from_top, out);
}

}  // namespace

std::vector<PyMethodDef> median_methods() {
  return {
      kernel<"vote_quantiles", vote_quantiles_checked>(),
      kernel<"place_quantiles", place_quantiles_checked>(),
      kernel<"insert_votes", insert_votes_checked>(),
      kernel<"sorted_quantiles", sorted_quantiles_checked>(),
  };
}

}  // namespace electorate::python
