// The arithmetic of one number, one row or one cut: exp and log, the grid, formulas, hashes and scores. The CUDA kernels
// include this file, too: NVRTC has no standard headers.
//
// Plain IEEE operations, none of them fused, in one fixed order: the same bits on every CPU and GPU. Loops over them have
// no branches.
#pragma once
#ifdef __CUDACC_RTC__
#define ELECTORATE_INLINE __device__ __forceinline__
#else
#include <bit>
#include <cmath>
#include <cstdint>
#define ELECTORATE_INLINE inline
#endif

namespace electorate {

#ifdef __CUDACC_RTC__
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;
#else
using i8 = int8_t;
using i16 = int16_t;
using u8 = uint8_t;
using u16 = uint16_t;
using i32 = int32_t;
using u32 = uint32_t;
using i64 = int64_t;
using u64 = uint64_t;
using std::fabs;
using std::rint;
using std::sqrt;
#endif

ELECTORATE_INLINE constexpr u64 bits_of(double x) { return __builtin_bit_cast(u64, x); }
ELECTORATE_INLINE constexpr double double_of(u64 bits) { return __builtin_bit_cast(double, bits); }
constexpr double infinity = __builtin_bit_cast(double, u64{0x7FF0000000000000});

// Python's min and max: the first argument unless the second is smaller (larger), also for NaN.
template <class T>
ELECTORATE_INLINE constexpr T least(T a, T b) {
  return b < a ? b : a;
}
template <class T>
ELECTORATE_INLINE constexpr T most(T a, T b) {
  return b > a ? b : a;
}

// ---------------------------------------------------------------- exp and log, at most 1 ulp or so from the true value

ELECTORATE_INLINE double exp(double x) {
  // x = k ln 2 + r, and exp(r) = 1 + r + r^2 (1/2! + r/3! + ... + r^11/13!).
  constexpr double log2_e = 1.4426950408889634;
  constexpr double ln2 = 0x1.62e42feep-1;  // the leading bits of ln 2: its products with exponents are exact
  constexpr double ln2_rest = 0x1.a39ef35793c76p-33;
  constexpr double lowest = -745.2, highest = 709.8;  // exp is 0 below, infinite above
  constexpr double whole = 0x1.8p52;  // after adding it, a number is whole and its last bits are an integer
  constexpr double biased = whole + 1023.0;  // the same, with the bias of an exponent
  const double inside = ((x < lowest) | (x > highest)) ? 0.0 : x;
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
  value *= double_of(bits_of(half) << 52);
  value *= double_of(bits_of(rest) << 52);
  return x < lowest ? 0.0 : x > highest ? infinity : value;
}

ELECTORATE_INLINE double log(double x) {
  // x = 2^k (1 + f), and with s = f / (2 + f), log(1 + f) = 2 s + 2 s^3 / 3 + 2 s^5 / 5 + ... + 2 s^21 / 21.
  constexpr double ln2 = 0x1.62e42feep-1, ln2_rest = 0x1.a39ef35793c76p-33;
  constexpr u64 mantissa = (u64{1} << 52) - 1;
  constexpr u64 sqrt_half = 0x3FE6A09E667F3BCD;  // the bits of the square root of 1/2
  constexpr u64 to_sqrt_half = 0x3FF0000000000000 - sqrt_half;
  constexpr u64 from_integer = 0x4330000000000000;  // the bits of 2^52
  const bool subnormal = x < 0x1p-1022;
  const u64 bits = bits_of(subnormal ? x * 0x1p54 : x) + to_sqrt_half;
  const double k = double_of((bits >> 52) | from_integer) - (0x1p52 + (subnormal ? 1077.0 : 1023.0));
  const double f = double_of((bits & mantissa) + sqrt_half) - 1.0;  // 1 + f is from sqrt(1/2) to sqrt(2)
  const double s = f / (2.0 + f);
  const double square = s * s;
  const double fourth = square * square;
  const double eighth = fourth * fourth;
  const double low = (2.0 / 3 + square * (2.0 / 5)) + fourth * (2.0 / 7 + square * (2.0 / 9));
  const double high = (2.0 / 11 + square * (2.0 / 13)) + fourth * (2.0 / 15 + square * (2.0 / 17));
  const double series = square * (low + eighth * (high + eighth * (2.0 / 19 + square * (2.0 / 21))));
  const double half = 0.5 * f * f;
  const double value = k * ln2 - ((half - (s * (half + series) + k * ln2_rest)) - f);  // 2 s = f - s f: more exact
  const double other = x == 0.0 ? -infinity : x > 0.0 ? x : double_of(0x7FF8000000000000);
  return ((0.0 < x) & (x < infinity)) ? value : other;
}

// log(1 + exp(v)). log1p by Kahan's correction of log(1 + x).
ELECTORATE_INLINE double softplus(double v) {
  const double x = exp(-fabs(v));
  const double u = 1.0 + x;
  return most(v, 0.0) + (log(u) - ((u - 1.0) - x) / u);
}

// A number on the grid.
ELECTORATE_INLINE i64 on_grid(double value) { return static_cast<i64>(rint(value)); }

#ifndef __CUDACC_RTC__
// a / b of numbers that are not negative, rounded once, as Python divides integers.
inline double quotient(i64 a, i64 b) {
  constexpr i64 exact = i64{1} << 53;  // doubles hold all integers up to here
  if ((a <= exact && b <= exact) || a == 0) return static_cast<double>(a) / static_cast<double>(b);
  const u64 by = static_cast<u64>(b);
  u64 q = static_cast<u64>(a) / by, rest = static_cast<u64>(a) % by, n_bits = 0;
  for (; q < u64{1} << 56; n_bits++) {  // more bits than a double has; one more for whether anything is left
    const bool fits = 2 * rest >= by;
    rest = 2 * rest - (fits ? by : 0);
    q = 2 * q + fits;
  }
  return static_cast<double>(2 * q + (rest > 0)) * double_of((1022 - n_bits) << 52);
}
#endif

// ---------------------------------------------------------------- what boosters sum

// The formulas, by their numbers in electorate/kernels/formulas.py.
enum : int { exponential, penalised, squared, sigmoid, soft_plus, line };

// Of a number s of the state. first: the value of the first channel.
template <int formula>
ELECTORATE_INLINE double value_of(double s, [[maybe_unused]] double first, [[maybe_unused]] double a, [[maybe_unused]] double b,
                                  [[maybe_unused]] double c) {
  if constexpr (formula == exponential) {
    return exp(a - s);
  } else if constexpr (formula == penalised) {
    const double e = exp(least(-s - a, 340.0));
    return e * (b * e + (1.0 - b)) * c;
  } else if constexpr (formula == squared) {
    const double e = least(first, 1e150);
    return e * e * a;
  } else if constexpr (formula == sigmoid) {
    const double v = b - s;
    return exp(least(least(v, 0.0) + a, 700.0)) / (1.0 + exp(-fabs(v)));
  } else if constexpr (formula == soft_plus) {
    return a * softplus(b - s);
  } else {
    return a + b * s;
  }
}

// ---------------------------------------------------------------- hashes

// A 64-bit hash of the bits of a number (splitmix64); different values have different hashes. It leaves out the constant
// that splitmix64 adds, so that mix(0.0) is 0, the smallest hash: a sketch always holds a spike at zero.
ELECTORATE_INLINE u64 mix(double value) {
  u64 z = bits_of(value);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// The hash of a row after one more number; -0.0 is 0.0, and all missing values are equal.
ELECTORATE_INLINE u64 folded(u64 hash, double number) {
  const double value = number + 0.0;
  const u64 z = (hash ^ (value == value ? mix(value) : 0xD1B54A32D192ED03)) * 0x9E3779B97F4A7C15;
  return z ^ (z >> 32);
}

// ---------------------------------------------------------------- scores of splits of two labels

// The weight that a threshold is right on, or -1; `more`: weight of label 1 less that of label 0 on the left.
ELECTORATE_INLINE i64 right_of_two(i64 more, i64 one, i64 other) {
  const i64 apart = other - one;
  return more > 0 && more >= apart ? one + more : more <= 0 && more < apart ? other - more : -1;
}

constexpr i64 gini = 1, matsushita = 2;

// `purity` for two labels: weights of the first on both sides, then of the second.
ELECTORATE_INLINE double purity_of_two(i64 criterion, double here, double there, double also_here, double also_there) {
  if (criterion == matsushita) return -2.0 * (sqrt(here * also_here) + sqrt(there * also_there));
  // a side without weight scores 0; any other has at least 1
  const double left = (here * here + also_here * also_here) / most(here + also_here, 1.0);
  const double right = there * there + also_there * also_there;
  return left + right / most(there + also_there, 1.0);
}

}  // namespace electorate
