// From Python's arguments to views and numbers, and back: NumPy arrays are read without a copy, dtypes and contiguity
// are checked, and a kernel runs without the GIL.
//
// `kernel<"name", f>` is the Python function of a C++ function of arrays, numbers, bundles of them (NamedTuples of
// electorate/kernels/layouts.py) and alternatives (std::variant, where several dtypes are allowed).
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL electorate_numpy
#ifndef ELECTORATE_MAIN_FILE
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <array>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "electorate/array.hpp"

namespace electorate::python {

// Raised for arguments of the wrong kind. TypeError or ValueError in Python.
struct WrongType : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
struct Dtype;
template <> struct Dtype<bool> { static constexpr int kind = NPY_BOOL; static constexpr const char* name = "bool"; };
template <> struct Dtype<i8> { static constexpr int kind = NPY_INT8; static constexpr const char* name = "int8"; };
template <> struct Dtype<i16> { static constexpr int kind = NPY_INT16; static constexpr const char* name = "int16"; };
template <> struct Dtype<u8> { static constexpr int kind = NPY_UINT8; static constexpr const char* name = "uint8"; };
template <> struct Dtype<u16> { static constexpr int kind = NPY_UINT16; static constexpr const char* name = "uint16"; };
template <> struct Dtype<i32> { static constexpr int kind = NPY_INT32; static constexpr const char* name = "int32"; };
template <> struct Dtype<u32> { static constexpr int kind = NPY_UINT32; static constexpr const char* name = "uint32"; };
template <> struct Dtype<i64> { static constexpr int kind = NPY_INT64; static constexpr const char* name = "int64"; };
template <> struct Dtype<u64> { static constexpr int kind = NPY_UINT64; static constexpr const char* name = "uint64"; };
template <> struct Dtype<float> { static constexpr int kind = NPY_FLOAT32; static constexpr const char* name = "float32"; };
template <> struct Dtype<double> { static constexpr int kind = NPY_FLOAT64; static constexpr const char* name = "float64"; };

// C's long and long long are both 64 bits wide on most systems, and NumPy has a number for each.
inline bool same_kind(PyArrayObject* array, int kind, std::size_t size, bool is_float, bool is_signed) {
  const int given = PyArray_TYPE(array);
  if (given == kind) return true;
  if (is_float || kind == NPY_BOOL || given == NPY_BOOL || !PyTypeNum_ISINTEGER(given)) return false;
  return static_cast<std::size_t>(PyArray_ITEMSIZE(array)) == size && PyTypeNum_ISSIGNED(given) == is_signed;
}

template <class T>
struct From;  // From<T>::convert(object): the T of a Python object, or an exception

template <class View, class T, int N>
bool view_of(PyObject* object, View& view, bool contiguous) {
  using V = std::remove_const_t<T>;
  if (!PyArray_Check(object)) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  if (PyArray_NDIM(array) != N || !same_kind(array, Dtype<V>::kind, sizeof(V), std::is_floating_point_v<V>, std::is_signed_v<V>))
    return false;
  if (!std::is_const_v<T> && !PyArray_ISWRITEABLE(array)) return false;
  view.data = static_cast<T*>(PyArray_DATA(array));
  bool some = true;
  for (int k = 0; k < N; k++) some &= PyArray_DIM(array, k) > 0;
  for (int k = 0; k < N; k++) {
    view.shape[k] = PyArray_DIM(array, k);
    view.stride[k] = PyArray_STRIDE(array, k) / static_cast<npy_intp>(sizeof(V));
    if (some && view.shape[k] > 1 && PyArray_STRIDE(array, k) % static_cast<npy_intp>(sizeof(V)) != 0) return false;
  }
  if (contiguous && some && view.shape[N - 1] > 1 && view.stride[N - 1] != 1) return false;
  if (contiguous) view.stride[N - 1] = 1;
  return true;
}

template <class T, int N>
std::string expected_array(const char* what) {
  using V = std::remove_const_t<T>;
  return std::string(std::is_const_v<T> ? "" : "a writable ") + what + " of " + Dtype<V>::name + " with " + std::to_string(N) + " axes";
}

template <class T, int N>
struct From<Array<T, N>> {
  static bool accept(PyObject* object, Array<T, N>& view) { return view_of<Array<T, N>, T, N>(object, view, true); }
  static std::string expected() { return expected_array<T, N>("array, contiguous along its last axis,"); }
};

template <class T>
struct From<Strided<T>> {
  static bool accept(PyObject* object, Strided<T>& view) { return view_of<Strided<T>, T, 1>(object, view, false); }
  static std::string expected() { return expected_array<T, 1>("array"); }
};

template <>
struct From<i64> {
  static bool accept(PyObject* object, i64& value) {
    value = PyLong_AsLongLong(object);
    if (value == -1 && PyErr_Occurred()) return PyErr_Clear(), false;
    return true;
  }
  static std::string expected() { return "an integer of 64 bits"; }
};

template <>
struct From<u64> {
  static bool accept(PyObject* object, u64& value) {
    PyObject* number = PyNumber_Index(object);
    if (number != nullptr) {
      value = PyLong_AsUnsignedLongLong(number);
      Py_DECREF(number);
    }
    if (PyErr_Occurred()) return PyErr_Clear(), false;
    return true;
  }
  static std::string expected() { return "an unsigned integer of 64 bits"; }
};

template <>
struct From<double> {
  static bool accept(PyObject* object, double& value) {
    value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred()) return PyErr_Clear(), false;
    return true;
  }
  static std::string expected() { return "a number"; }
};

template <>
struct From<bool> {
  static bool accept(PyObject* object, bool& value) {
    const int truth = PyObject_IsTrue(object);
    value = truth == 1;
    if (truth < 0) PyErr_Clear();
    return truth >= 0;
  }
  static std::string expected() { return "True or False"; }
};

template <class T>
struct From<std::optional<T>> {
  static bool accept(PyObject* object, std::optional<T>& value) {
    if (object == Py_None) return value.reset(), true;
    return From<T>::accept(object, value.emplace());
  }
  static std::string expected() { return "None or " + From<T>::expected(); }
};

template <class... T>
struct From<std::variant<T...>> {
  static bool accept(PyObject* object, std::variant<T...>& value) {
    return (From<T>::accept(object, value.template emplace<T>()) || ...);
  }
  static std::string expected() {
    std::string text;
    ((text += (text.empty() ? "" : ", or ") + From<T>::expected()), ...);
    return text;
  }
};

// Several of a kind, from a list or a tuple.
template <class T>
struct From<std::vector<T>> {
  static bool accept(PyObject* object, std::vector<T>& values) {
    const bool is_list = PyList_Check(object);
    if (!is_list && !PyTuple_Check(object)) return false;
    values.resize(static_cast<std::size_t>(is_list ? PyList_Size(object) : PyTuple_Size(object)));
    for (std::size_t k = 0; k < values.size(); k++) {
      const auto at = static_cast<Py_ssize_t>(k);
      PyObject* item = is_list ? PyList_GetItem(object, at) : PyTuple_GetItem(object, at);
      if (item == nullptr) PyErr_Clear();  // another thread has made the list shorter
      if (item == nullptr || !From<T>::accept(item, values[k])) return false;
    }
    return true;
  }
  static std::string expected() { return "a list, every item " + From<T>::expected(); }
};

// A bundle: a struct with `static constexpr auto fields = std::tuple(&Struct::first, &Struct::second, ...)`, from a tuple.
template <class T>
  requires requires { T::fields; }
struct From<T> {
  static bool accept(PyObject* object, T& bundle) {
    constexpr std::size_t n = std::tuple_size_v<decltype(T::fields)>;
    if (!PyTuple_Check(object) || PyTuple_Size(object) != static_cast<Py_ssize_t>(n)) return false;
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return (accept_field(PyTuple_GetItem(object, K), bundle.*std::get<K>(T::fields)) && ...);
    }(std::make_index_sequence<n>());
  }
  static std::string expected() { return std::string("a tuple for ") + T::name; }

 private:
  template <class F>
  static bool accept_field(PyObject* object, F& field) {
    return From<F>::accept(object, field);
  }
};

// Arrays that a kernel makes: returned as NumPy arrays.
template <class T, int N>
struct Made {
  std::array<i64, N> shape;
  std::vector<std::conditional_t<std::is_same_v<T, bool>, u8, T>> values;
};

inline PyObject* to_python(i64 value) { return PyLong_FromLongLong(value); }
inline PyObject* to_python(u64 value) { return PyLong_FromUnsignedLongLong(value); }
inline PyObject* to_python(double value) { return PyFloat_FromDouble(value); }
inline PyObject* to_python(bool value) { return PyBool_FromLong(value); }
template <class T, int N>
PyObject* to_python(const Made<T, N>& made) {
  npy_intp shape[N];
  for (int k = 0; k < N; k++) shape[k] = static_cast<npy_intp>(made.shape[k]);
  PyObject* array = PyArray_SimpleNew(N, shape, Dtype<T>::kind);
  if (array != nullptr && !made.values.empty()) {
    T* to = static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
    for (std::size_t i = 0; i < made.values.size(); i++) to[i] = made.values[i];
  }
  return array;
}
template <class... T>
PyObject* to_python(const std::tuple<T...>& values) {
  PyObject* tuple = PyTuple_New(sizeof...(T));
  if (tuple == nullptr) return nullptr;
  bool good = true;
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    ((good = good && [&] {
       PyObject* item = to_python(std::get<K>(values));
       return item != nullptr && PyTuple_SetItem(tuple, K, item) == 0;
     }()), ...);
  }(std::make_index_sequence<sizeof...(T)>());
  if (!good) return Py_DECREF(tuple), nullptr;
  return tuple;
}

template <std::size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&given)[N]) {
    for (std::size_t i = 0; i < N; i++) text[i] = given[i];
  }
};

// A daemon thread that wants the GIL back when the interpreter has ended is ended by an exception, which may pass.
struct WithoutGil {
  PyThreadState* state = PyEval_SaveThread();
  ~WithoutGil() noexcept(false) { PyEval_RestoreThread(state); }
};

struct NoCheck {
  void operator()(const auto&...) const {}
};

template <Name name, class Check, auto function>
struct Kernel;

template <Name name, class Check, class R, class... A, R (*function)(A...)>
struct Kernel<name, Check, function> {
  static PyObject* call(PyObject*, PyObject* const* objects, Py_ssize_t n_objects) {
    try {
      if (n_objects != static_cast<Py_ssize_t>(sizeof...(A)))
        throw WrongType("takes " + std::to_string(sizeof...(A)) + " arguments, not " + std::to_string(n_objects));
      std::tuple<std::remove_cvref_t<A>...> arguments;
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        (accept<std::remove_cvref_t<A>>(objects[K], std::get<K>(arguments), K), ...);
      }(std::index_sequence_for<A...>());
      if constexpr (std::is_void_v<R>) {
        {
          WithoutGil released;
          std::apply(Check{}, arguments);
          std::apply(function, arguments);
        }
        Py_RETURN_NONE;
      } else {
        auto result = [&] {
          WithoutGil released;
          std::apply(Check{}, arguments);
          return std::apply(function, arguments);
        }();
        return to_python(result);
      }
    } catch (const WrongType& error) {
      PyErr_Format(PyExc_TypeError, "%s: %s", name.text, error.what());
    } catch (const std::invalid_argument& error) {
      PyErr_Format(PyExc_ValueError, "%s: %s", name.text, error.what());
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
    } catch (const std::exception& error) {
      PyErr_Format(PyExc_RuntimeError, "%s: %s", name.text, error.what());
    }
    return nullptr;
  }

 private:
  template <class T>
  static void accept(PyObject* object, T& value, std::size_t k) {
    if (!From<T>::accept(object, value))
      throw WrongType("argument " + std::to_string(k + 1) + " must be " + From<T>::expected());
  }
};

// The entry of a kernel in a table of methods. Check: a function of the same arguments, which throws where arrays do not fit.
template <Name name, auto function, class Check = NoCheck>
PyMethodDef kernel(Check = {}) {
  const auto call = &Kernel<name, Check, function>::call;
  return {name.text, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)), METH_FASTCALL, nullptr};
}

}  // namespace electorate::python
