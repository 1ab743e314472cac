// Scores of splits of two labels, and a check without divisions of which splits can have a better one.
#pragma once
#include "electorate/search_layouts.hpp"

namespace electorate {

// What `may_beat` compares with for this score, less 1e-13 of the weight: far more than all errors of rounding.
inline double gain_to_beat(double score, double one, double other) {
  const double weight = one + other;
  return (score - (one * one + other * other) / weight - 1e-13 * weight) * weight / 2;
}

// Whether the Gini score of a cut may be above another one, without a division; see gain_to_beat.
//
// a, b: the weights of two labels on the left; one, other: on both sides. With c and d on the right, the score is that
// of no cut, plus 2 (a d - b c)^2 / ((a + b + c + d) (a + b) (c + d)).
inline bool may_beat(double a, double b, double one, double other, double to_beat) {
  const double apart = a * other - b * one, left = a + b;
  return apart * apart > to_beat * (left * (one + other - left));
}

}  // namespace electorate
