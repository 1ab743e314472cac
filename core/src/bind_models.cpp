// Votes of fitted models, products of voters' outputs, and QuadBoost's rounds.
#include "electorate/leaf_sums.hpp"
#include "electorate/products.hpp"
#include "electorate/quad.hpp"
#include "electorate/votes.hpp"

#include "methods.hpp"

namespace electorate::python {

template <>
struct From<Array<const FloatNode, 1>> {
  static bool accept(PyObject* object, Array<const FloatNode, 1>& view) {
    if (!PyArray_Check(object)) return false;
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    if (PyArray_NDIM(array) != 1 || PyArray_TYPE(array) != NPY_VOID || !PyArray_ISCARRAY_RO(array)) return false;
    if (PyArray_ITEMSIZE(array) != static_cast<npy_intp>(sizeof(FloatNode))) return false;
    view = {static_cast<const FloatNode*>(PyArray_DATA(array)), {PyArray_DIM(array, 0)}, {1}};
    return true;
  }
  static std::string expected() { return "a contiguous array of nodes"; }
};

namespace {

void require_votes(i64 rows, i64 outputs, Array<i64, 2> votes, i64 units) {
  require(votes.shape[1] >= rows && (rows == 0 || units >= outputs), "votes and units do not fit");
}

void walk_checked(Array<const i32, 2> cells, Array<const i64, 1> offsets, Array<const i32, 1> place, Array<const i32, 1> cut,
                  Array<const i32, 1> members, Array<const bool, 1> missing_left, Array<const i32, 2> children,
                  Array<const bool, 2> sets, Array<const i64, 2> units, Array<i64, 2> votes) {
  require_votes(cells.shape[1], votes.shape[0], votes, units.shape[1]);
  walk(cells, offsets, {place, cut, members, missing_left, children, sets}, units, votes);
}

void walk_ordered_checked(Array<const i32, 2> cells, Array<const i64, 1> offsets, Array<const i32, 1> depths,
                          Array<const i32, 1> place, Array<const i32, 1> low, Array<const i32, 1> cut,
                          Array<const i32, 2> kids, Array<const i64, 2> units, Array<i64, 2> votes, Array<i32, 1> scratch) {
  require_votes(cells.shape[1], votes.shape[0], votes, units.shape[1]);
  require(scratch.shape[0] >= cells.shape[1] && depths.shape[0] >= offsets.shape[0] - 1, "rows or depths do not fit");
  require(kids.shape[0] < i64{1} << 30 && (kids.shape[0] < 2 || kids.stride[0] == 2), "kids are not one array");
  const bool few = (cells.shape[0] + 1) * most(cells.stride[0], i64{1}) < i64{1} << 31;
  const auto walked = few ? &walk_ordered<i32> : &walk_ordered<i64>;
  walked(cells, offsets, depths, place, low, cut, kids, units, votes, scratch);
}

// Whether there is room for the leaves of trees with the splits up to `last`.
void require_masks(Array<const u8, 2> cells, i64 last, const MaskTests& tests, Array<u8, 2> planes, Array<u8, 1> leaf) {
  require(planes.shape[1] >= cells.shape[1] && leaf.shape[0] >= cells.shape[1], "planes have fewer rows than cells");
  require(last <= tests.place.shape[0] && (last == 0 || planes.shape[0] >= tests.keep.shape[1]), "there are too few planes");
}

void require_trees(Array<const i64, 1> offsets, Array<const i64, 1> leaves, i64 units) {
  require(leaves.shape[0] >= offsets.shape[0] && offsets.shape[0] > 0, "leaves and offsets do not fit");
  require(leaves[offsets.shape[0] - 1] <= units, "there are fewer units than leaves");
}

template <auto product>
void product_checked(Array<const double, 2> rows, Array<const double, 2> others, Array<double, 2> out) {
  require(out.shape[0] >= rows.shape[0] && others.shape[0] >= rows.shape[1], "rows and columns do not fit");
  require(rows.shape[1] == 0 || others.shape[1] >= out.shape[1], "there are fewer others than columns of the answer");
  product(rows, others, out);
}

void require_pool(i64 voters, Numbers eta, Numbers weight) {
  require(eta.shape[0] == voters && weight.shape[0] == voters, "the voters do not fit");
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

std::vector<PyMethodDef> models_methods() {
  return {
      kernel<"walk", walk_checked>(),
      kernel<"walk_ordered", walk_ordered_checked>(),
      kernel<"cross_out", cross_out>([](auto cells, auto, auto last, auto tests, auto planes, auto leaf) {
        require_masks(cells, last, tests, planes, leaf);
      }),
      kernel<"vote", vote>([](auto cells, auto offsets, auto leaves, auto tests, auto units, auto votes, auto planes,
          auto leaf) {
        require_trees(offsets, leaves, units.shape[1]);
        require_votes(cells.shape[1], votes.shape[0], votes, units.shape[0]);
        require_masks(cells, offsets[offsets.shape[0] - 1], tests, planes, leaf);
      }),
      kernel<"tree_outputs", tree_outputs>([](auto cells, auto offsets, auto leaves, auto tests, auto values, auto out,
          auto planes, auto leaf) {
        require_trees(offsets, leaves, values.shape[1]);
        require(out.shape[1] == cells.shape[1] && out.shape[2] >= offsets.shape[0] - 1 && values.shape[0] >= out.shape[0],
                "outputs and values do not fit");
        require_masks(cells, offsets[offsets.shape[0] - 1], tests, planes, leaf);
      }),
      kernel<"add_leaves", add_leaves>([](auto rows, auto roots, auto outputs, auto, auto, auto, auto values, auto totals) {
        require(totals.shape[0] >= rows.shape[0] && outputs.shape[0] >= roots.shape[0], "rows or trees do not fit");
        for (i64 t = 0; t < roots.shape[0]; t++)
          require(outputs[t] >= 0 && outputs[t] + values.shape[1] <= totals.shape[1], "there are too few totals");
      }),
      kernel<"correlate_signs", correlate_signs>([](auto bits, auto, auto sums) {
        require(bits.shape[0] == 0 || bits.shape[1] >= sums.shape[0], "there are fewer columns of bits than sums");
      }),
      kernel<"count_differences", count_differences>([](auto words, auto column, auto counts) {
        require(column >= 0 && column < words.shape[0] && counts.shape[0] >= words.shape[0], "there is no such column");
      }),
      kernel<"correlate_reals", correlate_reals>([](auto columns, auto units, auto times, auto sums) {
        require(sums.shape[0] >= columns.shape[0], "there are fewer sums than columns");
        require(columns.shape[0] == 0 || least(units.shape[0], times.shape[0]) >= columns.shape[1], "rows do not fit");
      }),
      kernel<"inner_products", product_checked<inner_products>>(),
      kernel<"squared_distances", product_checked<squared_distances>>(),
      kernel<"quad_weight", quad_weight>(),
      kernel<"quad_drop", quad_drop>(),
      kernel<"quad_best", quad_best>([](auto, auto, auto, auto, auto, auto c, auto eta, auto weight) {
        require_pool(c.shape[0], eta, weight);
      }),
      kernel<"lasso_gap", lasso_gap>(),
      kernel<"quad_gap", quad_gap>([](auto, auto, auto, auto, auto c, auto mu, auto weight) {
        require_pool(c.shape[0], mu, weight);
      }),
      kernel<"quad_rounds", quad_rounds_checked>(),
      kernel<"quad_replay", quad_replay_checked>(),
  };
}

}  // namespace electorate::python
