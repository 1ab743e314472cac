"""How the decisions of a classifier become its probabilities, for exports: the name of a function and a factor."""

from typing import NamedTuple


class Link(NamedTuple):
    """The probability of a class by its decision d, for two classes that of the second; u is scale * d.

    kind: "logistic", 1 / (1 + exp(-u)); "ramp", (1 + u) / 2 between 0 and 1; "odds", s(1 + u) / (s(1 + u) + s(1 - u))
    with the logistic function s. For more than two classes these are divided by their sum. "softmax": exp(u) divided by
    the sum of exp(u) over the classes.
    """

    kind: str
    scale: float
