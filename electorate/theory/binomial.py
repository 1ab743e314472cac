"""The exact binomial bounds of Clopper and Pearson (1934): what errors on held-out rows prove.

One-sided, each at its own confidence: the truth is above the upper one with probability at most 1 - confidence.
"""

from scipy.special import betaincinv


def binomial_bound(errors: int, rows: int, confidence: float = 0.95) -> float:
    """The largest error rate under which so few errors still happen with probability 1 - confidence.

    Exact for any number of rows drawn like those to come.
    """
    _check(errors, rows)
    return 1.0 if errors == rows else float(betaincinv(errors + 1, rows - errors, confidence))


def binomial_floor(errors: int, rows: int, confidence: float = 0.95) -> float:
    """The smallest error rate under which so many errors still happen with probability 1 - confidence."""
    _check(errors, rows)
    return 0.0 if errors == 0 else float(betaincinv(errors, rows - errors + 1, 1 - confidence))


def _check(errors: int, rows: int) -> None:
    if not 0 <= errors <= rows or rows < 1:
        raise ValueError(f"{errors} errors of {rows} rows")
