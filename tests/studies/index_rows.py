# ruff: noqa: E501 -- the rows of tables
"""The rows of docs/studies/index.md on the claims of the papers: every mark and number from the stored files.

`python tests/studies/index_rows.py` prints them, for index.md. A mark is a function of the numbers beside it. Statements
that hold exactly are tested on small data; their rows name the test.
"""

import itertools
import json
import os
import re
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from electorate import AdaBoostClassifier, PairedStumps, Stumps
from electorate_studies import adaboost_r, deepboost, figures, quadboost, quadboost_table2, vadaboost
from electorate_studies import adaboost_r_figures as curves
from electorate_studies.binary_sets import read_set
from electorate_studies.overview import AIMS
from electorate_studies.pages import SURE, cells_of, mean_and_error, paired_difference
from electorate_studies.runs import Row, read_results, stored_rows

ROOT = Path(__file__).parents[2]
STORED = ROOT / "docs" / "studies"
DATA = Path(os.environ.get("ELECTORATE_DATA", ROOT.parent / "shared" / "data"))
YES, NO, PART, NOT_RUN = "**reproduced**", "**not reproduced**", "**in part**", "**not run**"
ORDER, SIZE = "**order, not size**", "**size, not order**"


@lru_cache
def results(name: str) -> list[Row]:
    return read_results(STORED / f"{name}.csv")


def split_mean(name: str, table: str, algorithm: str, what: str = "error") -> dict[str, float]:
    """By data set, the mean over the splits."""
    found: dict[str, list[float]] = {}
    for row in results(name):
        if row.unit.table == table and row.outcome.algorithm == algorithm:
            found.setdefault(row.unit.data, []).append(getattr(row.outcome, what))
    return {data: float(np.mean(values)) for data, values in found.items()}


def means(study: Any, number: int, paper: str) -> tuple[float, dict[str, float], dict[str, float]]:
    """Of a table on the sets with certain classes: the largest difference of the means, our means and the published."""
    table = study.tables(DATA)[number]
    cells = [c for c in cells_of(table, results(paper)) if c.errors and table.doubts[c.data][1] in SURE]
    ours = {a: float(np.mean([c.mean for c in cells if c.algorithm == a])) for a in table.algorithms}
    theirs = {a: float(np.mean([c.published.mean for c in cells if c.algorithm == a])) for a in table.algorithms}
    return max(abs(ours[a] - theirs[a]) for a in ours), ours, theirs


def within(far: float, paper: str) -> str:
    return YES if far <= AIMS[paper] else NO


def record(name: str, table: str, data: list[str], one: str, other: str) -> tuple[tuple[int, int, int], float, float]:
    """Wins, ties and losses, the mean gap and its standard error over the splits."""
    gaps = np.array([paired_difference(results(name), table, n, one, other)[:2] for n in data])
    gap = gaps[:, 0]
    wins = int(np.sum(gap < -5e-4)), int(np.sum(np.abs(gap) <= 5e-4)), int(np.sum(gap > 5e-4))
    return wins, float(gap.mean()), float(np.sqrt(np.nansum(gaps[:, 1] ** 2)) / len(gap))


def tested(name: str) -> str:
    """The mark of a statement that a test checks. name: file::function, below tests/."""
    file, function = name.split("::")
    if not re.search(rf"^def {function}\(", (ROOT / "tests" / file).read_text(encoding="utf-8"), re.MULTILINE):
        raise AssertionError(f"there is no test {name}")
    return f"**tested**: `tests/{name}`"


@lru_cache
def coverage() -> dict[str, list[tuple[int, int]]]:
    """By bound, in how many draws it failed, and of how many."""
    found: dict[str, list[tuple[int, int]]] = {}
    for row in stored_rows(STORED / "certificates-table-2.csv", ("bound", "world")):
        found.setdefault(row["bound"], []).append((row["failed"], row["draws"]))
    return found


def covered(bound: str) -> str:
    failed, draws = (sum(numbers) for numbers in zip(*coverage()[bound], strict=True))
    mark = YES if failed <= 0.05 * draws else NO
    return f"{mark}: with delta = 0.05 the bound fails in {failed:,} of {draws:,} simulated draws"


# ---------------------------------------------------------------- QuadBoost


def quadboost_rows() -> list[tuple[str, str, str]]:
    far, _, _ = means(quadboost, 0, "quadboost")
    sets = list(quadboost.SETS)
    error = {a: split_mean("quadboost", "1", a) for a in quadboost.ALGORITHMS}
    seconds = {a: float(np.mean(list(split_mean("quadboost", "1", a, "seconds").values()))) for a in error}
    published = dict(zip(quadboost.ALGORITHMS, quadboost.PUBLISHED_SECONDS, strict=True))
    rows = [
        (
            "Table 1",
            "test errors of six algorithms on 25 sets",
            f"{within(far, 'QuadBoost')} in the means: over the sets with "
            f"certain classes every mean is within {far:.1f} points. [balance-scale](findings.md#quadboost-balance-scale) needed a guess",
        ),
    ]
    longer = {r.unit.data: r.outcome.error for r in results("quadboost") if r.unit.table == quadboost.LONGER}
    usual = {
        r.unit.data: r.outcome.error
        for r in results("quadboost")
        if r.unit.table == "1" and r.unit.split == 0 and r.outcome.algorithm == "AdaBoost"
    }
    same = sum(abs(longer[n] - usual[n]) < 1e-9 for n in longer)
    rows.append(
        (
            "Table 1",
            "AdaBoost with 1,000,000 rounds (`--table 3`)",
            f"run for one split of {len(longer)} sets: the same error as with 10,000 rounds on "
            f"[{same}](findings.md#quadboost-1000000-rounds-of-adaboost)",
        )
    )
    for one, other, wins, faster in (("QuadBoost", "AdaBoost", 17, 20), ("QuadBoost-L1", "LPBoost", 16, 20)):
        no_worse = sum(error[one][n] <= error[other][n] + 1e-12 for n in sets)
        ratio = seconds[other] / seconds[one]
        mark = YES if no_worse >= wins - 1 and ratio >= faster else PART if no_worse > 12 and ratio > 2 else NO
        rows.append(
            (
                "Table 1",
                f"{one} is no worse than {other} on {wins} of 25 sets and {faster} times as fast",
                f"{mark}: {no_worse} sets, {ratio:.0f} times",
            )
        )
    order = sorted(seconds, key=seconds.__getitem__), sorted(published, key=published.__getitem__)
    rows.append(
        (
            "Table 1, last row",
            "mean running times",
            f"{YES if order[0] == order[1] else NO}: "
            + ", ".join(f"{a} {seconds[a]:.2f} s (published {published[a]:.2f})" for a in order[0]),
        )
    )
    answers = quadboost_table2.pair_tests(results("quadboost-rows"))
    printed = quadboost_table2.TABLE_2
    for which, pairs in (
        ("text", [p for p, w in quadboost_table2.SIGNIFICANT.items() if "text" in w]),
        ("stars", [p for p, w in quadboost_table2.SIGNIFICANT.items() if "star" in w]),
    ):
        held = [answers[p]["p"] <= 0.05 for p in pairs]
        mark = YES if all(held) else PART if any(held) else NO
        each = "; ".join(
            f"{a.removeprefix('QuadBoost-')} - {b.removeprefix('QuadBoost-') if '-' in b else 'vanilla'} {answers[a, b]['wins']}, "
            f"{answers[a, b]['ties']}, {answers[a, b]['losses']}, p = {max(answers[a, b]['p'], 1e-4):.4f}, {answers[a, b]['gap']:+.2f}"
            for a, b in pairs
        )
        rows.append(
            (
                f"Table 2, {which}",
                "differences called significant, sign test at 5%",
                f"{mark} on our {len({r.unit for r in results('quadboost-rows')})} runs: {each} (wins, ties, losses; one-sided p, at least 0.0001 shown; gap in points)",
            )
        )
    agrees = [pair for pair in printed if (printed[pair] - 0.5) * (answers[pair]["mean"] - 0.5) >= 0]
    near = sum(abs(printed[pair] - answers[pair]["mean"]) <= 0.1 for pair in printed)
    wrong = quadboost_table2.report().count("**no**")
    rows.append(
        (
            "Table 2",
            "Poisson binomial test between the algorithms",
            f"{YES if near == len(printed) else NO}: the mean over our splits is within 0.1 of {near} of the 15 printed numbers, and on "
            f"the same side of 1/2 for {len(agrees)}; {wrong} of them are impossible with the printed Table 1",
        )
    )
    again = [r for r in results("quadboost") if r.unit.table == quadboost.REWEIGHTED]
    if again:
        line = [text for text in quadboost.reweighted_lines(results("quadboost")) if text.startswith("| QuadBoost")]
        cells = [[cell.strip() for cell in text.strip("| ").split("|")] for text in line]
        gains = [float(c[5]) < 0 and float(c[7]) <= 0.05 for c in cells]
        rows.append(
            (
                "section 3.1",
                're-weighting "might be advantageous" (`--table 4`)',
                f"{YES if all(gains) else PART if any(gains) else NO}: it lowers the errors of {sum(gains)} of {len(gains)} algorithms (sign test at 5%); mean errors with re-weighting less without, "
                + ", ".join(f"{c[0]} {c[5]}" for c in cells)
                + f" points, {cells[0][2]} runs of {cells[0][1]} sets",
            )
        )
    return [
        *rows,
        ("Theorem 1", "risk bound for any p and loss", covered("vote, hinge loss")),
        ("Lemma 1", "R(C_p^n) = n^(1-1/p) R(H)", tested("theory/test_bounds.py::test_lemma_1_of_quadboost")),
        (
            "section 3",
            "each round lowers the risk by (mu - M)^2 / eta and its penalised forms; risk at most 1 - T gamma^2",
            tested("algorithms/test_quadboost.py::test_what_a_voter_that_enters_lowers_the_objective_by"),
        ),
    ]


# ---------------------------------------------------------------- VadaBoost


def vadaboost_rows() -> list[tuple[str, str, str]]:
    rows, sets = [], list(vadaboost.SETS)
    notes = {
        "1": "Three of the sets were [found by their errors](findings.md#vadaboost-which-data-sets-were-used)",
        "2": "[Which CART](findings.md#cart) is not stated: trees of 2 splits on a path here",
    }
    for number, key in enumerate(("1", "2")):
        far, _, _ = means(vadaboost, number, "vadaboost")
        printed = [[float(part.split()[0]) for part in text.split(", ")] for text in vadaboost.PUBLISHED[key].values()]
        at = vadaboost.ALGORITHMS[key].index("VadaBoost")
        theirs = np.array([line[at] - line[0] for line in printed])
        (wins, ties, losses), gap, error = record("vadaboost", key, sets, "VadaBoost", "AdaBoost")
        mark = YES if far <= AIMS["VadaBoost"] and gap < -2 * error else SIZE if far <= AIMS["VadaBoost"] else NO
        rows.append(
            (
                f"Table {key}",
                f"{vadaboost.TABLES[key]}, 18 sets",
                f"{mark}: every mean within {far:.1f} points; VadaBoost is "
                f"better than AdaBoost on {wins} sets, equal on {ties}, worse on {losses} (published: {np.sum(theirs < -5e-4)}, "
                f"{np.sum(np.abs(theirs) <= 5e-4)}, {np.sum(theirs > 5e-4)}), in the mean by {-gap:.2f} ± {error:.2f} points "
                f"({-theirs.mean():.2f}). {notes[key]}",
            )
        )
    (wins, ties, losses), gap, error = record("vadaboost", "1", sets, "EBBoost", "AdaBoost")
    rows.append(
        (
            "section 6",
            "EBBoost with stumps is significantly better than AdaBoost",
            f"{YES if gap < -2 * error else NO}: {wins}, {ties}, {losses}, by {-gap:.2f} ± {error:.2f} points",
        )
    )
    both = vadaboost.any_lam(results("vadaboost"))
    if both:
        names = sorted(both)
        gaps = np.array([mean_and_error([100 * (b.error - a.error) for a, b in both[n]])[:2] for n in names])
        gap, error = gaps[:, 0].mean(), np.sqrt(np.nansum(gaps[:, 1] ** 2)) / len(names)
        free = [one.chosen["lam"] > 1 for pairs in both.values() for _, one in pairs]
        rows.append(
            (
                "section 3",
                "restricting lam to [0, 1] does not significantly change the results (`--table 5`)",
                f"{NO if abs(gap) > 2 * error else YES if len(free) >= 3 * len(sets) else PART}: with lam also from 1.5 to 16, chosen in {sum(free)} of {len(free)} runs of "
                f"{len(names)} sets, the error of EBBoost changes by {gap:+.2f} ± {error:.2f} points",
            )
        )
    found = figures.bounds(stored_rows(STORED / "vadaboost-figure-1.csv", ()))
    touches = all(
        abs(of["U"][50] - of["V"][50]) < 1e-12 and np.all(of["U"] >= of["V"] * (1 - 1e-12)) for of in found.values()
    )
    most = [float(np.max(of["U"] / of["V"])) for of in found.values()]
    rows.append(
        (
            "Figure 1",
            "the bound U and the cost V against alpha",
            f"{YES if touches and most[1] < most[0] else NO} with our own data ([picture](../plots/vadaboost_figure_1.png)): U touches V at 0; "
            f"it is at most {most[0]:.2f} times V for lam = 0 and {most[1]:.2f} times for lam = 0.9",
        )
    )
    costs = {
        (one["lam"], one["algorithm"]): one for one in stored_rows(STORED / "vadaboost-figure-2.csv", ("algorithm",))
    }
    need = {
        key: [figures.rounds_to(one["cost"], level * one["rows"] ** 2) for level in (0.1, 0.01)]
        for key, one in costs.items()
    }
    ada, vada, free_, eb = (
        need[0.0, "AdaBoost, squared"],
        need[0.0, "VadaBoost"],
        need[0.5, "VadaBoost"],
        need[0.5, "EBBoost"],
    )
    twice = all(1.5 <= v / a <= 2.5 for a, v in zip(ada, vada, strict=True))
    rows.append(
        (
            "Figure 2",
            "1 + cost against rounds, MNIST 3 and 8: VadaBoost needs roughly twice AdaBoost's rounds at lam = 0",
            f"{YES if twice else NO} ([picture](../plots/vadaboost_figure_2.png)): {vada[0]} and {vada[1]} rounds to a tenth and a hundredth of "
            f"the first cost, AdaBoost {ada[0]} and {ada[1]}",
        )
    )
    close = all(f / e <= 1.25 for f, e in zip(free_, eb, strict=True))
    rows.append(
        (
            "Figure 2",
            "only a minor difference between EBBoost and VadaBoost at lam = 0.5",
            f"{YES if close else NO}: VadaBoost {free_[0]} and {free_[1]} rounds, EBBoost {eb[0]} and {eb[1]}",
        )
    )
    return [
        *rows,
        ("Theorem 1, eq. 2", "the empirical Bernstein bound", covered("variance")),
        (
            "Lemma 2, Theorem 3, Corollary 4",
            "the step minimises U; V is at most U; cost (3) falls in every round",
            tested("algorithms/test_vadaboost.py::test_v_is_at_most_u"),
        ),
        (
            "Theorem 5",
            "at lam = 0 twice AdaBoost's rounds at most, at errors above 0.4 about 33% more",
            tested(
                "studies/test_later_rounds.py::test_vadaboost_needs_twice_adaboosts_rounds_at_most_and_a_third_more_above_an_error_of_two_fifths"
            ),
        ),
        (
            "section 4",
            "at lam = 0 EBBoost is AdaBoost",
            tested("algorithms/test_ebboost.py::test_at_lam_0_it_is_adaboost"),
        ),
    ]


# ---------------------------------------------------------------- DeepBoost


def deepboost_rows() -> list[tuple[str, str, str]]:
    rows = []
    for number, key in enumerate(("1", "2", "3")):
        table = deepboost.tables(DATA)[number]
        far, _, _ = means(deepboost, number, "deepboost")
        cells = [c for c in cells_of(table, results("deepboost")) if c.errors]
        names = sorted({c.data for c in cells})
        mean = {a: np.mean([c.mean for c in cells if c.algorithm == a]) for a in table.algorithms}
        best = min(mean, key=mean.__getitem__) == "DeepBoost"
        base, agree = table.algorithms[0], far <= AIMS["DeepBoost"]
        wins = record("deepboost", key, names, "DeepBoost", base)[0][0]
        ordered = best and 2 * wins > len(names)
        mark = YES if agree and ordered else ORDER if ordered else SIZE if agree else NO
        within_2 = sum(abs(c.in_errors) <= 2 for c in cells)
        rows.append(
            (
                f"Table {key}",
                deepboost.TABLES[key],
                f"{mark}: {within_2} of {len(cells)} cells within two standard errors, means within {far:.1f} points; DeepBoost "
                f"{'has' if best else 'does not have'} the lowest mean, and is better than {base} on {wins} of {len(names)} sets "
                f"(published: {sum(line[-1] < line[0] - 1e-9 for line in _printed(key))})",
            )
        )
    sizes: dict[str, list[float]] = {}
    for key in ("1", "2", "3"):
        for name, text in deepboost.PUBLISHED[key].items():
            for algorithm, part in zip(deepboost.ALGORITHMS[key], text.split(", "), strict=True):
                for what, place in (("size", 2), ("voters", 3)):
                    ours = split_mean("deepboost", key, algorithm, what).get(name)
                    if ours is not None and not algorithm.startswith("AdaBoost H"):
                        sizes.setdefault(what, []).append(abs(ours / float(part.split()[place]) - 1))
    near = {what: (sum(r <= 0.25 for r in ratios), len(ratios)) for what, ratios in sizes.items()}
    rows.append(
        (
            "Tables 1 to 3",
            "sizes and numbers of voters",
            f"{YES if all(a > 0.75 * b for a, b in near.values()) else NO}: within a quarter of the printed ones in {near['size'][0]} (sizes) and "
            f"{near['voters'][0]} (numbers) of {near['size'][1]} cells: "
            "[the penalty](findings.md#deepboost-the-number-of-voters-and-the-penalty)",
        )
    )
    better = worse = every = 0
    for key in ("1", "2", "3"):
        for name in ("ocr17-mnist", "ocr49-mnist"):
            for other in deepboost.ALGORITHMS[key][:-1]:
                gap, error, splits = paired_difference(results("deepboost"), key, name, "DeepBoost", other)
                from scipy.stats import t

                tail = float(t.cdf(gap / error, splits - 1))
                every, better, worse = every + 1, better + (tail < 0.02), worse + (tail > 0.98)
    rows.append(
        (
            "section 4",
            "one-sided paired t-tests at 2% on the MNIST sets: DeepBoost is better in all but one",
            f"{YES if better >= every - 1 else NO}: of {every} tests {better} finds DeepBoost better, and {worse} find it worse",
        )
    )
    for longer, key in {deepboost.LONGER: "1", **deepboost.AGAIN}.items():
        found = {(r.unit, r.outcome.algorithm): 100 * r.outcome.error for r in results("deepboost")}
        units = sorted({u for u, _ in found if u.table == longer and (u._replace(table=key), "DeepBoost") in found})
        if not units:
            rows.append(("section 4", f"1,000 rounds instead of 100: Table {key} (`--table {longer}`)", NOT_RUN))
            continue
        algorithms = deepboost.ALGORITHMS[key]
        both = np.array([[[found[u._replace(table=t), a] for u in units] for a in algorithms] for t in (key, longer)])
        gaps = both[1] - both[0]
        error = gaps.std(axis=1, ddof=1) / np.sqrt(len(units))
        changed = np.abs(gaps.mean(axis=1)) > 2 * error
        order = [[algorithms[k] for k in np.argsort(part.mean(axis=1), kind="stable")] for part in both]
        mark = NO if changed.any() else YES if order[0] == order[1] else SIZE
        mark = mark if len(units) == 40 else PART  # ten folds of four sets
        each = ", ".join(
            f"{a} {g:+.2f} ± {e:.2f}" for a, g, e in zip(algorithms, gaps.mean(axis=1), error, strict=True)
        )
        rows.append(
            (
                "section 4",
                f"1,000 rounds instead of 100 change neither the errors nor the order: Table {key} (`--table {longer}`)",
                f"{mark}: {len({u.data for u in units})} small sets, {len(units)} folds: {each}; the order of the means "
                f"{'stays' if order[0] == order[1] else 'changes'}",
            )
        )
    kinds = [
        (key, table)
        for key, table in (("8", "1"), ("9", "2"), ("10", "3"), ("13", "2"), ("14", "3"))
        if any(r.unit.table == key for r in results("deepboost"))
    ]
    KINDS = deepboost.variants.KINDS
    parts = []
    for key, table in kinds:
        pairs = {r.unit: r.outcome for r in results("deepboost") if r.outcome.algorithm == "DeepBoost"}
        units = [u for u in pairs if u.table == key and u._replace(table=table) in pairs]
        gaps = np.array([100 * (pairs[u].error - pairs[u._replace(table=table)].error) for u in units])
        parts.append(
            f"Table {table}, {KINDS[key]} {gaps.mean():+.2f} ± {gaps.std(ddof=1) / np.sqrt(len(gaps)):.2f} ({len(units)} folds)"
        )
    rows.append(
        (
            "eq. 7 to 9",
            "other complexities: [provable ones](findings.md#deepboost-provable-complexities), and trees by their depth (`--table 8` to `10`, `13`, `14`)",
            "run: error less that with the paper's: " + "; ".join(parts),
        )
    )
    nodes = [one["nodes"] for one in stored_rows(STORED / "deepboost-figure-3.csv", ())]
    rows.append(
        (
            "Figure 3",
            "sizes of trees of one run, ionosphere",
            f"{YES if len(set(nodes)) > 1 else NO} with our own subset and penalties: {len(nodes)} trees of {len(set(nodes))} sizes, "
            f"{min(nodes)} to {max(nodes)} nodes ([picture](../plots/deepboost_figure_3.png))",
        )
    )
    facts = figures.facts(stored_rows(STORED / "deepboost-figure-4.csv", ("algorithm",)))
    held = {
        what: max(facts, key=lambda a, what=what: facts[a][what]) == "DeepBoost"
        for what in ("minimum", "median", "mean")
    }
    rows.append(
        (
            "Figure 4",
            "DeepBoost induces larger margins than AdaBoost and AdaBoost-L1, ionosphere",
            f"{YES if all(held.values()) else NO} with our own subset and penalties ([picture](../plots/deepboost_figure_4.png)): minimum, median and mean margin "
            + "; ".join(f"{a} {of['minimum']:.2f}, {of['median']:.2f}, {of['mean']:.2f}" for a, of in facts.items()),
        )
    )
    tree = {a: split_mean("deepboost", "2", a, "size") for a in deepboost.ALGORITHMS["2"]}
    smaller, larger = (tree["DeepBoost"][n] - tree["AdaBoost-L1"][n] for n in ("breastcancer", "german"))
    rows.append(
        (
            "section 4",
            "DeepBoost's trees are smaller than AdaBoost-L1's on breastcancer and larger on german",
            f"{YES if smaller < 0 < larger else PART if smaller < 0 or larger > 0 else NO}: Table 2, {smaller:+.1f} and {larger:+.1f} nodes",
        )
    )
    return [
        *rows,
        duplicates(),
        ("Theorem 1", "risk bound by the weights of the families", covered("margins")),
        (
            "section 2",
            "the standard bound for the union as one class",
            tested("families/test_prices.py::test_for_some_unions_one_class_is_smaller_and_for_others_not"),
        ),
        (
            "eq. 4, Figure 2",
            "the algorithm lowers F and reaches its minimum",
            tested("algorithms/test_deepboost.py::test_it_converges_to_the_minimum"),
        ),
        (
            "section 3",
            "beta = lambda = 0 is AdaBoost",
            tested("algorithms/test_deepboost.py::test_without_prices_it_is_adaboost"),
        ),
    ]


@lru_cache
def duplicates() -> tuple[str, str, str]:
    """The share of AdaBoost's 100 rounds that find a stump again: the one row that is run here, since it takes seconds."""
    found: dict[str, list[float]] = {}
    for name in deepboost.SMALL:
        data = read_set(deepboost.SETS[name], DATA)
        train = deepboost.split(len(data.y), 0)[0]
        for what, family in (("stumps", Stumps()), ("paired stumps", PairedStumps())):
            model = AdaBoostClassifier(family, n_estimators=100, n_jobs=1).fit(data.X[train], data.y[train])
            found.setdefault(what, []).append(1 - len({voter.to_text() for voter in model.estimators_}) / 100)
    near = all(0.02 <= np.mean(shares) <= 0.1 for shares in found.values())
    each = "; ".join(f"{what} {100 * min(of):.0f} to {100 * max(of):.0f}%" for what, of in found.items())
    return (
        "section 4",
        "100 rounds of AdaBoost have about 5% of duplicate stumps",
        f"{YES if near else NO}: {each} on the four small sets, first fold (run by the test)",
    )


def _printed(key: str) -> list[list[float]]:
    return [[float(part.split()[0]) for part in text.split(", ")] for text in deepboost.PUBLISHED[key].values()]


# ---------------------------------------------------------------- AdaBoost_R


def adaboost_r_rows() -> list[tuple[str, str, str]]:
    far, _, _ = means(adaboost_r, 0, "adaboost_r")
    table = adaboost_r.tables(DATA)[0]
    cells = cells_of(table, results("adaboost_r"))
    errors = {c.data: {d.algorithm: d.mean for d in cells if d.data == c.data} for c in cells}
    best = {
        t: sum(of[f"U, T = {t}"] <= min(of[f"{k}, T = {t}"] for k in "DUT") + 5e-4 for of in errors.values())
        for t in (10, 50)
    }
    repeats = len({r.unit.split for r in results("adaboost_r") if r.unit.table == "4"})
    rows = [
        (
            "Figure 4",
            "25 domains after 10 and 50 rounds",
            f"{within(far, 'AdaBoost_R')} in the means, {repeats} repeats: within {far:.1f} points on the certain domains. "
            "[Monks1](findings.md#adaboost_r-monks1-after-50-rounds) and [LEDeven+17](findings.md#adaboost_r-ledeven17) do not agree",
        ),
        (
            "Figure 4",
            "AdaBoost_R is best on 11 domains after 10 rounds and on 15 after 50",
            f"{YES if best[10] >= 10 and best[50] >= 13 else NO}: {best[10]} and {best[50]}",
        ),
    ]
    figure = np.array(list(adaboost_r.FIGURE_4.values())).reshape(25, 2, 3)
    ends = [np.abs(figure - end) < 5e-4 for end in (figure.min(2, keepdims=True), figure.max(2, keepdims=True))]
    counts = {"best": ends[0], "second": ~ends[0] & ~ends[1], "worst": ends[1]}
    wrong = [
        f"#{what} of {algorithm}: printed {printed}, from the errors {counted}"
        for what, mask in counts.items()
        for algorithm, printed, counted in zip(
            adaboost_r.ALGORITHMS, adaboost_r.COUNTS[what], mask.sum(axis=0).ravel().tolist(), strict=True
        )
        if printed != counted
    ]
    rows.append(
        (
            "Figure 4, last rows",
            "#best, #second, #worst",
            f"{PART if wrong else YES}: of 18 printed counts {18 - len(wrong)} follow from the printed errors; "
            + "; ".join(wrong),
        )
    )
    names = {
        "Monks1 and Monks2: real AdaBoost is best after 50 rounds": [("Monks1", "T", 50), ("Monks2", "T", 50)],
        "AdaBoost_R is best on LEDeven after 50 rounds and on LEDeven+17 after 10": [
            ("LEDeven", "U", 50),
            ("LEDeven+17", "U", 10),
        ],
        "real AdaBoost is best on XD6 after 50 rounds": [("XD6", "T", 50)],
    }
    for what, wanted in names.items():
        held = [
            errors[d][f"{k}, T = {t}"] <= min(errors[d][f"{o}, T = {t}"] for o in "DUT") + 5e-4 for d, k, t in wanted
        ]
        each = "; ".join(
            f"{d}: " + ", ".join(f"{k} {errors[d][f'{k}, T = {t}']:.2f}" for k in "DUT") for d, _, t in wanted
        )
        rows.append(("section 4.1", what, f"{YES if all(held) else PART if any(held) else NO}: {each}"))
    seconds = {
        k: float(np.mean([r.outcome.seconds for r in results("adaboost_r") if r.outcome.algorithm == f"{k}, T = 50"]))
        for k in "DUT"
    }
    ratio = seconds["T"] / seconds["D"]
    rows.append(
        (
            "section 4",
            "real AdaBoost takes more than 100 times as long",
            f"{YES if ratio > 100 else NO}: {ratio:.1f} times with our search for the step",
        )
    )
    larger = {k: 100 * split_mean("adaboost_r", "4.1", f"{k}, T = 100")["XD6"] for k in "DUT"}
    theirs = dict(zip("DUT", adaboost_r.LARGER["XD6"], strict=True))
    same = sorted(larger, key=larger.__getitem__) == sorted(theirs, key=theirs.__getitem__)
    rows.append(
        (
            "section 4.1",
            "XD6 with r = 3, T = 100",
            f"{YES if same and max(abs(larger[k] - theirs[k]) for k in 'DUT') <= 1.5 else NO}: "
            + ", ".join(f"{k} {larger[k]:.2f} ({theirs[k]:.2f})" for k in "UDT")
            + ": the same order" * same,
        )
    )
    stage = stored_rows(STORED / "adaboost_r-figure-2.csv", ())
    rows.append(
        (
            "Figure 2",
            "the bound of Theorem 1",
            f"{YES if not any(map(figures.violations, stage)) else NO} with our own data ([picture](../plots/adaboost_r_figure_2.png)): "
            f"no margin of a training row above the bound at 400 values of theta after {', '.join(str(one['rounds']) for one in stage)} rounds",
        )
    )
    graphs = stored_rows(STORED / "adaboost_r-figure-3.csv", ())
    stairs = all(
        abs(figures.graph_of(one).margin_error(0.0) - one["eta"]) < 1e-9
        and abs(max(one["margins"]) - (1 - 2 * one["eta"])) < 1e-9
        for one in graphs
    )
    rows.append(
        (
            "Figure 3",
            "the margin graph of the Bayes rule for one row",
            f"{YES if stairs else NO} for noise of 10 to 40% ([picture](../plots/adaboost_r_figure_3.png))",
        )
    )
    return (
        rows
        + figure_rows()
        + [
            (
                "Lemma 1",
                "with outputs -1 and 1 it is discrete AdaBoost",
                tested("algorithms/test_adaboost_r.py::test_lemma_1_outputs_plus_minus_1_are_discrete_adaboost"),
            ),
            (
                "Theorem 1",
                "margin errors under their bound, every theta and round",
                tested("algorithms/test_adaboost_r.py::test_theorem_1_of_adaboost_r"),
            ),
            (
                "Theorem 2, eq. 18",
                "rounds to consistency, and to margins above theta",
                tested("inspection/test_named_bounds.py::test_consistent_after_so_many_rounds"),
            ),
            (
                "eq. 19",
                "a weight falls iff y h / h* is at least mu",
                tested("algorithms/test_adaboost_r.py::test_eq_19_a_weight_falls_iff_the_margin_exceeds_mu"),
            ),
            (
                "section 3.3",
                "mu is an expected divergence",
                tested("algorithms/test_adaboost_r.py::test_mu_is_an_expected_divergence"),
            ),
        ]
    )


def figure_rows() -> list[tuple[str, str, str]]:
    """Figures 5 and 6, and what the text says of all curves."""
    every = results("adaboost_r-figures")
    shown = [
        r
        for r in every
        if r.unit.table in "56"
        and r.unit.data.startswith("r = 6")
        and r.outcome.algorithm.endswith((" = 20", " = 1000"))
    ]
    rows, found = [], curves.claims(every)
    for number, domain in curves.OF_FIGURE.items():
        held = curves.claims([r for r in shown if r.unit.table == str(number)]).get(f"{domain}, r = 6")
        if held:
            left = held["least area left of 0"]
            rows.append(
                (
                    f"Figure {number}",
                    f"test margins on {domain} under noise, r = 6: AdaBoost_R is below both left of 0",
                    f"{YES if sum(left) > len(left) / 2 else NO} ([picture](../plots/adaboost_r_figure_{number}.png)): the least area left of 0 in {sum(left)} of {len(left)} graphs",
                )
            )
    words = {
        "least area left of 0": "AdaBoost_R beats both on a majority of curves for theta <= 0",
        "training margins: real, discrete, R": "training margins: real AdaBoost converges fastest, then discrete, then AdaBoost_R",
    }
    for claim, what in words.items():
        parts = {where: of[claim] for where, of in found.items()}
        held, count = sum(map(sum, parts.values())), sum(map(len, parts.values()))
        rows.append(
            (
                "section 4.2",
                f"{what} (`--table 5`)",
                f"{YES if held > 0.5 * count else NO}: {held} of {count} curves, {len({r.unit.split for r in every})} sample(s) at most; "
                + ", ".join(f"{where} {sum(of)}/{len(of)}" for where, of in sorted(parts.items())),
            )
        )
    flat: dict[str, list[float]] = {}
    middle: dict[str, list[float]] = {}  # by noise, of real AdaBoost after 1,000 rounds
    for r in every:
        if r.unit.table in ("6", "6.1") and "training" in r.outcome.chosen:
            low, half, high = np.interp((0.1, 0.5, 0.9), curves.GRID, r.outcome.chosen["training"])
            name = r.outcome.algorithm if r.unit.table == "6" else f"{r.outcome.algorithm}, long run"
            flat.setdefault(name, []).append(float(high - low))
            if name == "real AdaBoost, T = 1000":
                middle.setdefault(r.unit.data.split("noise ")[1], []).append(float(half))
    rise = {name: float(np.mean(values)) for name, values in flat.items()}
    if "real AdaBoost, T = 1000" in rise:
        real, discrete, ours = (rise[f"{a}, T = 1000"] for a in ("real AdaBoost", "discrete AdaBoost", "AdaBoost_R"))
        heights = {noise: float(np.mean(values)) for noise, values in sorted(middle.items())}
        rising = all(b >= a - 0.01 for a, b in itertools.pairwise(heights.values()))
        held = real < 0.1 and real < min(discrete, ours) and rising
        rows.append(
            (
                "section 4.2",
                "XD6, r = 6: two plateaus in real AdaBoost's training graphs, the upper one higher with more noise",
                f"{YES if held else NO} ([picture](../plots/adaboost_r_training_figure_6.png)): between theta = 0.1 and 0.9 the graphs after 1,000 "
                f"rounds rise by {real:.2f} (real), {discrete:.2f} (discrete) and {ours:.2f} (AdaBoost_R); real AdaBoost's is at "
                + ", ".join(f"{height:.2f} (noise {noise})" for noise, height in heights.items()),
            )
        )
    long = {
        int(name.split("T = ")[1].split(",")[0]): value for name, value in rise.items() if name.endswith("long run")
    }
    if long:
        most = max(long)
        rows.append(
            (
                "section 4.2",
                "plateaus appear for AdaBoost_R after tens of thousands of rounds (`--table 6`)",
                f"{YES if long[most] < 0.5 * long[min(long)] else NO}: XD6 with 20% noise, r = 6: the training graph rises between theta = 0.1 and 0.9 by "
                + ", ".join(f"{value:.2f} (T = {t:,})" for t, value in sorted(long.items())),
            )
        )
    return rows


# ---------------------------------------------------------------- LocMedBoost


def locmedboost_rows() -> list[tuple[str, str, str]]:
    found: dict[str, list[dict[str, float]]] = {}
    for line in (STORED / "locmedboost.jsonl").read_text(encoding="utf-8").splitlines():
        key, value = json.loads(line)
        found.setdefault(key[0], []).append(value | {"nu": key[5] if key[0] == "2" else 0.0})
    broken = sum(int(one["violations"]) for one in found["1"])
    pairs = sum(int(one["pairs"]) for one in found["1"])
    same = all(one["edge"] < 1e-9 and one["step"] < 1e-6 and one["median"] == 0 for one in found["figure 1"])
    lemma, product, share = (
        max(one[side] for one in found["2"])
        for side in ("E_rho of each round", "rows not above the target margin", "rows")
    )
    reached = sum(one["least"] - one["goal"] > -one["nu"] for one in found["2"])
    rows = [
        (
            "Figure 1",
            "the algorithm, line by line in NumPy (`--figure 1`)",
            f"{YES if same else NO}: the same edges, steps and medians in {len(found['figure 1'])} runs",
        ),
        (
            "Figure 2",
            "quantiles and the median of nine lines",
            f"{YES if (STORED / 'locmedboost-figure-2.csv').exists() else NOT_RUN}: the caption's rho and weights, lines of our own ([picture](../plots/locmedboost_figure_2.png))",
        ),
        (
            "Theorem 1",
            "robust training error under its bound, every rho and round",
            f"{YES if not broken else NO}: {broken} violations in {pairs:,} pairs",
        ),
        (
            "Lemma 1",
            "E_rho of every round under its bound (14)",
            f"{YES if lemma < 1e-9 else NO}: in every round of {len(found['2'])} runs",
        ),
        (
            "Theorem 2",
            "rows not above the target margin under exp(-2 sum (edge - rho)^2 / A^2)",
            f"{YES if max(product, share) < 1e-9 else NO}: after every round of {len(found['2'])} runs",
        ),
        (
            "Corollaries 1 and 2",
            "minimum margin within nu of the largest possible one",
            f"{YES if reached == len(found['2']) else NO}: in {reached} of {len(found['2'])} runs, after as many rounds as allowed",
        ),
    ]
    what = {
        "3": "generalisation of a median of finitely many voters",
        "4": "the same for voters of known pseudo-dimension (linear ones)",
        "5": "the same with smooth confidences",
    }
    for key, text in what.items():
        held = [one["test"] <= one["bound"] for one in found[key]]
        useful = sum(one["bound"] < 1 for one in found[key])
        if key == "5":
            rows.append(
                (
                    f"Theorem {key}",
                    text,
                    "the order alone, which is no certificate: between "
                    f"{min(one['bound'] for one in found[key]):.0e} and {max(one['bound'] for one in found[key]):.0e} for {len(held)} samples",
                )
            )
        else:
            rows.append(
                (
                    f"Theorem {key}",
                    text,
                    f"{YES if all(held) else NO}: {sum(held)} of {len(held)} samples; the bound is below 1 in {useful}",
                )
            )
    runs = [r for r in results("locmedboost") if r.unit.table == "1"]
    rows.append(
        (
            "-",
            "errors on regression problems (the paper has none; `--table 1`)",
            f"run: {len({r.unit.data for r in runs})} problems, {len({r.unit.split for r in runs})} splits",
        )
    )
    return rows


ROWS: dict[str, Callable[[], list[tuple[str, str, str]]]] = {
    "QuadBoost": quadboost_rows,
    "VadaBoost": vadaboost_rows,
    "DeepBoost": deepboost_rows,
    "AdaBoost_R": adaboost_r_rows,
    "LocMedBoost": locmedboost_rows,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or ROWS:
        print(f"### {name} ([page]({name.lower()}.md))\n\n| in the paper | what | mark |\n|---|---|---|")
        print("\n".join(f"| {' | '.join(row)} |" for row in ROWS[name]()) + "\n")
