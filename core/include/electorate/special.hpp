// exp and log of arrays, and the logarithm of a sum of exponentials.
#pragma once
#include "electorate/array.hpp"

namespace electorate {

// The logarithm of the sum of (sums[leaf, label] + spare) exp(-gains[label, leaf]), without overflow.
inline double log_total(Array<const i64, 2> sums, Array<const double, 2> gains, double spare) {
  double smallest = std::numeric_limits<double>::infinity();
  for (i64 label = 0; label < gains.shape[0]; label++)
    for (i64 leaf = 0; leaf < gains.shape[1]; leaf++) smallest = least(smallest, gains(label, leaf));
  double total = 0.0;
  for (i64 label = 0; label < gains.shape[0]; label++)
    for (i64 leaf = 0; leaf < gains.shape[1]; leaf++)
      total += (static_cast<double>(sums(leaf, label)) + spare) * exp(smallest - gains(label, leaf));
  return log(total) - smallest;
}

// out[i] = exp(x[i]). Both may be the same array.
inline void exp_of(Array<const double, 1> x, Array<double, 1> out) {
  const double* from = x.data;
  double* to = out.data;
  const i64 n = out.shape[0];
  for (i64 i = 0; i < n; i++) to[i] = exp(from[i]);
}

// out[i] = log(x[i]), likewise.
inline void log_of(Array<const double, 1> x, Array<double, 1> out) {
  const double* from = x.data;
  double* to = out.data;
  const i64 n = out.shape[0];
  for (i64 i = 0; i < n; i++) to[i] = log(from[i]);
}

}  // namespace electorate
