"""The answer of a comparison in words: which model, how well it will do, how sure that is, and what to do next."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any

from electorate.comparison.estimate import RARE
from electorate.comparison.metrics import METRICS, Metric
from electorate.comparison.ranking import ACCURACY, READABLE, SPEED, Line, Ranking
from electorate.data.checkup.columns import Finding
from electorate.inspection.check_up import TIME_ORDER
from electorate.text import literal

PICKED = {ACCURACY: "best estimate", SPEED: "fastest to predict", READABLE: "easiest to read"}
LONGEST_IN_TABLE = 26
LONGEST = 30  # characters of a name
WIDTH = 80  # characters of a line
ALMOST_NONE = 1e-4  # of the errors of the baseline
IF_UNKNOWN = "Leave out what is not known before the target is (--drop)."
MANY = 1.5  # times as fast: less is not worth a word
VISIBLE = 0.0005  # a smaller difference between errors is not in the table


@dataclass(frozen=True)
class AnswerFacts:
    """What the words are about. held_out: what the test rows showed of the model, or None. classes: labels in order.

    shares: of the rows, by class. positive: the class that matters of two. n_fitted: the rows that the models of the
    table were trained on, if these are a part of the rows only (a screening), else None. n_test: test rows.
    """

    ranking: Ranking
    metric: Metric
    classes: list[Any]
    shares: list[float]
    positive: int
    held_out: dict[str, Any] | None
    dependent: str = ""  # "group" or "time", by which rows are split
    n_fitted: int | None = None
    n_test: int = 0
    findings: Sequence[Finding] = ()  # of the check-up

    @property
    def expected(self) -> tuple[float, float]:
        """The loss on new rows and its upper limit: an exact one where rows were held out and the metric is the error.

        The test rows give the estimate, too, where the table is that of a screening (the model has seen more rows), and
        where the limit would be below the other one.
        """
        bound, held = self.ranking.chosen.bound(self.metric.name), self.held_out
        least = 1 - 0.05 ** (1 / self.ranking.n_rows) if self.metric.name == "error" else bound.limit  # of no errors
        if self.metric.name != "error" or held is None or held.get("bound") is None:
            return bound.value, max(bound.limit, least)
        limit = float(held["bound"])
        return float(held["error"] if self.n_fitted is not None or limit < bound.value else bound.value), limit


def sentences(facts: AnswerFacts) -> list[str]:
    """The answer, the most important first."""
    more = [*_suspicious(facts), *_rare(facts), *_confused(facts), *_threshold(facts)]
    return [_use(facts), _sure(facts), *more, *_picked(facts), _source(facts)]


def wrapped(lines: list[str]) -> list[str]:
    """Sentences in lines of at most 80 characters; the spaces before a line stay."""
    found = []
    for line in lines:
        before = line[: len(line) - len(line.lstrip())]
        found += [line] if len(line) <= WIDTH else wrap(line, WIDTH, subsequent_indent=2 * before)
    return found


# ---------------------------------------------------------------- sentences


def name_of(line: Line) -> str:
    return line.recipe.name if line.recipe.is_stack else literal(line.name, LONGEST)


def _use(facts: AnswerFacts) -> str:
    """Which model, what it will lose, and what guessing would."""
    chosen, baseline = facts.ranking.chosen, facts.ranking.baseline
    name, metric = name_of(chosen), facts.metric
    value, limit = facts.expected
    if metric.name == "error":
        words = _of_rows(value, limit)
        guess = (
            ""
            if baseline is None
            else f"; guessing would be wrong for {_count(baseline.bound('error').value, _scale(value, limit))}"
        )
        return f"Use {name}. {words}{guess}."
    if metric.name == "mae":
        guess = "" if baseline is None else f"; guessing the median by {number(baseline.bound('mae').value)}"
        worst = f"at most {number(limit)}, with 95% confidence"
        return f"Use {name}. Predictions are off by {number(value)} on average ({worst}){guess}."
    side = "at least" if metric.is_gain else "at most"
    guess = (
        ""
        if baseline is None
        else f"; guessing has {0.5 if metric.name == 'auc' else number(baseline.shown(metric.name))}"
    )
    shown = f"{number(metric.shown(value))} ({side} {number(metric.shown(limit))}, with 95% confidence)"
    return f"Use {name}. Its {metric.head} on new rows is about {shown}{guess}."


def _scale(value: float, limit: float) -> int:
    """So many rows that a few or more of them are wrong, up to 10,000; fewer where the limit is much larger."""
    value = max(value, limit / 4)
    return 100 if value >= 0.03 else 1_000 if value >= 0.003 else 10_000


def _count(value: float, scale: int) -> str:
    """A rate as a number of so many rows."""
    return f"{value * scale:,.0f}"


def _of_rows(value: float, limit: float) -> str:
    scale = _scale(value, limit)
    about = f"About {value * scale:.0f} of {scale:,}" if value * scale >= 0.5 else f"Fewer than 1 of {scale:,}"
    return f"{about} new rows will be wrong (at most {math.ceil(limit * scale - 1e-9):,}, with 95% confidence)"


def number(value: float) -> str:
    """Two or three digits that count, as a person writes them."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1_000:
        digits = 2 - math.floor(math.log10(abs(value)))
        return f"{round(value, digits):,.0f}"
    text = f"{value:.3g}" if abs(value) >= 1e-4 else f"{value:.2e}"
    return text


def _p(p: float) -> str:
    return (
        "p < .001"
        if p < 0.001
        else f"p = {p:.3f}".replace("0.", ".")
        if p < 0.0995
        else f"p = {p:.2f}".replace("0.", ".")
    )


def _sure(facts: AnswerFacts) -> str:
    """How sure it is that the model beats guessing, and which differences could be seen."""
    ranking, metric = facts.ranking, facts.metric
    evidence = ranking.evidence
    if evidence is None:
        words = "There was no baseline to beat."
    elif evidence.grade == "beyond doubt":
        words = f"Beyond doubt better than guessing ({_p(evidence.p)})."
    elif evidence.grade == "probably":
        words = f"Probably better than guessing ({_p(evidence.p)})."
    else:
        words = f"There is no evidence that it is better than guessing ({_p(evidence.p)})."
    n_models = len(ranking.lines) - (ranking.baseline is not None)
    if n_models < 2:
        return words
    ties = sum(line is not ranking.baseline and line.verdict != "worse" for line in ranking.lines)
    rivals = [line.visible for line in ranking.rivals if math.isfinite(line.visible)]
    if not rivals:
        return f"{words} All other models are worse beyond chance."
    least = sorted(rivals)[len(rivals) // 2]
    seen = f"{100 * least:.1f} points" if metric.for_classes and metric.name != "log_loss" else number(least)
    return (
        f"{words} Differences under {seen} cannot be seen in {ranking.n_rows:,} rows: {ties} of {n_models} models tie."
    )


def _suspicious(facts: AnswerFacts) -> list[str]:
    """What the numbers may rest on: columns that hold the answer, and rows that are in the order of time."""
    chosen, baseline = facts.ranking.chosen, facts.ranking.baseline
    name = "error" if facts.classes else "mae"
    is_zero = baseline is not None and chosen.bound(name).value <= ALMOST_NONE * baseline.bound(name).value
    leaks = [literal(one.column, LONGEST) for one in facts.findings if one.kind == "leak"]
    found = [f"Suspicious: {' and '.join(map(repr, leaks[:2]))} may hold the answer. {IF_UNKNOWN}"] if leaks else []
    if is_zero:
        alone = f": {leaks[0]!r} alone" if leaks else ", though no column alone"
        found = [f"No errors at all are suspicious{alone} predicts the target. {IF_UNKNOWN}"]
    late = [replace(one, column=literal(one.column, LONGEST)) for one in facts.findings if one.kind == TIME_ORDER]
    return found + [f"Later rows may be harder ({one.column!r}: {one.seen}): see the check-up." for one in late]


def _rare(facts: AnswerFacts) -> list[str]:
    """Return what the error does not show where a class is rare."""
    n_classes = len(facts.classes)
    if not n_classes or min(facts.shares) * n_classes / 2 >= RARE or "auc" not in facts.ranking.chosen.estimate.bounds:
        return []
    share, label = facts.shares[facts.positive], literal(str(facts.classes[facts.positive]), LONGEST)
    shown = f"the AUC is {facts.ranking.chosen.shown('auc'):.2f} (guessing: 0.50)"
    if n_classes > 2:
        return [f"{label!r} is only {100 * share:.1f}% of the rows: the error says little about it; {shown}."]
    what = (
        f"{label!r} is {100 * share:.1f}% of the rows, so the error says little" if share < RARE else "A class is rare"
    )
    return [f"{what}: {shown}."]


def _confused(facts: AnswerFacts) -> list[str]:
    if facts.ranking.confused is None:
        return []
    true, called = (literal(str(facts.classes[k]), LONGEST) for k in facts.ranking.confused)
    return [f"Most often confused: {true!r} is taken for {called!r}."]


def _threshold(facts: AnswerFacts) -> list[str]:
    """Return what to do where the metric wants another decision than the more probable class."""
    threshold = facts.ranking.chosen.recipe.threshold
    if threshold == 0.5 or len(facts.classes) != 2:
        return []
    label = literal(str(facts.classes[1]), LONGEST)
    return [f"Predict {label!r} where its probability is above {threshold:.3f}: the {facts.metric.head} is for that."]


def _picked(facts: AnswerFacts) -> list[str]:
    """The most accurate, the fastest and the most readable model, a line each."""
    picks, metric = facts.ranking.picks, facts.metric
    first = picks[ACCURACY]
    rows = []
    for kind, line in picks.items():
        if kind != ACCURACY and line.name == first.name:
            continue
        more = ""
        if kind == ACCURACY and metric.name == "error":
            if any(other.shown("error") < line.shown("error") - VISIBLE for other in facts.ranking.lines):
                more = "chosen by log loss"
        elif kind == SPEED and 0 < MANY * line.predict_seconds <= first.predict_seconds:
            more = f"{first.predict_seconds / line.predict_seconds:,.0f} times as fast"
        rows.append(f"   {PICKED[kind]:<21}{literal(line.name, 26):<28}{value_of(line, metric):>7}  {more}".rstrip())
    return rows


def value_of(line: Line, metric: Metric) -> str:
    """The value as a person reads it: errors in percent."""
    shown = line.shown(metric.name)
    return f"{100 * shown:.1f}%" if metric.name in ("error", "balanced_error") else number(shown)


def _source(facts: AnswerFacts) -> str:
    """Return where the numbers are from, and what they assume."""
    n_rows, held = facts.ranking.n_rows, facts.held_out
    is_exact = held is not None and held.get("bound") is not None and facts.metric.name == "error"
    what = "Estimates are" if is_exact else "Estimates and the limit are"
    where = f"cross-validated on {n_rows:,} rows"
    if facts.n_fitted is not None:
        where = f"from {n_rows:,} rows and models trained on {facts.n_fitted:,}, for want of time,"
    chance = f"{what} {where} with a bootstrap that corrects for the choice among models"
    if facts.dependent:
        chance += f"; rows are split by {facts.dependent}"
    if held is None or not held.get("rows"):
        unused = f"there was no time to test on the {facts.n_test:,} test rows"
        return f"{chance}; {unused if facts.n_test else 'no rows were held out'}."
    tested = f"{held['rows']:,} test rows held out and used once"
    if not is_exact:
        what = "the error" if facts.classes else "the mean absolute error"
        return f"{chance}. On {tested} the same model, trained without them, has {what} {number(held['error'])}."
    wrong = f"misclassifies {held['errors']:,}"
    return f"{chance}. The limit is exact: of {tested} the same model, trained without them, {wrong}."


# ---------------------------------------------------------------- the table


def table_rows(ranking: Ranking, metric: Metric, most: int) -> list[list[str]]:
    """Heads and rows of the printed table: the best first, the baseline last."""
    bounds = ranking.chosen.estimate.bounds
    names: list[str] = [name for name in ("error", "auc", "balanced_error") if name in bounds and name != metric.name]
    names = [metric.name, *names]
    lines = list(enumerate(ranking.lines, 1))
    if len(lines) > most:  # the baseline is always shown
        lines = lines[: most - 1] + [pair for pair in lines[most - 1 :] if pair[1] is ranking.baseline][:1]
    heads = [METRICS[name].head.replace("balanced", "bal.").replace("mean abs.", "abs.") for name in names]
    heads += [] if metric.for_classes else ["R2"]
    rows = [["", "model", *heads, "seconds", ""]]
    for place, line in lines:
        values = [number(line.shown(name)) if name in ("mae", "rmse") else f"{line.shown(name):.3f}" for name in names]
        values += [] if metric.for_classes else [f"{ranking.r2(line):.3f}"]
        verdict = "" if line.verdict == "first" else line.verdict
        rows.append([str(place), literal(line.name, LONGEST_IN_TABLE), *values, f"{line.fit_seconds:.2f}", verdict])
    return rows
