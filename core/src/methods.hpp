// The tables of methods, one per subject; module.cpp joins them.
#pragma once
#include "python.hpp"

namespace electorate::python {

std::vector<PyMethodDef> codes_methods();
std::vector<PyMethodDef> cpu_methods();
std::vector<PyMethodDef> drawing_methods();
std::vector<PyMethodDef> histograms_methods();
std::vector<PyMethodDef> leaf_sums_methods();
std::vector<PyMethodDef> leaf_targets_methods();
std::vector<PyMethodDef> leaves_methods();
std::vector<PyMethodDef> median_methods();
std::vector<PyMethodDef> node_search_methods();
std::vector<PyMethodDef> partition_methods();
std::vector<PyMethodDef> products_methods();
std::vector<PyMethodDef> quad_methods();
std::vector<PyMethodDef> rounds_methods();
std::vector<PyMethodDef> search_methods();
std::vector<PyMethodDef> special_methods();
std::vector<PyMethodDef> subtrees_methods();
std::vector<PyMethodDef> target_search_methods();
std::vector<PyMethodDef> values_methods();
std::vector<PyMethodDef> votes_methods();
std::vector<PyMethodDef> weights_methods();

// Checks of shapes that would let a kernel write out of bounds.
inline void require(bool good, const char* what) {
  if (!good) throw std::invalid_argument(what);
}

}  // namespace electorate::python
