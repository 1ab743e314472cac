"""The choice of a model by out-of-fold predictions, and the bootstrap estimate of what it loses."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize
from sklearn.metrics import balanced_accuracy_score, f1_score, roc_auc_score

from electorate.comparison.choice import (
    LEAST_WEIGHT,
    MOST_MEMBERS,
    Chooser,
    Rule,
    least_squares_weights,
    likelihood_weights,
)
from electorate.comparison.estimate import evaluate, metrics_shown, n_draws_for
from electorate.comparison.metrics import METRICS, metric_for
from electorate.comparison.out_of_fold import OutOfFold

FEW = 60  # draws


def table_of(
    n: int = 120, n_candidates: int = 6, n_classes: int = 2, seed: int = 0, signal: float = 1.0, share: float = 0.5
) -> OutOfFold:
    """Candidate 0 is the baseline; the others see the same signal with noise of their own, in units of their own."""
    rng = np.random.default_rng(seed)
    n_outputs = n_classes if n_classes > 2 else 1
    truth = signal * rng.standard_normal((n, n_outputs))
    noisy = truth + rng.standard_normal((n_candidates, n, n_outputs))
    unit = rng.uniform(0.2, 5, (n_candidates, 1, 1))
    if n_classes == 0:
        target, scores = truth[:, 0] + rng.standard_normal(n), noisy
        scores[0] = np.median(target)
    elif n_classes == 2:
        target = (truth[:, 0] + rng.logistic(size=n) > np.log(1 / share - 1)).astype(np.int64)
        scores = unit * (noisy - np.log(1 / share - 1))
        scores[0] = np.log(np.mean(target) / (1 - np.mean(target)))
    else:
        target, scores = np.argmax(truth + rng.gumbel(size=truth.shape), axis=1), unit * noisy
        scores[0] = np.log(np.bincount(target, minlength=n_classes) / n)
    fold = rng.permutation(n) % 5
    return OutOfFold(scores, target, n_classes, fold, 0, np.arange(n_candidates) > 0)


def take(table: OutOfFold, rows: np.ndarray) -> OutOfFold:
    some = {name: None if getattr(table, name) is None else getattr(table, name)[rows] for name in ("weight", "group")}
    return replace(table, scores=table.scores[:, rows], target=table.target[rows], fold=table.fold[rows], **some)


def chooser_of(table: OutOfFold, metric: str | None = None) -> Chooser:
    return Chooser(table, np.arange(table.n_candidates), metric_for(metric, table.n_classes))


def rules_of(chooser: Chooser) -> list[Rule]:
    """The model handed over, the best single one, the stack, and the baseline."""
    models = chooser.is_model
    return [Rule(models, stack=True), Rule(models), Rule(models, single=False, stack=True), Rule(~models)]


# ---------------------------------------------------------------- weights


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 8), st.integers(5, 80), st.integers(0, 999))
def test_em_never_lowers_the_likelihood_and_ends_at_the_greatest(k, n, seed):
    rng = np.random.default_rng(seed)
    own, weight = rng.beta(2, 1, (k, n)) + 1e-6, rng.integers(0, 4, n).astype(float)
    weight[0] = 1

    def likelihood(weights):
        return weight @ np.log(weights @ own) / weight.sum()

    path = [likelihood(likelihood_weights(own, weight, gap=0.0, steps=steps)) for steps in (0, 1, 2, 5, 20, 100)]
    assert np.all(np.diff(path) >= -1e-12)
    best = likelihood_weights(own, weight, gap=1e-6, steps=100_000)
    ratio = own @ (weight / weight.sum() / (best @ own))  # the conditions of Karush, Kuhn and Tucker
    assert np.all(ratio < 1 + 1e-5)
    assert best @ ratio == pytest.approx(1)
    assert best.sum() == pytest.approx(1)
    assert np.all(best >= 0)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 6), st.integers(3, 60), st.integers(0, 999))
def test_least_squares_weights_are_those_of_a_general_solver(k, n, seed):
    rng = np.random.default_rng(seed)
    residuals = rng.standard_normal((k, n)) * rng.uniform(0.2, 2, (k, 1)) + 0.3
    weight = rng.exponential(size=n)
    weights = least_squares_weights(residuals, weight)
    gram = (residuals * weight) @ residuals.T / weight.sum()
    start, whole = np.full(k, 1 / k), {"type": "eq", "fun": lambda w: w.sum() - 1}
    other = minimize(lambda w: w @ gram @ w, start, bounds=[(0, 1)] * k, constraints=[whole], tol=1e-12).x
    assert weights.sum() == pytest.approx(1)
    assert np.all(weights >= 0)
    assert weights @ gram @ weights <= other @ gram @ other + 1e-7


def test_weights_of_models_without_errors_are_equal():
    assert least_squares_weights(np.zeros((3, 10)), np.ones(10)) == pytest.approx(np.full(3, 1 / 3))


# ---------------------------------------------------------------- the choice


CASES = [
    ("error", 2),
    ("log_loss", 3),
    ("auc", 2),
    ("auc", 3),
    ("f1", 2),
    ("balanced_error", 2),
    ("mae", 0),
    ("rmse", 0),
]


@pytest.mark.parametrize(("metric", "n_classes"), CASES)
def test_counts_of_rows_are_repeated_rows(metric, n_classes):
    """Also with weights, in any order of the rows."""
    table = table_of(n_classes=n_classes, seed=1)
    rng = np.random.default_rng(0)
    table = replace(table, weight=rng.uniform(0.5, 2, table.n_rows))
    counts = rng.multinomial(table.n_rows, np.full(table.n_rows, 1 / table.n_rows)).astype(float)
    repeated = rng.permutation(np.repeat(np.arange(table.n_rows), counts.astype(int)))
    chooser = chooser_of(table, metric)
    again = chooser_of(take(table, repeated), metric)
    again.__dict__.update({name: getattr(chooser, name) for name in ("temperatures",) if n_classes})
    if n_classes:  # the grid is in units of the decisions of the table
        shape = (again.table.n_candidates, again.temperatures.shape[1], len(repeated))
        again.losses, again.margins = chooser.losses[:, :, repeated].reshape(shape), chooser.margins[:, repeated]
    rules = rules_of(chooser)
    pairs = zip(chooser.choose(counts, rules), again.choose(np.ones(len(repeated)), rules), strict=True)
    for by_counts, by_rows in pairs:
        assert by_counts.members == by_rows.members
        assert by_counts.weights == pytest.approx(by_rows.weights)
        assert by_counts.temperatures == pytest.approx(by_rows.temperatures)
        assert by_counts.temperature == pytest.approx(by_rows.temperature)
        called = [chooser.decision(by_counts)[repeated] > cut for cut in (by_counts.cut, by_rows.cut)]
        assert np.array_equal(*called)  # a cut is half-way to the next row, drawn or not
        assert by_counts.loss == pytest.approx(by_rows.loss)


@pytest.mark.parametrize(("metric", "n_classes"), CASES)
def test_the_criterion_is_the_metric(metric, n_classes):
    """Of the chosen model on all rows; for the error it is the log loss."""
    table = table_of(n_classes=n_classes, seed=2, share=0.3)
    chooser = chooser_of(table, metric)
    for choice in chooser.choose(np.ones(table.n_rows), rules_of(chooser)):
        cut = choice.cut if metric in ("f1", "balanced_error") else 0.0
        scored = table.scored(chooser.decision(choice) - cut)
        if not (metric == "auc" and n_classes == 3):  # ranked by probabilities of another temperature
            assert METRICS[chooser.criterion].value(scored) == pytest.approx(choice.loss)


def test_cuts_are_the_best():
    table = table_of(300, seed=3, share=0.2)
    for metric, score in (("f1", f1_score), ("balanced_error", balanced_accuracy_score)):
        chooser = chooser_of(table, metric)
        best = chooser.choose(np.ones(300), rules_of(chooser))[1]
        decision = chooser.decision(best)[:, 0]
        every = [1 - score(table.target, decision > cut) for cut in np.append(np.sort(decision), -1e9)]
        assert best.loss == pytest.approx(min(every))
        assert 0 < best.threshold < 1
    chooser = chooser_of(table, "auc")
    best = chooser.choose(np.ones(300), rules_of(chooser))[1]
    assert 1 - best.loss == pytest.approx(max(roc_auc_score(table.target, s[:, 0]) for s in table.scores[1:]))


def test_of_equal_candidates_the_first_is_chosen():
    table = table_of()
    table.scores[2:] = table.scores[1]
    chooser = chooser_of(table)
    assert chooser.choose(np.ones(table.n_rows), rules_of(chooser))[1].members == (1,)


def test_a_stack_has_one_candidate_of_each_algorithm_and_no_small_weights():
    table = table_of(400, 40, seed=4)
    algorithm = np.arange(40) // 3
    chooser = Chooser(table, algorithm, METRICS["error"])
    stack = chooser.choose(np.ones(400), rules_of(chooser))[2]
    assert 2 <= len(stack.members) <= MOST_MEMBERS
    assert len(set(algorithm[list(stack.members)])) == len(stack.members)
    assert min(stack.weights) >= LEAST_WEIGHT
    assert sum(stack.weights) == pytest.approx(1)
    only = replace(table, stackable=np.isin(np.arange(40), [3, 9, 12]))
    few = Chooser(only, algorithm, METRICS["error"]).choose(np.ones(400), rules_of(chooser))[2]
    assert set(few.members) <= {3, 9, 12}


def test_temperatures_calibrate():
    """Overconfident decisions are scaled back."""
    table = table_of(2000, 2, signal=2.0)
    rng = np.random.default_rng(0)
    odds = rng.normal(size=2000)
    table = replace(table, target=(odds + rng.logistic(size=2000) > 0).astype(np.int64))
    table.scores[1] = 7 * odds[:, None]
    chooser = chooser_of(table)
    choice = chooser.choose(np.ones(2000), rules_of(chooser))[1]
    assert choice.temperatures[0] == pytest.approx(1 / 7, rel=0.2)


def test_a_grid_near_the_best_temperature_is_enough(monkeypatch):
    table = table_of(300, seed=5)
    chooser = chooser_of(table)
    monkeypatch.setattr("electorate.comparison.choice.MOST_CELLS", 1)
    few = chooser_of(table)
    assert few.temperatures.shape[1] < chooser.temperatures.shape[1]
    ones, rules = np.ones(300), rules_of(chooser)
    assert few.choose(ones, rules) == chooser.choose(ones, rules)


@pytest.mark.parametrize("weight", [1e-300, 1e160, 1.0])
def test_the_scale_of_the_weights_does_not_matter(weight):
    plain = table_of(80)
    weighted = replace(plain, weight=np.full(80, weight))
    a, b = chooser_of(plain), chooser_of(weighted)
    one = evaluate(a, rules_of(a), n_draws=FEW)[0]
    other = evaluate(b, rules_of(b), n_draws=FEW)[0]
    assert one.choice.members == other.choice.members
    assert one.bounds["error"].value == pytest.approx(other.bounds["error"].value)
    assert one.bounds["log_loss"].limit == pytest.approx(other.bounds["log_loss"].limit)


# ---------------------------------------------------------------- the estimate


def test_draws_keep_groups_together_and_rare_classes_at_their_size():
    table = table_of(200, share=0.1, seed=6)
    counts = table.draw(50, np.random.default_rng(0))
    assert np.all(counts.sum(axis=1) == 200)
    assert np.all(counts @ table.target == table.target.sum())
    grouped = replace(table, group=np.arange(200) // 4 * 7)
    counts = grouped.draw(50, np.random.default_rng(0))
    assert np.all(counts.reshape(50, 50, 4) == counts[:, ::4, None])
    many = table_of(400, share=0.5)
    assert len({float(c @ many.target) for c in many.draw(20, np.random.default_rng(0))}) > 1


def test_the_estimate_is_a_function_of_data_and_seed():
    table = table_of(100)
    chooser = chooser_of(table)
    one, other, third = (evaluate(chooser, rules_of(chooser), n_draws=FEW, seed=s)[0] for s in (3, 3, 4))
    assert one.bounds == other.bounds
    assert np.array_equal(one.row_losses["error"], other.row_losses["error"], equal_nan=True)
    assert one.bounds != third.bounds
    assert one.choice == third.choice


def test_the_draws_end_when_it_is_enough():
    chooser = chooser_of(table_of(100))
    asked: list[int] = []
    early = evaluate(chooser, rules_of(chooser), n_draws=40, is_enough=lambda n: asked.append(n) or n >= 15)[0]
    assert asked == [*range(1, 16)]
    same = evaluate(chooser, rules_of(chooser), n_draws=40, is_enough=lambda n: n >= 15)[0]
    whole = evaluate(chooser, rules_of(chooser), n_draws=40)[0]
    assert early.bounds == same.bounds != whole.bounds
    assert early.choice == whole.choice


@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_the_estimate_of_a_fixed_candidate_is_its_own_loss(n_classes):
    """Without a choice nothing is optimistic: the mean over draws is the loss, and row losses are the losses."""
    table = table_of(300, n_classes=n_classes)
    table = replace(table, n_classes=n_classes)
    chooser = chooser_of(table)
    rule = Rule(np.arange(6) == 2)
    estimate = evaluate(chooser, [rule], n_draws=400)[0]
    name = "mae" if n_classes == 0 else "error"
    losses = METRICS[name].losses(table.scored(table.scores[2]))
    assert estimate.row_losses[name] == pytest.approx(losses)
    error = losses.std() / np.sqrt(300)
    bound = estimate.bounds[name]
    assert bound.value == pytest.approx(losses.mean(), abs=0.2 * error)
    assert bound.low < losses.mean() - error < losses.mean() + error < bound.limit < bound.high


def test_choosing_the_best_of_many_useless_candidates_looks_no_better_than_guessing():
    gaps = []
    for seed in range(12):
        rng = np.random.default_rng(1000 + seed)
        table = table_of(100, 40, seed=seed)
        table.scores[1:] = rng.standard_normal((39, 100, 1))
        chooser = chooser_of(table)
        estimate = evaluate(chooser, rules_of(chooser), n_draws=FEW)[0]
        best = METRICS["error"].value(table.scored(chooser.decision(estimate.choice)))
        gaps.append([best - 0.5, estimate.bounds["error"].value - 0.5])
    plain, honest = np.mean(gaps, axis=0)
    assert plain < -0.03
    assert abs(honest) < 0.03


def test_with_ordered_folds_a_choice_depends_on_earlier_folds_only():
    table = replace(table_of(200, seed=7), fold=np.arange(200) // 40, ordered=True)
    chooser = chooser_of(table)
    estimate = evaluate(chooser, rules_of(chooser), n_draws=FEW)[0]
    assert np.isnan(estimate.row_losses["error"][:40]).all()
    assert not np.isnan(estimate.row_losses["error"][40:]).any()
    later = table.scores.copy()
    later[1:, 160:] *= -1
    changed = chooser_of(replace(table, scores=later))
    changed.temperatures, changed.losses[:, :, :160] = chooser.temperatures, chooser.losses[:, :, :160]
    again = evaluate(changed, rules_of(changed), n_draws=FEW)[0]
    assert again.row_losses["error"][40:160] == pytest.approx(estimate.row_losses["error"][40:160])


def test_few_groups_and_few_rows_have_an_estimate():
    table = replace(table_of(60), group=np.arange(60) % 2)
    chooser = chooser_of(table)
    assert np.isfinite(evaluate(chooser, rules_of(chooser), n_draws=FEW)[0].bounds["error"].value)
    tiny = table_of(12)
    tiny.target[:] = np.arange(12) < 3
    estimate = evaluate(chooser_of(tiny, "auc"), rules_of(chooser_of(tiny, "auc")), n_draws=FEW)[0]
    assert 0 <= estimate.bounds["auc"].value <= 1


def test_a_rare_class_has_more_metrics():
    assert metrics_shown(chooser_of(table_of(share=0.5))) == ["error", "log_loss", "auc"]
    assert "balanced_error" in metrics_shown(chooser_of(table_of(share=0.1)))
    assert metrics_shown(chooser_of(table_of(n_classes=0), "rmse")) == ["rmse", "mae"]


def test_large_tables_have_fewer_draws():
    assert n_draws_for(600, 2) == 500
    assert n_draws_for(60_000, 26) == 100


def test_the_interval_of_a_fixed_candidate_holds():
    """Intervals of the bootstrap are 1.3 times as wide as those of means."""
    held = []
    for seed in range(40):
        table = table_of(80, 2, seed=seed)
        table.scores[1] = 1.0
        table.target[:] = np.random.default_rng(seed).random(80) < 0.7
        chooser = chooser_of(table)
        bound = evaluate(chooser, [Rule(np.arange(2) == 1)], n_draws=200)[0].bounds["error"]
        held.append([bound.low <= 0.3 <= bound.high, bound.limit >= 0.3])
    assert np.all(np.sum(held, axis=0) >= stats.binom.ppf(0.01, 40, 0.95))
