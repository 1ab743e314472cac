// The tables of methods, one per subject; module.cpp joins them.
#pragma once
#include "python.hpp"

namespace electorate::python {

std::vector<PyMethodDef> cpu_methods();
std::vector<PyMethodDef> models_methods();
std::vector<PyMethodDef> rows_methods();
std::vector<PyMethodDef> search_methods();
std::vector<PyMethodDef> targets_methods();
std::vector<PyMethodDef> values_methods();

// Checks of shapes that would let a kernel write out of bounds.
inline void require(bool good, const char* what) {
  if (!good) throw std::invalid_argument(what);
}

}  // namespace electorate::python
