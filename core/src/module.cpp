// The extension module of one level of the CPU: electorate.kernels._core_LEVEL.
#define ELECTORATE_MAIN_FILE
#include "methods.hpp"

#define TEXT_OF(level) #level
#define TEXT(level) TEXT_OF(level)
#define JOIN_OF(a, b) a##b
#define JOIN(a, b) JOIN_OF(a, b)

namespace electorate::python {
namespace {

int fill_module(PyObject* module) {
  if (_import_array() < 0) return -1;
  static std::vector<PyMethodDef> methods;  // lives as long as its functions
  if (methods.empty()) {
    for (auto subject : {cpu_methods, models_methods, rows_methods, search_methods, targets_methods, values_methods})
      for (const PyMethodDef& method : subject()) methods.push_back(method);
    methods.push_back({nullptr, nullptr, 0, nullptr});
  }
  return PyModule_AddFunctions(module, methods.data());
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(fill_module)},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core_" TEXT(ELECTORATE_LEVEL), "Compiled kernels.", 0, nullptr, slots, nullptr, nullptr, nullptr,
};

}  // namespace
}  // namespace electorate::python

PyMODINIT_FUNC JOIN(PyInit__core_, ELECTORATE_LEVEL)() { return PyModuleDef_Init(&electorate::python::definition); }
