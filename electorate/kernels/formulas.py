"""The numbers of an example that kernels can compute, by name: functions of s, one number of its state.

a, b and c are numbers of the formula. A channel that is none of these is computed in NumPy, in more and slower calls.
"""

EXPONENTIAL = 0  # exp(a - s)
PENALISED = 1  # c e (b e + 1 - b) with e = exp(-s - a), at most exp(340): its square must be finite
SQUARE = 2  # a times the square of the first channel, of which at most 1e150 counts
SIGMOID = 3  # exp(a) / (1 + exp(s - b))
SOFTPLUS = 4  # a log(1 + exp(b - s))
LINE = 5  # a + b s
