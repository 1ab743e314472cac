// Views of arrays: a pointer, a shape and strides. They own nothing; the caller keeps the memory alive.
//
// Array<T, N>: the last axis is contiguous. Strided<T>: one axis with any stride. T is const where a kernel only reads.
// Builds with ELECTORATE_CHECKED check every index and abort where one is out of range.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "electorate/arithmetic.hpp"

namespace electorate {

inline void check_index([[maybe_unused]] i64 i, [[maybe_unused]] i64 n) {
#ifdef ELECTORATE_CHECKED
  if (i < 0 || i >= n) {
    std::fprintf(stderr, "electorate: index %lld is out of range 0..%lld\n", static_cast<long long>(i), static_cast<long long>(n));
    std::abort();
  }
#endif
}

// static_cast<double>(x), to the bit, for loops: vectorised also before AVX-512, which has an instruction for it.
inline double real(i64 x) {
#if defined(__x86_64__) && !defined(__AVX512DQ__)
  const u64 bits = static_cast<u64>(x);
  const double low = std::bit_cast<double>((bits & 0xFFFFFFFF) | 0x4330000000000000);  // 2^52 + the lower 32 bits
  const double high = std::bit_cast<double>((bits >> 32) ^ 0x4530000080000000);  // 2^84 + 2^63 + the others
  return (high - (0x1p84 + 0x1p63 + 0x1p52)) + low;  // only the sum is rounded
#else
  return static_cast<double>(x);
#endif
}

template <class T, int N>
struct Array {
  using value_type = T;
  static constexpr int n_axes = N;
  T* data = nullptr;
  i64 shape[N] = {};
  i64 stride[N] = {};  // in elements; that of the last axis is 1

  i64 size() const {
    i64 n = 1;
    for (int k = 0; k < N; k++) n *= shape[k];
    return n;
  }
  bool empty() const { return size() == 0; }

  // a[i] is a view of one axis less, or an element.
  decltype(auto) operator[](i64 i) const {
    check_index(i, shape[0]);
    if constexpr (N == 1) {
      return (data[i]);
    } else {
      Array<T, N - 1> part{data + i * stride[0], {}, {}};
      for (int k = 1; k < N; k++) part.shape[k - 1] = shape[k], part.stride[k - 1] = stride[k];
      return part;
    }
  }

  template <class... I>
  T& operator()(I... index) const {
    static_assert(sizeof...(I) == N);
    const i64 at[N] = {static_cast<i64>(index)...};
    i64 offset = 0;
    for (int k = 0; k < N; k++) {
      check_index(at[k], shape[k]);
      offset += at[k] * (k == N - 1 ? 1 : stride[k]);
    }
    return data[offset];
  }

  // a[low:high], along the first axis.
  Array slice(i64 low, i64 high) const {
    if (low < high) check_index(low, shape[0]), check_index(high - 1, shape[0]);
    Array part = *this;
    part.data += low * (N == 1 ? 1 : stride[0]);
    part.shape[0] = high > low ? high - low : 0;
    return part;
  }

  // A view that only reads.
  operator Array<const T, N>() const requires(!std::is_const_v<T>) {
    Array<const T, N> same{data, {}, {}};
    for (int k = 0; k < N; k++) same.shape[k] = shape[k], same.stride[k] = stride[k];
    return same;
  }
};

template <class T>
struct Strided {
  using value_type = T;
  T* data = nullptr;
  i64 shape[1] = {};
  i64 stride[1] = {};  // in elements

  i64 size() const { return shape[0]; }
  T& operator[](i64 i) const {
    check_index(i, shape[0]);
    return data[i * stride[0]];
  }
};

// The column array[:, j] of a matrix, or [g, :, j] of a stack of them.
template <class T>
Strided<T> column_of(const Array<T, 2>& array, i64 j) {
  return {array.data + j, {array.shape[0]}, {array.stride[0]}};
}

template <class T, int N>
void fill(const Array<T, N>& array, T value) {
  if constexpr (N == 1) {
    for (i64 i = 0; i < array.shape[0]; i++) array.data[i] = value;
  } else {
    for (i64 i = 0; i < array.shape[0]; i++) fill(array[i], value);
  }
}

}  // namespace electorate
