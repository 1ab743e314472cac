"""QuadBoost's Table 2: its tests on our own runs, and computed from the printed Table 1, which contradicts it in part.

`python -m electorate_studies.quadboost_table2` prints the second part in Markdown. It needs no data: the two tables
are below.
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from electorate.comparison import paired_tests as tests
from electorate.exact import Floats
from electorate_studies.request import markdown_table
from electorate_studies.runs import Row

ALGORITHMS = ("QuadBoost-L1", "QuadBoost-L2", "QuadBoost-Linf", "QuadBoost", "LPBoost", "AdaBoost")
TABLE_1 = {  # rows of the whole data set, and the testing risks in the order of ALGORITHMS
    "australian": (690, 0.145, 0.145, 0.145, 0.145, 0.145, 0.191),
    "balance": (625, 0.035, 0.022, 0.029, 0.026, 0.029, 0.035),
    "breast": (699, 0.054, 0.049, 0.046, 0.046, 0.043, 0.046),
    "bupa": (345, 0.279, 0.285, 0.308, 0.297, 0.349, 0.372),
    "car": (1728, 0.164, 0.160, 0.150, 0.153, 0.155, 0.130),
    "cmc": (1473, 0.300, 0.292, 0.296, 0.306, 0.311, 0.310),
    "credit": (690, 0.133, 0.133, 0.133, 0.133, 0.128, 0.165),
    "cylinder": (540, 0.285, 0.311, 0.270, 0.278, 0.278, 0.281),
    "ecoli": (336, 0.065, 0.065, 0.083, 0.089, 0.113, 0.095),
    "flags": (194, 0.309, 0.278, 0.309, 0.268, 0.299, 0.247),
    "glass": (214, 0.159, 0.140, 0.150, 0.150, 0.290, 0.215),
    "heart": (270, 0.200, 0.178, 0.200, 0.215, 0.230, 0.230),
    "hepatitis": (155, 0.221, 0.221, 0.221, 0.221, 0.221, 0.182),
    "horse": (368, 0.207, 0.163, 0.158, 0.207, 0.207, 0.185),
    "ionosphere": (351, 0.091, 0.126, 0.091, 0.120, 0.120, 0.114),
    "letter ab": (1555, 0.010, 0.006, 0.006, 0.006, 0.011, 0.010),
    "monks": (432, 0.231, 0.231, 0.231, 0.231, 0.231, 0.255),
    "optdigits": (3823, 0.086, 0.077, 0.074, 0.078, 0.096, 0.081),
    "pima": (768, 0.258, 0.237, 0.245, 0.268, 0.253, 0.273),
    "tictactoe": (958, 0.315, 0.313, 0.313, 0.322, 0.342, 0.317),
    "titanic": (2201, 0.228, 0.228, 0.228, 0.228, 0.222, 0.222),
    "vote": (435, 0.051, 0.051, 0.051, 0.051, 0.051, 0.051),
    "wine": (178, 0.079, 0.056, 0.056, 0.090, 0.067, 0.045),
    "yeast": (1484, 0.283, 0.290, 0.296, 0.296, 0.300, 0.300),
    "zoo": (101, 0.040, 0.100, 0.040, 0.040, 0.120, 0.120),
}
ORDER = ("QuadBoost-Linf", "QuadBoost-L2", "LPBoost", "AdaBoost", "QuadBoost", "QuadBoost-L1")
PRINTED = (  # the probabilities of Table 2, above its diagonal; those below it are 1 minus these
    *(0.48, 0.49, 0.55, 0.80, 0.81),
    *(0.44, 0.45, 0.75, 0.84),
    *(0.42, 0.69, 0.67),
    *(0.58, 0.57),
    0.48,
)
TABLE_2 = dict(zip(combinations(ORDER, 2), PRINTED, strict=True))  # by row and column
SIGNIFICANT = {  # where the paper calls a difference significant: in its text, or by a star in Table 2
    ("QuadBoost-Linf", "QuadBoost"): "text, star",
    ("QuadBoost-L2", "QuadBoost"): "text",
    ("QuadBoost-L2", "QuadBoost-L1"): "text, star",
    ("QuadBoost-Linf", "QuadBoost-L1"): "star",
}

TOTALS = np.array([line[0] for line in TABLE_1.values()])
TESTED = TOTALS - np.minimum(500, -(-TOTALS // 2))  # all rows but the training rows: half, rounded up, at most 500
RISKS = np.array([line[1:] for line in TABLE_1.values()])  # [data set, algorithm] as printed
COUNTS = np.rint(RISKS * TESTED[:, None]).astype(np.int64)  # wrong test rows, which follow from the printed risks


def _pairs(row: str, column: str) -> list[tuple[int, int, int]]:
    """For every data set, how many rows both algorithms had wrong, and of how many."""
    a, b = (COUNTS[:, ALGORITHMS.index(name)].tolist() for name in (row, column))
    return list(zip(a, b, TESTED.tolist(), strict=True))


def _gap(row: str, column: str) -> Floats:
    return np.asarray(RISKS[:, ALGORITHMS.index(row)] - RISKS[:, ALGORITHMS.index(column)])


def if_independent(row: str, column: str) -> float:
    """The Poisson binomial test by Table 1, as if the errors of two algorithms were independent."""
    chances = [tests.chance_if_independent(a / n, b / n, n) for a, b, n in _pairs(row, column)]
    return tests.chance_of_majority(np.array(chances))


def possible(row: str, column: str) -> tuple[float, float]:
    """The least and the largest that the test can give with the risks of Table 1, whatever rows they are from.

    The test grows with the chance on every data set, so it is enough to take the least, or the largest, on each.
    """
    ends = np.array([tests.chances_of_all_pairings(a, b, n) for a, b, n in _pairs(row, column)])
    return tests.chance_of_majority(ends[:, 0]), tests.chance_of_majority(ends[:, 1])


def record(row: str, column: str) -> tuple[int, int, int]:
    """Wins, ties and losses of the row by Table 1."""
    gap = _gap(row, column)
    return int(np.sum(gap < 0)), int(np.sum(gap == 0)), int(np.sum(gap > 0))


# ---------------------------------------------------------------- our own runs


def packed(wrong: NDArray[np.bool_]) -> str:
    """Which test rows are predicted wrongly, as text."""
    return b64encode(np.packbits(wrong).tobytes()).decode()


def unpacked(text: str, n: int) -> Floats:
    return np.unpackbits(np.frombuffer(b64decode(text), dtype=np.uint8), count=n).astype(np.float64)


def pair_tests(rows: Sequence[Row]) -> dict[tuple[str, str], dict[str, float]]:
    """The tests of all pairs on runs whose wrong rows are stored: by pair in the order of Table 2.

    `first` is the Poisson binomial test on the first split of every set (the paper has one split), `mean`, `least` and
    `most` are over the splits that all sets have. The sign test is one-sided, on the mean errors of the sets.
    """
    found: dict[tuple[str, int], dict[str, Floats]] = {}
    for row in rows:
        wrong = unpacked(row.outcome.chosen["wrong"], int(row.outcome.chosen["rows"]))
        found.setdefault(row.unit[1:], {})[row.outcome.algorithm] = wrong
    names = sorted({name for name, _ in found})
    splits = {name: [of for (other, _), of in found.items() if other == name] for name in names}
    common = min(map(len, splits.values()))
    answers = {}
    for one, other in TABLE_2:
        pairs = {name: [(of[one], of[other]) for of in splits[name]] for name in names}
        gaps = np.array([np.mean([a.mean() - b.mean() for a, b in of]) for of in pairs.values()])
        chances = []
        for of in zip(*(pairs[name][:common] for name in names), strict=True):
            each = [tests.chance_of_better(np.sum(b > a), np.sum(a > b)) for a, b in of]
            chances.append(tests.chance_of_majority(np.array(each)))
        wins, ties, losses = (int(np.sum(side)) for side in (gaps < -1e-9, np.abs(gaps) <= 1e-9, gaps > 1e-9))
        answers[one, other] = {
            "wins": wins,
            "ties": ties,
            "losses": losses,
            "p": float(binom.sf(wins - 1, wins + losses, 0.5)),
            "gap": float(100 * gaps.mean()),
            "first": chances[0],
            "mean": float(np.mean(chances)),
            "least": min(chances),
            "most": max(chances),
        }
    return answers


def own_lines(rows: Sequence[Row]) -> list[str]:
    """Both tests of all pairs on our runs, beside Table 2."""
    if not rows:
        return []
    lines = []
    for pair, one in pair_tests(rows).items():
        record = ", ".join(str(one[what]) for what in ("wins", "ties", "losses"))
        chances = f"{one['first']:.2f}", f"{one['mean']:.2f} ({one['least']:.2f} to {one['most']:.2f})"
        numbers = f"{TABLE_2[pair]:.2f}", *chances, record, f"{one['p']:.4f}", f"{one['gap']:+.2f}"
        lines.append([*pair, *numbers, SIGNIFICANT.get(pair, "-")])
    splits, sets = len({row.unit for row in rows}), len({row.unit.data for row in rows})
    text = (
        f"{splits} runs of {sets} sets, each fitted again with its stored parameters. The Poisson binomial test: the "
        "probability that the row is better than the column, on the first split (the paper has one), and over those "
        "that all sets have. Wins, ties, losses, the one-sided sign test (the row is better) and the gap in points: of "
        "the mean errors of the sets over their splits. Last, where the paper calls a difference significant."
    )
    head = "row | column | Table 2 | first split | mean (range) | wins, ties, losses | sign test p | gap | significant"
    return [text, "", *markdown_table(head, lines, "llrrrlrr"), ""]


def report() -> str:
    rows = []
    for pair, printed in TABLE_2.items():
        low, high = possible(*pair)
        mark = "" if low - 0.005 <= printed <= high + 0.005 else " **no**"
        numbers = f"{printed:.2f}", f"{if_independent(*pair):.2f}", f"{low:.2f} to {high:.2f}{mark}"
        rows.append((*pair, ", ".join(map(str, record(*pair))), *numbers, f"{tests.sign_test(_gap(*pair)):.3f}"))
    head = "row | column | wins, ties, losses | Table 2 | from Table 1 | possible | sign test p"
    return "\n".join(markdown_table(head, rows))


if __name__ == "__main__":
    print(report())
