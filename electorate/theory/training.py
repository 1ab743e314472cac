"""Theorems of the papers about training: bounds and identities for every round, from the history of a run.

They are about the training rows. None of them is about new rows. A prediction is a bound (what was observed is never
above it) or an identity (both are equal); `holds` checks it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from electorate.exact import AnyArray, Floats
from electorate.optional import optional
from electorate.theory.bounds import EXPONENTIAL, Loss

History = Mapping[str, AnyArray]
# What history_["objective"] is.
MEAN_EXP = "the mean of exp(-y f)"
MEAN_LOG2 = "the mean of log2(1 + exp(-y f))"
MEAN_WEIGHT = "the mean weight of AdaBoost_R"
COST_3 = "cost (3) of the VadaBoost paper over n^2"
PENALISED_LOSS = "a mean loss of at least the error, plus a penalty"
QUADRATIC_RISK = "the mean of (y - f)^2, plus a penalty"

RATE = "the theorems hold at learning_rate=1"
EQ_14 = "AdaBoost_R paper, eq. 14"
MARGIN_TARGET = "LocMedBoost paper, Theorem 1"
PERFECT = 1 - 1e-12  # edges from here on are those of voters without error
TINY = 5e-324
CLOSE = 1e-7  # of sums on the grid, relative
MOST_ROUNDS = 12  # in the text


@dataclass(frozen=True)
class Prediction:
    """One statement: `observed` is what the rounds gave, `predicted` what was proved of it."""

    name: str
    source: str
    predicted: Floats
    observed: Floats
    exact: bool = False  # an identity, not a bound

    @property
    def holds(self) -> bool:
        slack = CLOSE * np.maximum(np.abs(self.predicted), 1e-3)
        over = self.observed - self.predicted
        known = ~np.isnan(over)
        close = np.abs(over) <= slack if self.exact else over <= slack
        return bool(np.all(close[known]))


@dataclass(frozen=True)
class Convergence:
    """The predicted and the observed values of a fit. notes: what was proved in words."""

    model: str
    predictions: tuple[Prediction, ...]
    why: str = ""  # there are none
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return all(one.holds for one in self.predictions)

    def __getitem__(self, name: str) -> Prediction:
        for one in self.predictions:
            if one.name == name:
                return one
        raise KeyError(f"nothing is called {name!r}: there are {[one.name for one in self.predictions]}")

    def to_dict(self) -> dict[str, Any]:
        """Columns: the round, and of every statement what was predicted and what was observed."""
        longest = max((len(one.predicted) for one in self.predictions), default=0)
        columns: dict[str, Any] = {"round": np.arange(1, longest + 1)} if self.predictions else {}
        for one in self.predictions:
            columns |= {f"{one.name}, predicted": one.predicted, f"{one.name}, observed": one.observed}
        return columns

    def to_frame(self) -> Any:
        """A pandas dataframe, one row per round."""
        pd = optional("pandas", "Convergence.to_frame")
        return pd.DataFrame({name: pd.Series(column) for name, column in self.to_dict().items()})

    def __str__(self) -> str:
        if not self.predictions:
            return f"{self.model}: nothing was predicted: {self.why}"
        lines = [f"{self.model}: predicted against observed"]
        for one in self.predictions:
            sign = "=" if one.exact else ">="
            holds = "holds in every round" if one.holds else "DOES NOT HOLD"
            lines += ["", f"{one.name}: predicted {sign} observed; {holds} [{one.source}]"]
            lines += [f"  {'round':>7}  {'predicted':>12}  {'observed':>12}"]
            for t in _some(len(one.predicted)):
                lines.append(f"  {t + 1:>7}  {one.predicted[t]:>12.6g}  {one.observed[t]:>12.6g}")
        return "\n".join([*lines, *(line for note in self.notes for line in ("", note))])


def _some(rounds: int) -> list[int]:
    """Return a few rounds, spaced by a constant ratio, with the first and the last."""
    if rounds <= MOST_ROUNDS:
        return list(range(rounds))
    return sorted({round(float(t)) - 1 for t in np.geomspace(1, rounds, MOST_ROUNDS)})


@dataclass(frozen=True)
class Run:
    """The history of one run of training, and further facts that the theorems need.

    params: the parameters of the estimator. lam: the penalty that was used. largest: max |h| of every voter.
    unit_outputs: whether every voter has the outputs -1 and 1 only. label: the class that was fitted against the rest,
    None for two classes. least_share: of the lightest row in the sum of the weights, or less; NaN where it is unknown.
    """

    history: History
    params: Mapping[str, Any]
    lam: float
    largest: Floats
    unit_outputs: bool
    label: int | None = None
    least_share: float = math.nan

    def __getitem__(self, column: str) -> AnyArray:
        return self.history[column]

    def prediction(
        self, name: str, source: str, predicted: Floats, observed: Floats, exact: bool = False
    ) -> Prediction:
        """A prediction whose name ends with the class, where there are several."""
        full_name = name if self.label is None else f"{name} of class {self.label}"
        return Prediction(full_name, source, predicted, observed, exact)


@dataclass(frozen=True)
class Guarantees:
    """The theorems about an algorithm, declared by its estimator. By default there are none.

    objective: what ``history_["objective"]`` is, one of the constants above. source: who proved the bound on the
    training error. rounds: what is predicted of every round. mu: the edges mu_t of eq. 8 of the AdaBoost_R paper, where
    its Theorem 1 holds. loss: the one that training lowers, for QuadBoost's Theorem 1, which holds for any vote.
    any_rate: whether `rounds` is right for every learning rate, not for 1 alone.
    """

    objective: str = ""
    source: str = ""
    rounds: Callable[[Run], list[Prediction]] | None = None
    mu: Callable[[Run], Floats] | None = None
    loss: Loss = EXPONENTIAL
    any_rate: bool = False


# ---------------------------------------------------------------- margins: Theorem 1 of the AdaBoost_R paper


def edges(run: Run) -> Floats:
    """mu of eq. 8 for voters whose largest output is 1."""
    return np.asarray(run["edge"], dtype=np.float64)


def edges_over_largest(run: Run) -> Floats:
    """mu of eq. 8: the edge of every voter divided by its largest output."""
    return edges(run) / np.maximum(run.largest[: len(run["edge"])], 1e-300)


def broken_condition(run: Run, mus: Floats) -> str | None:
    """Return why eq. 14 and Theorem 1 do not cover these rounds; None if they do."""
    if np.any((run["step"] == 0) & (mus != 0)):
        return "some voters have infinite outputs, whose step is 0"
    if len(mus) and abs(mus[-1]) >= PERFECT:
        return "a perfect voter ended training with a step of convention"
    return None


def product_of_normalisers(mus: Floats) -> Floats:
    """prod sqrt(1 - mu_t^2) after every round: discrete AdaBoost's prod Z_t, and at least those of real ones.

    AdaBoost_R paper, eq. 14 summed over the rows; mu is the edge of a voter of size 1.
    """
    return np.exp(0.5 * np.cumsum(np.log1p(-np.minimum(np.square(mus), 1.0 - 2.0**-53))))


def margin_errors(mus: Floats, theta: float, bayes: float) -> Floats:
    """AdaBoost_R paper, Theorem 1, after every round: the share of rows with a margin (eq. 9) of at most theta.

    bayes: the error of the empirical Bayes rule on identical rows, which the theorem adds.
    """
    return bayes + max(1.0, _odds(theta)) * np.exp(-0.5 * np.cumsum(np.square(mus)))


def sharper_margin_errors(mus: Floats, theta: float) -> Floats:
    """What the proof of that theorem gives: a margin is at most theta where exp(-y H) is at least 1 / odds(theta)."""
    return _odds(theta) * product_of_normalisers(mus)


def _odds(theta: float) -> float:
    return (1 + theta) / (1 - theta) if theta < 1 else np.inf


# ---------------------------------------------------------------- the training error, by the objective


def error_bound(objective: str, run: Run) -> float:
    """A bound on the training error after the last round; ValueError, which gives the reason, where there is none."""
    if not len(run["step"]):
        raise ValueError("there are no voters")
    if objective in (MEAN_EXP, MEAN_LOG2, QUADRATIC_RISK):
        return float(run["objective"][-1])
    if objective == COST_3:
        # The mean of exp(-y f) as the history has it; in files that lack it, the root of cost (3), which is larger
        known = float(run["log_mean"][-1]) if "log_mean" in run.history else math.nan
        return float(np.exp(min(known, 700.0))) if math.isfinite(known) else float(run["objective"][-1]) ** 0.5
    if objective == PENALISED_LOSS:
        if not isinstance(run.params["loss"], str):
            raise ValueError("nothing is known about a user-defined loss")
        return float(run["objective"][-1] - run["penalty"][-1])
    if objective == MEAN_WEIGHT:
        mus = edges(run)
        why = RATE if run.params["learning_rate"] != 1.0 else broken_condition(run, mus)
        if why is not None:
            raise ValueError(why)
        return float(product_of_normalisers(mus)[-1])
    raise ValueError("no theorem bounds its training error")


def log_mean_exp(objective: str, history: History, rate: float, rounds: int) -> float:
    """A bound on the logarithm of the mean of exp(-y f) over the training rows of two classes after some rounds.

    MEAN_WEIGHT, by eq. 14 of the AdaBoost_R paper: exp(-y f) <= prod (1 - mu y h / h*) / sqrt(1 - mu^2), and the mean
    of the numerators is the objective. With a learning rate mu is tanh(rate artanh mu). A voter with infinite outputs
    has the step 0, and 1 <= (1 - mu y h / h*) / (1 - |mu|). One without error leaves the weights, and lowers exp(-y f).
    """
    if not rounds:
        return 0.0
    found = math.log(max(TINY, float(history["objective"][rounds - 1])))
    if objective == COST_3:
        known = float(history["log_mean"][rounds - 1]) if "log_mean" in history else math.nan
        return known if math.isfinite(known) else found / 2
    if objective == MEAN_WEIGHT:
        edge, step = history["edge"][:rounds], history["step"][:rounds]
        used = np.abs(edge) < 1 - 1e-15
        mu = np.tanh(rate * np.arctanh(edge[used]))
        found -= math.fsum(np.where(step[used] == 0, np.log1p(-np.abs(mu)), 0.5 * np.log1p(-mu * mu)))
    return found


# ---------------------------------------------------------------- predictions for every round


def adaboost(run: Run) -> list[Prediction]:
    """prod Z_t is the mean of exp(-y f), and the weak learner's rate bounds the error."""
    mus, source = edges(run), "AdaBoost: Z_t = 2 sqrt(e (1 - e))"
    product = run.prediction("prod Z_t", source, product_of_normalisers(mus), run["objective"], True)
    return _before_perfect([product, *_errors(run, mus, source)], mus)


def real_adaboost(run: Run) -> list[Prediction]:
    """Return the predictions as for AdaBoost, but the product is a bound."""
    mus = edges_over_largest(run)
    product = run.prediction("prod Z_t", EQ_14, product_of_normalisers(mus), run["objective"])
    return _before_perfect([product, *_errors(run, mus, EQ_14)], mus)


def logistic_adaboost(run: Run) -> list[Prediction]:
    """log2(1 + exp(-y f)) bounds the training error; a part of the log-odds of the leaves never raises it."""
    objective, source = run["objective"], "Collins, Schapire and Singer 2002"
    found = [run.prediction("training error", source, objective, run["train_error"])]
    family = run.params["estimator"]
    if run.params["learning_rate"] <= 1 and (family is None or hasattr(family, "best")):  # no fitted estimators
        found.append(run.prediction("objective never rises", source, _previous(objective), objective))
    return found


def adaboost_r(run: Run) -> list[Prediction]:
    """The mean weight by eq. 13; with voters of infinite outputs nothing else is predicted."""
    mus = edges(run)
    exact = np.exp(np.cumsum(np.log1p(-np.minimum(mus**2, 1.0 - 2.0**-53))))
    found = [run.prediction("mean weight", "AdaBoost_R paper, eq. 13", exact, run["objective"], True)]
    if not np.any((run["step"] == 0) & (mus != 0)):
        found += _errors(run, mus, EQ_14)
    return _before_perfect(found, mus)


def _errors(run: Run, mus: Floats, source: str) -> list[Prediction]:
    """The training error by the product, and by the smallest edge gamma so far: exp(-T gamma^2 / 2)."""
    weakest = np.minimum.accumulate(np.abs(mus))
    by_edge = np.exp(-0.5 * np.arange(1, len(mus) + 1) * weakest**2)
    rate = "Freund and Schapire 1997: exp(-2 gamma^2 T)"
    return [
        run.prediction("training error", source, product_of_normalisers(mus), run["train_error"]),
        run.prediction("training error at the least edge", rate, by_edge, run["train_error"]),
    ]


def _before_perfect(predictions: list[Prediction], mus: Floats) -> list[Prediction]:
    """Cut the last round if its voter is perfect: its step is a convention, which no theorem predicts."""
    end = len(mus) - 1 if len(mus) and abs(mus[-1]) >= PERFECT else len(mus)
    return [replace(one, predicted=one.predicted[:end], observed=one.observed[:end]) for one in predictions]


def _previous(objective: Floats, first: float = 1.0) -> Floats:
    """The objective before every round; first: of the empty vote."""
    return np.concatenate([[first], objective[:-1]])[: len(objective)]


def quadboost(run: Run) -> list[Prediction]:
    """The objective never rises; for voters of -1 and 1 without re-weighting it is known, eq. 6 to 9."""
    objective, size, lam = run["objective"], np.abs(run["edge"]), run.lam
    source = "QuadBoost paper, section 3"
    found = [run.prediction("objective never rises", source, _previous(objective), objective)]
    if run.params["reweight"] != "never" or not run.unit_outputs:
        return found
    penalty, most = run.params["penalty"], run.params["alpha_max"]
    falls = size**2
    if penalty == "l1":
        falls = np.maximum(size - lam, 0.0) ** 2
    elif penalty == "l2":
        falls = size**2 / (1 + lam)
    elif penalty == "linf" and most is not None:
        falls = np.where(size <= most, size**2, 2 * most * size - most**2)
    entered = 1 - np.cumsum(falls)
    found.append(run.prediction("objective", "QuadBoost paper, eq. 6 to 9", entered, objective, True))
    if penalty is None:
        line = 1 - np.arange(1, len(size) + 1) * np.minimum.accumulate(size) ** 2
        found.append(run.prediction("1 - T gamma^2", source, line, objective))
    return found


def vadaboost(run: Run) -> list[Prediction]:
    """The cost falls by 2 sqrt(e (1 - e)) at least; at lam = 0, Theorem 5 is an identity. e: the error under u."""
    errors, cost = run["error"], run["objective"]
    end = len(errors) - 1 if len(errors) and errors[-1] == 0 else len(errors)
    errors, cost = errors[:end], cost[:end]
    fall = _previous(cost) * (2 * np.sqrt(errors * (1 - errors)))
    found = [run.prediction("cost (3) / n^2", "VadaBoost paper, Lemma 2 and Theorem 3", fall, cost)]
    if run.lam == 0:
        spread = errors * (1 - errors)
        exact = np.asarray(np.cumprod(2 * spread + np.sqrt(spread)), dtype=np.float64)
        found.append(run.prediction("identity at lam = 0", "VadaBoost paper, Theorem 5", exact, cost, True))
        worst = np.maximum.accumulate(errors)
        twice = (4 * worst * (1 - worst)) ** (np.arange(1, end + 1) / 2)
        source = "VadaBoost paper, Theorem 5 at the largest error: AdaBoost's cost in half the rounds"
        found.append(run.prediction("twice AdaBoost's rounds", source, twice, cost))
    return found


def ebboost(run: Run) -> list[Prediction]:
    """The cost falls."""
    cost = run["objective"]
    return [run.prediction("cost (3) / n^2 falls", "VadaBoost paper, Algorithm 3", _previous(cost), cost)]


def deepboost(run: Run) -> list[Prediction]:
    """F of eq. 4 never rises."""
    cost, first = run["objective"], float(np.e) if run.params["loss"] == "exponential" else np.inf
    return [run.prediction("F of eq. 4 never rises", "DeepBoost paper, eq. 4", _previous(cost, first), cost)]


def lpboost(run: Run) -> list[Prediction]:
    """The objective is within the gap of the optimum, so the last one is within the gap of every round."""
    objective, gap = run["objective"], run["gap"]
    if not len(objective):
        return []
    in_c = run.params["C"] is not None and np.isfinite(run.params["C"])
    distance = gap * (np.maximum(1.0, np.abs(objective)) if in_c else 1.0)
    away = np.abs(objective - objective[-1])
    name = "distance from the last objective"
    return [run.prediction(name, "LPBoost: the duality gap", distance + distance[-1], away)]


def lemma_1(edge: Floats, rho: Floats, lowest: Any = -1.0, highest: Any = 1.0) -> Floats:
    """LocMedBoost paper, Lemma 1: a bound on the logarithm of E_rho(alpha), for awards between these numbers.

    The second fraction of eq. 14 is (A - rho~) / A: its denominator is misprinted.
    """
    reach = highest - lowest  # A
    gamma, target = (edge - lowest) / reach, (rho - lowest) / reach  # gamma~ / A and rho~ / A, from 0 to 1
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(target > 0, target * np.log(target / gamma), 0.0)
        second = np.where(target < 1, (1 - target) * np.log((1 - target) / (1 - gamma)), 0.0)
    return np.asarray(-first - second)


def theorem_2(edge: Floats, rho: Floats, reach: Any = 2.0) -> Floats:
    """LocMedBoost paper, Theorem 2, after every round: a bound on the share of rows not above the target margin.

    From Lemma 1 by Pinsker's inequality, exp(-2 sum (gamma_t - rho_t)^2 / A^2); the target is the mean of rho by steps.
    """
    return np.asarray(np.exp(-2 * np.cumsum(np.square((edge - rho) / reach))))


def rounds_to_margin(least_share: float, nu: float, reach: float = 2.0) -> int:
    """Theorem 2 with weights: after so many rounds its bound is below the share of the lightest row."""
    return math.ceil(reach**2 * math.log(1 / least_share) / (2 * nu**2)) + 1


def rounds_to_consistency(least_share: float, gamma: float, theta: float) -> int:
    """AdaBoost_R paper, after eq. 18: with edges of at least gamma, no margin is at most theta after so many rounds.

    By Theorem 1: max(1, odds(theta)) exp(-T gamma^2 / 2) is then below the share of the lightest row.
    """
    return math.floor(2 * math.log(max(1.0, _odds(theta)) / least_share) / gamma**2) + 1


def locmedboost(run: Run) -> list[Prediction]:
    """Lemma 1 and Theorem 2 for awards from -1 to 1, and Theorem 1 at rho = 0; not of a step of line 8."""
    finite = run["alone"] == 0
    step, edge, rho, mean = (run[name][finite] for name in ("step", "edge", "rho", "objective"))
    with np.errstate(divide="ignore"):
        log_z = np.diff(np.log(mean), prepend=0.0)
    each, product = np.exp(rho * step + log_z), np.exp(np.cumsum(rho * step) + np.log(mean))
    lemma, theorem = "LocMedBoost paper, Lemma 1", "LocMedBoost paper, Theorem 2"
    return [
        run.prediction("training error", MARGIN_TARGET, mean, run["train_error"][finite]),
        run.prediction("E_rho of each round", lemma, np.exp(lemma_1(edge, rho)), each),
        run.prediction("rows not above the target margin", theorem, theorem_2(edge, rho), product),
    ]


def medboost(run: Run) -> list[Prediction]:
    """Theorem 1 at rho = 0, and for the 0-1 cost Lemma 1: a bound on E_rho of every round, for awards from -1 to 1."""
    finite = np.isfinite(run["step"])
    step, log_z, edge, rho = (run[name][finite] for name in ("step", "log_z", "edge", "rho"))
    source, product = "LocMedBoost paper, Theorem 1 at rho = 0", np.exp(np.cumsum(log_z))
    found = [run.prediction("margins of at most 0", source, product, run["margin_error"][finite])]
    if "confidence" in run.history:  # of eq. 3; the edge is it less twice the weighted cost, eq. 1
        name = "edge at most the average confidence"
        found.append(run.prediction(name, "LocMedBoost paper, eq. 1 and 3", run["confidence"][finite], edge))
    if run.params["cost"] == "zero_one":  # awards are from -1 to 1
        bound, seen = np.exp(lemma_1(edge, rho)), np.exp(rho * step + log_z)
        found.append(run.prediction("E_rho of each round", "LocMedBoost paper, Lemma 1", bound, seen))
        theorem, product = "LocMedBoost paper, Theorem 2", np.exp(np.cumsum(rho * step + log_z))
        found.append(run.prediction("rows not above the target margin", theorem, theorem_2(edge, rho), product))
        if not math.isnan(run.least_share):
            missed = run["min_margin"][finite] < run["target_margin"][finite] - CLOSE
            share = np.where(missed, run.least_share, 0.0)
            found.append(run.prediction("least share of such rows", theorem, product, share))
    return found
