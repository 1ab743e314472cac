// exp and log in plain IEEE arithmetic: the same bits on every CPU, at most 1 ulp or so from the true value.
//
// Only +, -, *, / and operations on bits, none of them fused, in one fixed order; loops over them have no branches.
#pragma once
#include <bit>

#include "electorate/array.hpp"

namespace electorate {

inline double exp(double x) {
  // x = k ln 2 + r, and exp(r) = 1 + r + r^2 (1/2! + r/3! + ... + r^11/13!).
  constexpr double log2_e = 1.4426950408889634;
  constexpr double ln2 = 0x1.62e42feep-1;  // the leading bits of ln 2: its products with exponents are exact
  constexpr double ln2_rest = 0x1.a39ef35793c76p-33;
  constexpr double lowest = -745.2, highest = 709.8;  // exp is 0 below, infinite above
  constexpr double whole = 0x1.8p52;  // after adding it, a number is whole and its last bits are an integer
  constexpr double biased = whole + 1023.0;  // the same, with the bias of an exponent
  const double inside = (x < lowest) | (x > highest) ? 0.0 : x;
  const double k = (inside * log2_e + whole) - whole;
  const double r = (inside - k * ln2) - k * ln2_rest;
  const double square = r * r;
  const double fourth = square * square;
  const double low = (1.0 / 2 + r * (1.0 / 6)) + square * (1.0 / 24 + r * (1.0 / 120));
  const double middle = (1.0 / 720 + r * (1.0 / 5040)) + square * (1.0 / 40320 + r * (1.0 / 362880));
  const double high = (1.0 / 3628800 + r * (1.0 / 39916800)) + square * (1.0 / 479001600 + r * (1.0 / 6227020800.0));
  double value = 1.0 + (r + square * (low + fourth * (middle + fourth * high)));
  const double half = k * 0.5 + biased;  // 2^k in two factors: neither overflows, only the last product is rounded
  const double rest = (k - (half - biased)) + biased;
  value *= std::bit_cast<double>(std::bit_cast<u64>(half) << 52);
  value *= std::bit_cast<double>(std::bit_cast<u64>(rest) << 52);
  return x < lowest ? 0.0 : x > highest ? std::numeric_limits<double>::infinity() : value;
}

inline double log(double x) {
  // x = 2^k (1 + f), and with s = f / (2 + f), log(1 + f) = 2 s + 2 s^3 / 3 + 2 s^5 / 5 + ... + 2 s^21 / 21.
  constexpr double ln2 = 0x1.62e42feep-1, ln2_rest = 0x1.a39ef35793c76p-33;
  constexpr u64 mantissa = (u64{1} << 52) - 1;
  constexpr u64 sqrt_half = 0x3FE6A09E667F3BCD;  // the bits of the square root of 1/2
  constexpr u64 to_sqrt_half = 0x3FF0000000000000 - sqrt_half;
  constexpr u64 from_integer = 0x4330000000000000;  // the bits of 2^52
  const bool subnormal = x < 0x1p-1022;
  const u64 bits = std::bit_cast<u64>(subnormal ? x * 0x1p54 : x) + to_sqrt_half;
  const double k = std::bit_cast<double>((bits >> 52) | from_integer) - (0x1p52 + (subnormal ? 1077.0 : 1023.0));
  const double f = std::bit_cast<double>((bits & mantissa) + sqrt_half) - 1.0;  // 1 + f is from sqrt(1/2) to sqrt(2)
  const double s = f / (2.0 + f);
  const double square = s * s;
  const double fourth = square * square;
  const double eighth = fourth * fourth;
  const double low = (2.0 / 3 + square * (2.0 / 5)) + fourth * (2.0 / 7 + square * (2.0 / 9));
  const double high = (2.0 / 11 + square * (2.0 / 13)) + fourth * (2.0 / 15 + square * (2.0 / 17));
  const double series = square * (low + eighth * (high + eighth * (2.0 / 19 + square * (2.0 / 21))));
  const double half = 0.5 * f * f;
  const double value = k * ln2 - ((half - (s * (half + series) + k * ln2_rest)) - f);  // 2 s = f - s f: more exact
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double other = x == 0.0 ? -infinity : x > 0.0 ? x : std::numeric_limits<double>::quiet_NaN();
  return (0.0 < x) & (x < infinity) ? value : other;
}

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
