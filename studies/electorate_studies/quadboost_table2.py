"""QuadBoost's Table 2: its tests on our own runs, and computed from the printed Table 1, which contradicts it in part.

`python -m electorate_studies.quadboost_table2` prints the second part in Markdown. It needs no data.
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.stats import binom

from electorate.comparison.building_blocks import paired_tests as tests
from electorate_studies.pages import record
from electorate_studies.request import PAPERS, Bools, Floats, markdown_table, paragraphs, text
from electorate_studies.runs import Row, by_algorithm

ALGORITHMS = ("QuadBoost-L1", "QuadBoost-L2", "QuadBoost-Linf", "QuadBoost", "LPBoost", "AdaBoost")
PRINTED = PAPERS["quadboost"]["published"]
# Rows of the whole data set, and the testing risks in the order of ALGORITHMS.
TABLE_1 = {name: tuple(line) for name, line in PRINTED["1"].items()}
ORDER = ("QuadBoost-Linf", "QuadBoost-L2", "LPBoost", "AdaBoost", "QuadBoost", "QuadBoost-L1")
# The probabilities above the diagonal of Table 2, by row and column; those below it are 1 minus these.
TABLE_2 = dict(zip(combinations(ORDER, 2), PRINTED["2"], strict=True))
# Where the paper calls a difference significant: in its text, or by a star in Table 2.
SIGNIFICANT = {(row, column): where for row, column, where in PRINTED["significant"]}
TOTALS = np.array([line[0] for line in TABLE_1.values()])
TESTED = TOTALS - np.minimum(500, -(-TOTALS // 2))  # all rows but the training rows: half, rounded up, at most 500
RISKS = np.array([line[1:] for line in TABLE_1.values()])  # [data set, algorithm] as printed
COUNTS = np.rint(RISKS * TESTED[:, None]).astype(np.int64)  # wrong test rows, which follow from the printed risks


def _pairs(row: str, column: str) -> list[tuple[int, int, int]]:
    """For every data set, how many rows both algorithms had wrong, and of how many."""
    a, b = (COUNTS[:, ALGORITHMS.index(name)].tolist() for name in (row, column))
    return list(zip(a, b, TESTED.tolist(), strict=True))


def gap(row: str, column: str) -> Floats:
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


# ---------------------------------------------------------------- our own runs


def packed(wrong: Bools) -> str:
    """Which test rows are predicted wrongly, as text."""
    return b64encode(np.packbits(wrong).tobytes()).decode()


def unpacked(text: str, n: int | None = None) -> Floats:
    return np.unpackbits(np.frombuffer(b64decode(text), dtype=np.uint8), count=n).astype(np.float64)


def pair_tests(rows: Sequence[Row]) -> dict[tuple[str, str], dict[str, float]]:
    """The tests of all pairs on runs whose wrong rows are stored: by pair in the order of Table 2.

    `first` is the Poisson binomial test on the first split of every set (the paper has one split), `mean`, `least` and
    `most` are over the splits that all sets have. The sign test is one-sided, on the mean errors of the sets.
    """
    found = {
        (data, name): [unpacked(one.chosen["wrong"], int(one.chosen["rows"])) for one in of.values()]
        for (_, data, name), of in by_algorithm(rows).items()
    }
    sets = sorted({data for data, _ in found})
    common = min(map(len, found.values()))
    answers = {}
    for one, other in TABLE_2:
        pairs = [list(zip(found[data, one], found[data, other], strict=True)) for data in sets]
        gaps = np.array([np.mean([a.mean() - b.mean() for a, b in of]) for of in pairs])
        chances = []
        for of in zip(*(pair[:common] for pair in pairs), strict=True):
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
        counts = ", ".join(str(one[what]) for what in ("wins", "ties", "losses"))
        chances = f"{one['first']:.2f}", f"{one['mean']:.2f} ({one['least']:.2f} to {one['most']:.2f})"
        numbers = f"{TABLE_2[pair]:.2f}", *chances, counts, f"{one['p']:.4f}", f"{one['gap']:+.2f}"
        lines.append([*pair, *numbers, SIGNIFICANT.get(pair, "-")])
    splits, sets = len({row.unit for row in rows}), len({row.unit.data for row in rows})
    head = "row | column | Table 2 | first split | mean (range) | wins, ties, losses | sign test p | gap | significant"
    return paragraphs(text("table 2 of quadboost", splits=splits, sets=sets), markdown_table(head, lines, "llrrrlrr"))


def report() -> str:
    rows = []
    for pair, printed in TABLE_2.items():
        low, high = possible(*pair)
        mark = "" if low - 0.005 <= printed <= high + 0.005 else " **no**"
        numbers = f"{printed:.2f}", f"{if_independent(*pair):.2f}", f"{low:.2f} to {high:.2f}{mark}"
        rows.append((*pair, record(gap(*pair), 0.0), *numbers, f"{tests.sign_test(gap(*pair)):.3f}"))
    head = "row | column | wins, ties, losses | Table 2 | from Table 1 | possible | sign test p"
    return "\n".join(markdown_table(head, rows))


if __name__ == "__main__":
    print(report())
