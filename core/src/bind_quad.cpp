#include "electorate/quad.hpp"

#include "methods.hpp"

namespace electorate::python {
namespace {

void require_pool(i64 voters, Numbers eta, Numbers weight) {
  require(eta.shape[0] == voters && weight.shape[0] == voters, "the voters do not fit");
}

std::tuple<i64, double, double> quad_best_checked(i64 kind, double lam, double most_weight, i64 mode, bool full, Numbers c,
                                                  Numbers eta, Numbers weight) {
  require_pool(c.shape[0], eta, weight);
  return quad_best(kind, lam, most_weight, mode, full, c, eta, weight);
}

double quad_gap_checked(i64 kind, double lam, double most_weight, double power, Numbers c, Numbers mu, Numbers weight) {
  require_pool(c.shape[0], mu, weight);
  return quad_gap(kind, lam, most_weight, power, c, mu, weight);
}

void require_rows(const Pool& pool, i64 places, Array<double, 2> moves) {
  const i64 voters = pool.c.shape[0];
  require_pool(voters, pool.eta, pool.weight);
  require(pool.slot.shape[0] == voters && (voters == 0 || pool.gram.shape[1] >= voters), "the voters do not fit");
  for (i64 j = 0; j < voters; j++) require(pool.slot[j] < pool.gram.shape[0], "there is no such row of the Gram matrix");
  require(moves.shape[0] >= places && (places == 0 || moves.shape[1] >= 5), "there is too little room for moves");
}

i64 quad_rounds_checked(i64 kind, double lam, double most_weight, i64 mode, double tol, i64 most_voters, double power,
                        Array<double, 1> c, Numbers mu, Numbers eta, Array<double, 1> weight, Array<const double, 2> gram,
                        Array<const i64, 1> slot, i64 first, i64 last, Array<i64, 2> places, Array<double, 2> moves,
                        Array<i64, 1> info) {
  const Pool pool{c, mu, eta, weight, gram, slot};
  require_rows(pool, places.shape[0], moves);
  require(mu.shape[0] == c.shape[0] && info.shape[0] >= 6 && places.shape[1] >= 2, "there is too little room for moves");
  return quad_rounds({{kind, lam, most_weight}, mode, tol, most_voters, power}, pool, first, last, places, moves, info);
}

void quad_replay_checked(i64 kind, double lam, i64 mode, Array<const i64, 2> places, Array<double, 2> moves,
                         Array<double, 1> c, Numbers eta, Array<double, 1> weight, Array<const double, 2> gram,
                         Array<const i64, 1> slot) {
  const Pool pool{c, {}, eta, weight, gram, slot};
  require_rows(pool, places.shape[0], moves);
  for (i64 n = 0; n < places.shape[0]; n++) {
    const i64 at = places(n, 1);
    require(at >= 0 && at < c.shape[0] && slot[at] >= 0, "there is no such voter, or no row of the Gram matrix for it");
  }
  quad_replay(kind, lam, mode, pool, places, moves);
}

}  // namespace

std::vector<PyMethodDef> quad_methods() {
  return {
      kernel<"quad_weight", quad_weight>(),
      kernel<"quad_drop", quad_drop>(),
      kernel<"quad_best", quad_best_checked>(),
      kernel<"lasso_gap", lasso_gap>(),
      kernel<"quad_gap", quad_gap_checked>(),
      kernel<"quad_rounds", quad_rounds_checked>(),
      kernel<"quad_replay", quad_replay_checked>(),
  };
}

}  // namespace electorate::python
