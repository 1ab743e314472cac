// QuadBoost's rounds on a pool of voters, from the Gram matrix; equation numbers are those of the QuadBoost paper.
//
// Kind of penalty: 0 none, 1 L1, 2 L2, 3 Linf. Mode: 0 a voter enters every round, 1 one enters and all are swept, 2 the
// voter with the largest decrease moves. c: correlations with the residual; eta: mean squares of the voters.
#pragma once
#include <tuple>

#include "electorate/array.hpp"

namespace electorate {

using Numbers = Array<const double, 1>;

struct Penalty {
  i64 kind;
  double lam, most_weight;
};

// The best weight of a voter, eq. 6 to 9, on the grid of votes. pull: mu - M, with M of the other voters.
template <i64 kind>
inline double best_weight(double lam, double most_weight, double pull, double eta) {
  double weight = pull / (kind == 2 ? eta + lam : eta);
  if constexpr (kind == 1) {
    const double size = most(std::fabs(pull) - lam, 0.0) / eta;
    weight = pull > 0.0 ? size : -size;
  }
  if constexpr (kind == 3) weight = least(most(weight, -most_weight), most_weight);
  const double on_grid = std::rint(weight * 0x1p40) * 0x1p-40;
  return eta <= 0.0 ? 0.0 : on_grid;
}

// The decrease of the objective when a voter's weight goes from old to new.
template <i64 kind>
inline double decrease(double lam, double c, double eta, double old_weight, double new_weight) {
  const double change = new_weight - old_weight;
  double drop = change * (2.0 * c - eta * change);
  if constexpr (kind == 1) drop += 2.0 * lam * (std::fabs(old_weight) - std::fabs(new_weight));
  if constexpr (kind == 2) drop -= lam * change * (old_weight + new_weight);
  return drop;
}

// f of the kind as a constant.
template <class F>
inline auto by_kind(i64 kind, F f) {
  switch (kind) {
    case 1: return f(std::integral_constant<i64, 1>());
    case 2: return f(std::integral_constant<i64, 2>());
    case 3: return f(std::integral_constant<i64, 3>());
    default: return f(std::integral_constant<i64, 0>());
  }
}

inline double quad_weight(i64 kind, double lam, double most_weight, double pull, double eta) {
  return by_kind(kind, [&](auto k) { return best_weight<k>(lam, most_weight, pull, eta); });
}

inline double quad_drop(i64 kind, double lam, double c, double eta, double old_weight, double new_weight) {
  return by_kind(kind, [&](auto k) { return decrease<k>(lam, c, eta, old_weight, new_weight); });
}

// The voter whose move lowers the objective most (the first of equals), by how much, and the largest |c|. full: no voter
// may enter. In mode 0 every voter enters anew, in mode 1 only those of weight 0.
template <i64 kind, bool anew>
inline std::tuple<i64, double, double> best_move(double lam, double most_weight, i64 mode, bool full, Numbers c, Numbers eta,
                                                 Numbers weight) {
  constexpr i64 at_once = 64, lanes = 8;  // the largest of some voters, in lanes side by side, before the first such voter
  const double* __restrict correlation = c.data;
  const double* __restrict square = eta.data;
  const double* __restrict held = weight.data;
  const bool only_new = mode == 1, only_held = full && mode != 0;
  const auto move = [&](i64 j, double& drop, double& size) {
    const double was = held[j], before = anew ? 0.0 : was;
    const double after = best_weight<kind>(lam, most_weight, correlation[j] + before * square[j], square[j]);
    const double here = decrease<kind>(lam, correlation[j], square[j], before, after);
    const bool left_out = (only_new & (was != 0.0)) | (only_held & (was == 0.0));
    drop = left_out ? 0.0 : here;
    size = std::fabs(correlation[j]);
  };
  i64 best = -1;
  double drop = 0.0, largest = 0.0, drops[at_once], sizes[at_once];
  const i64 n = c.shape[0];
  for (i64 low = 0; low < n; low += at_once) {
    const i64 many = least(at_once, n - low);
    if (many == at_once) {
      for (i64 k = 0; k < at_once; k++) move(low + k, drops[k], sizes[k]);
    } else {
      for (i64 k = 0; k < at_once; k++) drops[k] = sizes[k] = 0.0;
      for (i64 k = 0; k < many; k++) move(low + k, drops[k], sizes[k]);
    }
    double top[lanes] = {}, widest[lanes] = {};
    for (i64 k = 0; k < at_once; k += lanes)
      for (i64 lane = 0; lane < lanes; lane++) {
        top[lane] = most(top[lane], drops[k + lane]);
        widest[lane] = most(widest[lane], sizes[k + lane]);
      }
    double high = 0.0;
    for (i64 lane = 0; lane < lanes; lane++) high = most(high, top[lane]), largest = most(largest, widest[lane]);
    if (high > drop) {
      drop = high;
      for (best = low; drops[best - low] != high;) best++;
    }
  }
  return {best, drop, largest};
}

inline std::tuple<i64, double, double> quad_best(i64 kind, double lam, double most_weight, i64 mode, bool full, Numbers c,
                                                 Numbers eta, Numbers weight) {
  return by_kind(kind, [&](auto k) {
    const auto search = mode == 0 ? &best_move<k, true> : &best_move<k, false>;
    return search(lam, most_weight, mode, full, c, eta, weight);
  });
}

// The duality gap of the Lasso, with the residual scaled into the dual set. residual: the mean of y (y - f); size: the sum
// of the weights' sizes; largest: of all correlations' sizes.
inline double lasso_gap(double lam, double risk, double residual, double size, double largest) {
  if (risk <= 0.0) return most(2.0 * lam * size, 0.0);
  double scale = residual / risk;
  if (largest > 0.0) scale = least(most(scale, -lam / largest), lam / largest);
  return most(risk + 2.0 * lam * size - 2.0 * scale * residual + scale * scale * risk, 0.0);
}

// A bound on how far the objective of these weights is above its minimum; infinite without a penalty. L1: the duality gap
// of the Lasso. L2: by strong convexity. Linf: what a linear function with the same slope could still gain in the box.
// power: the mean of y^2.
inline double quad_gap(i64 kind, double lam, double most_weight, double power, Numbers c, Numbers mu, Numbers weight) {
  if (kind == 0 || (kind == 2 && lam <= 0.0)) return std::numeric_limits<double>::infinity();
  const i64 n = c.shape[0];
  if (kind == 1) {
    double residual = power, risk = power, size = 0.0, largest = 0.0;  // residual: the mean of y (y - f)
    for (i64 j = 0; j < n; j++) {
      largest = most(largest, std::fabs(c[j]));
      if (weight[j] == 0.0) continue;
      residual -= weight[j] * mu[j];
      risk -= weight[j] * (mu[j] + c[j]);
      size += std::fabs(weight[j]);
    }
    return lasso_gap(lam, risk, residual, size, largest);
  }
  double total = 0.0;
  for (i64 j = 0; j < n; j++) {
    if (kind == 2) {
      const double slope = lam * weight[j] - c[j];
      total += slope * slope / lam;
    } else {
      total += 2.0 * (most_weight * std::fabs(c[j]) - c[j] * weight[j]);
    }
  }
  return total;
}

// A pool and the weights of its voters. gram[slot[j]] is the row of voter j; -1: it is not there.
struct Pool {
  Array<double, 1> c;
  Numbers mu, eta;
  Array<double, 1> weight;
  Array<const double, 2> gram;
  Array<const i64, 1> slot;

  i64 n_held() const {
    i64 held = 0;
    for (i64 j = 0; j < weight.shape[0]; j++) held += weight[j] != 0.0;
    return held;
  }

  // Set the weight of a voter and update the correlations by its Gram row; returns how many weights are not 0.
  i64 set_weight(i64 at, double new_weight, double change, i64 held) const {
    const double* __restrict row = gram[slot[at]].data;
    double* __restrict correlation = c.data;
    for (i64 i = 0; i < c.shape[0]; i++) correlation[i] -= change * row[i];
    held -= weight[at] != 0.0;
    weight[at] = new_weight;
    return held + (new_weight != 0.0);
  }
};

struct QuadRules {
  Penalty penalty;
  i64 mode;
  double tol;
  i64 most_voters;
  double power;
};

// Why round `number` stops before voter j moves: a code of `quad_rounds`, or 0 to go on.
inline i64 stop_before(const QuadRules& rules, const Pool& pool, bool full, i64 held, i64 number, i64 j, double largest) {
  const auto [kind, lam, most_weight] = rules.penalty;
  if (rules.mode == 0 && kind == 1 && largest <= lam + rules.tol) return 2;
  const bool bounded = rules.mode == 1 || (rules.mode == 2 && number % 16 == 1);
  if (bounded && (kind == 1 || held > 0) &&
      quad_gap(kind, lam, most_weight, rules.power, pool.c, pool.mu, pool.weight) <= rules.tol)
    return 2;
  if (j >= 0 && pool.slot[j] < 0) return 1;
  return rules.mode == 0 && j >= 0 && pool.weight[j] == 0.0 && full ? 4 : 0;
}

// Rounds first..last on a pool; places[move]: round, voter; moves[move]: weight, step, edge, drop, voters after it. Returns
// the round to continue with. info: moves made; why it ended (0: the rounds are done or the buffers full, 1: a row of the
// Gram matrix is wanted, 2: within tol, 3: no move lowers the objective, 4: most_voters reached); the voter whose row is
// wanted; voters of weight; and, where a sweep stopped for want of a row, to be passed in again: the next voter plus 1,
// whether any had moved in this round.
inline i64 quad_rounds(const QuadRules& rules, const Pool& pool, i64 first, i64 last, Array<i64, 2> places,
                       Array<double, 2> moves, Array<i64, 1> info) {
  const auto [kind, lam, most_weight] = rules.penalty;
  i64 made = 0, held = pool.n_held(), number = first;
  info[1] = 0, info[2] = -1;
  for (; number <= last && made + held + 2 <= places.shape[0]; number++) {
    const i64 start = info[4] - 1;
    bool moved = start >= 0 && info[5] != 0;
    info[4] = info[5] = 0;
    i64 j = -1;
    if (start < 0) {
      const bool full = held >= rules.most_voters;
      const auto [best, drop, largest] = quad_best(kind, lam, most_weight, rules.mode, full, pool.c, pool.eta, pool.weight);
      j = best;
      info[1] = stop_before(rules, pool, full, held, number, j, largest);
      info[2] = info[1] == 1 ? j : -1;
      if (info[1] != 0) break;
    }
    // the chosen voter, then all that have a weight
    for (i64 k = start; k < (rules.mode == 1 ? pool.weight.shape[0] : 0); k++) {
      const i64 at = k < 0 ? j : k;
      if (at < 0 || (k >= 0 && pool.weight[at] == 0.0)) continue;
      const double before = rules.mode == 0 ? 0.0 : pool.weight[at];
      const double pull = pool.c[at] + before * pool.eta[at];
      const double after = quad_weight(kind, lam, most_weight, pull, pool.eta[at]);
      const double drop = quad_drop(kind, lam, pool.c[at], pool.eta[at], before, after);
      if (after == before || drop <= 0.0) continue;
      if (pool.slot[at] < 0) {
        info[1] = 1, info[2] = at, info[4] = k + 1, info[5] = moved;
        break;
      }
      held = pool.set_weight(at, pool.weight[at] + (after - before), after - before, held);
      places(made, 0) = number, places(made, 1) = at;
      const double move[] = {pool.weight[at], after, pull, drop, static_cast<double>(held)};
      for (i64 field = 0; field < 5; field++) moves(made, field) = move[field];
      made++;
      moved = true;
    }
    if (info[1] == 1) break;
    if (!moved) {
      info[1] = 3;
      break;
    }
  }
  info[0] = made, info[3] = held;
  return number;
}

// Repeat moves: their weights are moves[:, 0], the other columns are filled.
inline void quad_replay(i64 kind, double lam, i64 mode, const Pool& pool, Array<const i64, 2> places, Array<double, 2> moves) {
  i64 held = pool.n_held();
  for (i64 n = 0; n < places.shape[0]; n++) {
    const i64 at = places(n, 1);
    const double change = moves(n, 0) - pool.weight[at], before = mode == 0 ? 0.0 : pool.weight[at];
    moves(n, 1) = before + change;
    moves(n, 2) = pool.c[at] + before * pool.eta[at];
    moves(n, 3) = quad_drop(kind, lam, pool.c[at], pool.eta[at], before, before + change);
    held = pool.set_weight(at, moves(n, 0), change, held);
    moves(n, 4) = static_cast<double>(held);
  }
}

}  // namespace electorate
