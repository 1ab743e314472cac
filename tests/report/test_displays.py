"""Pictures: what is drawn is what was computed, into the axes that were given, with names shown as they are."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.sax.saxutils import escape

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from samples import ROOT, messy, noisy, run_python
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    Columns,
    DeepBoostClassifier,
    EBBoostClassifier,
    MedBoostRegressor,
    Pool,
    QuadBoostClassifier,
    RealAdaBoostClassifier,
    Trees,
    VadaBoostClassifier,
    margins,
)
from electorate.inspection import convergence, shape_functions, staged_margins
from electorate.inspection.shapes import shape_parts
from electorate.report import (
    BoundDisplay,
    CostDisplay,
    CumulativeMarginsDisplay,
    MarginDisplay,
    PathDisplay,
    RobustErrorDisplay,
    ShapeDisplay,
    TreeSizesDisplay,
)
from electorate.report.drawing import LINES, named, plain
from electorate.simulate import XD6, TwoNorm

mpl.use("Agg")
STRANGE = ["$x^2$", "a$b", r"\$5 \frac{$", "_hidden", "<b>&amp;", "two\nlines", "\x1b[31mred", "100% {x}", "x" * 300]


@pytest.fixture
def ax() -> Any:
    return Figure().subplots()


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def svg(figure: Any, path: Path) -> str:
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(path)
    return path.read_text(encoding="utf-8")


# ---------------------------------------------------------------- margins


def test_margin_graphs_with_bound_and_bayes(ax: Any) -> None:
    problem = XD6(0.2)
    X, y = problem.sample(200, 0)
    X_test, y_test = problem.sample(500, 1)
    model = AdaBoostRClassifier(n_estimators=15).fit(X, y)
    display = MarginDisplay.from_estimator(
        model, X, y, X_test=X_test, y_test=y_test, kind="logistic", bayes=problem.bayes_margins(), ax=ax
    )
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert [line.get_label() for line in display.lines_] == ["training", "test", "Bayes rule", "bound (training)"]
    for line, (rows, labels) in zip(display.lines_, ((X, y), (X_test, y_test)), strict=False):
        theta, share = line.get_data()
        found = margins(model, rows, labels, kind="logistic")
        np.testing.assert_allclose(share, [np.mean(found.values <= at) for at in theta], atol=1e-12)
    theta, bound = display.lines_[-1].get_data()
    assert np.all(np.interp(theta, theta, bound) >= display.graphs["training"].margin_error(theta) - 1e-9)


def test_a_law_without_steps_is_a_smooth_line(ax: Any) -> None:
    law = TwoNorm(noise=0.1).bayes_margins()
    display = MarginDisplay({"Bayes": law}).plot(ax)
    theta, share = display.lines_[0].get_data()
    np.testing.assert_allclose(share, [law.margin_error(at) for at in theta])
    assert display.lines_[0].get_drawstyle() == "default"


def test_where_nothing_is_proved_no_bound_is_drawn(ax: Any) -> None:
    X, y = noisy(100)
    display = MarginDisplay.from_estimator(QuadBoostClassifier(n_estimators=5).fit(X, y), X, y, ax=ax)
    assert len(display.lines_) == 1
    X, y = noisy(100, labels=3)
    MarginDisplay.from_estimator(AdaBoostClassifier(n_estimators=5).fit(X, y), X, y, ax=ax)


def test_cumulative_margins_in_one_picture_and_in_panels() -> None:
    X, y = noisy(150)
    models = {"one": AdaBoostClassifier(n_estimators=10), "two": DeepBoostClassifier(n_estimators=10)}
    display = CumulativeMarginsDisplay.from_estimators({n: m.fit(X, y) for n, m in models.items()}, X, y)
    assert len(display.ax_.lines) == 3
    display.plot_panels()
    assert len(display.axes_) == 3
    for panel in display.axes_[:2]:
        assert sum(bar.get_height() for bar in panel.patches) == pytest.approx(1)
    assert [panel.get_title() for panel in display.axes_[:2]] == ["one", "two"]


# ---------------------------------------------------------------- rounds


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(n_estimators=20),
        AdaBoostClassifier(Trees(2), n_estimators=10, learning_rate=0.5),
        RealAdaBoostClassifier(Trees(2), n_estimators=10),
        AdaBoostRClassifier(n_estimators=20),
        VadaBoostClassifier(n_estimators=10),
        EBBoostClassifier(n_estimators=10),
    ],
    ids=repr,
)
def test_bounds_are_never_below_the_training_error(model: Any, ax: Any) -> None:
    X, y = messy(150)
    display = BoundDisplay.from_estimator(clone(model).fit(X, y), ax=ax)
    observed = display.observed["training error"]
    assert len(observed) == model.n_estimators
    for bound in display.bounds.values():
        assert np.all(bound >= observed - 1e-9)
    assert ax.get_yscale() == "log"
    assert len(display.lines_) == 1 + len(display.bounds)


def test_predictions_of_rounds_can_be_drawn(ax: Any) -> None:
    X, y = noisy(100)
    found = convergence(VadaBoostClassifier(lam=0.0, n_estimators=9).fit(X, y))
    for prediction in found.predictions:
        lines = BoundDisplay.from_prediction(prediction, ax=ax).lines_
        np.testing.assert_allclose(lines[0].get_ydata(), prediction.observed)
        np.testing.assert_allclose(lines[1].get_ydata(), prediction.predicted)


def test_bounds_of_median_votes(ax: Any) -> None:
    X, y = noisy(150)
    model = MedBoostRegressor(n_estimators=15).fit(X, X[:, 0] + y)
    display = BoundDisplay.from_estimator(model, ax=ax)
    (bound,), (observed,) = display.bounds.values(), display.observed.values()
    found = [stage.margin_error(0.0) for stage in staged_margins(model, X, X[:, 0] + y)]
    np.testing.assert_allclose(observed, found, atol=1e-9)
    assert np.all(bound >= observed - 1e-9)
    assert not BoundDisplay.from_estimator(model, rho=-0.5, ax=ax).observed


def test_robust_errors_of_median_votes(ax: Any) -> None:
    X, y = noisy(150)
    y = X[:, 0] + y
    model = MedBoostRegressor(n_estimators=15).fit(X[:100], y[:100])
    display = RobustErrorDisplay.from_estimator(model, X[:100], y[:100], X_test=X[100:], y_test=y[100:], ax=ax)
    assert [line.get_label() for line in display.lines_] == ["training", "test", "bound (training)"]
    assert np.all(display.errors["training"] <= display.bound + 1e-9)
    assert np.any(display.bound < 1)
    error = np.mean(np.abs(model.predict(X[100:]) - y[100:]) > model.eps_)  # L^(0)
    assert display.errors["test"][display.rho == 0] == pytest.approx(error, abs=0.03)
    with pytest.raises(ValueError, match="'a' has 1 numbers for 2"):
        RobustErrorDisplay([0, 1], {"a": [1]})


def test_bounds_may_be_any_numbers(ax: Any) -> None:
    display = BoundDisplay({"$\\alpha$": [0.9, 0.5]}, {"error": [0.4, 0.0]}, "risk").plot(ax)
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), [0.4, np.nan])
    assert ax.get_ylabel() == "risk"
    one = SimpleNamespace(name="cost $n^2$", predicted=[1.0, 0.5], observed=[0.9, 0.3])
    assert BoundDisplay.from_prediction(one, ax=ax).bounds["predicted"].tolist() == [1.0, 0.5]
    assert ax.get_ylabel() == r"cost \$n^2\$"
    with pytest.raises(ValueError, match="'b' must hold one number per round"):
        BoundDisplay({"b": [[1.0]]})
    with pytest.raises(ValueError, match="nothing to draw"):
        BoundDisplay({})
    X, y = noisy(60)
    with pytest.raises(ValueError, match="QuadBoostClassifier"):
        BoundDisplay.from_estimator(QuadBoostClassifier(n_estimators=3).fit(X, y))


@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_costs_are_recomputed(lam: float, ax: Any) -> None:
    """Cost (3) of the VadaBoost paper from the margins of every round: (sum e)^2 + lam (n sum e^2 - (sum e)^2)."""
    X, y = noisy(120)
    models = {
        "ada": AdaBoostClassifier(n_estimators=8).fit(X, y),
        "vada": VadaBoostClassifier(lam=lam, n_estimators=8).fit(X, y),
        "eb": EBBoostClassifier(lam=lam, n_estimators=8).fit(X, y),
    }
    display = CostDisplay.from_estimators(models, len(y), ax=ax)
    for (name, model), line in zip(models.items(), display.lines_, strict=True):
        e = [np.exp(-stage.scores) for stage in staged_margins(model, X, y)]
        variance = [0.0 if name == "ada" else lam * (len(y) * np.sum(v**2) - v.sum() ** 2) for v in e]
        expected = [v.sum() ** 2 + penalty for v, penalty in zip(e, variance, strict=True)]
        np.testing.assert_allclose(line.get_ydata(), 1 + np.array(expected), rtol=1e-8)
    with pytest.raises(ValueError, match="'q' is a QuadBoostClassifier"):
        CostDisplay.from_estimators({"q": QuadBoostClassifier(n_estimators=2).fit(X, y)}, len(y))


# ---------------------------------------------------------------- ensembles


def test_tree_sizes_are_counted_in_words(ax: Any) -> None:
    X, y = noisy(200)
    models = {"ada": AdaBoostClassifier(Trees(3), n_estimators=6), "deep": DeepBoostClassifier(Trees(3), lam=0.01)}
    fitted = {name: model.fit(X, y) for name, model in models.items()}
    display = TreeSizesDisplay.from_estimators(fitted, ax=ax)
    for name, model in fitted.items():
        sizes = []
        for voter in model.estimators_:
            text = voter.to_text()
            leaves = 2 if ", else " in text else len(text.splitlines())
            sizes.append(2 * leaves - 1)
        if name == "ada":
            np.testing.assert_array_equal(np.sort(display.sizes[name]), np.sort(sizes))
        assert len(display.sizes[name]) == len(model.steps_)
    assert sum(bar.get_height() for bar in ax.patches) == sum(map(len, display.sizes.values()))
    with pytest.raises(TypeError, match="are not electorate"):
        TreeSizesDisplay.from_estimator(AdaBoostClassifier(DecisionTreeClassifier()).fit(X, y))


def test_paths_of_every_penalty(ax: Any) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(np.sign(rng.normal(size=(80, 8))), columns=[f"$c{j}$" for j in range(8)])
    y = (X.iloc[:, 0] + X.iloc[:, 1] > 0).to_numpy().astype(int)
    model = QuadBoostClassifier(Columns(), penalty="l1", reweight="cyclic", n_estimators=2000)
    display = PathDisplay.from_estimator(model, X, y, n_values=12, ax=ax)
    assert display.varies == "lam"
    assert ax.xaxis_inverted()
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines if len(line.get_ydata()) == 12}
    np.testing.assert_array_equal(drawn[r"\$c0\$"], display.path.weights[:, 0])
    linf = PathDisplay(QuadBoostClassifier(Pool(4), penalty="linf", n_estimators=50).path(X, y, values=[0.01, 0.1]))
    assert linf.varies == "alpha_max"
    assert PathDisplay(QuadBoostClassifier(Pool(4)).path(X, y, values=[1, 5, 20])).plot().varies == "n_estimators"
    with pytest.raises(ValueError, match="two points or more"):
        PathDisplay(QuadBoostClassifier(Pool(4)).path(X, y, values=[3]))
    with pytest.raises(ValueError, match="names: 1"):
        PathDisplay(linf.path, ["one"])


def added(shapes: Any, X: Any) -> Any:
    """What the shape functions add, row by row, in plain Python."""
    total = np.zeros(len(X))
    for i, row in enumerate(X):
        for shape in shapes:
            value = row[shape.column]
            if np.isnan(value):
                total[i] += shape.missing
            elif shape.levels is not None:
                known = [float(level) for level in shape.levels]
                total[i] += shape.values[known.index(value)] if value in known else shape.missing
            else:
                total[i] += shape.values[int(np.sum(value > shape.edges))]
    return total


@settings(derandomize=True, max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([AdaBoostClassifier, RealAdaBoostClassifier, QuadBoostClassifier]))
def test_shape_functions_add_up_to_the_votes(seed: int, booster: Any) -> None:
    """Numbers, categories, missing values and a category that was not seen; to the grid of the votes."""
    X, y = messy(120, seed=seed)
    model = booster(n_estimators=15, categorical_features=[3]).fit(X, y)
    X[:5, 3] = 77.0
    constant, shapes = shape_functions(model)
    scores = margins(model, X, y).scores
    np.testing.assert_allclose(np.where(y == 1, 1, -1) * (constant[0] + added(shapes, X)), scores, atol=1e-10)
    assert [s.weight for s in shapes] == sorted((s.weight for s in shapes), reverse=True)
    same, parts = shape_parts(model, X)
    assert [shape.name for shape in same] == [shape.name for shape in shapes]
    np.testing.assert_allclose(parts.sum(axis=1), added(shapes, X), atol=1e-12)


def test_shape_functions_of_several_classes_and_their_picture() -> None:
    X, y = messy(200, labels=3)
    table = pd.DataFrame(X[:, [0, 1, 3]], columns=["$a$", "_b", "job"]).astype({"job": "category"})
    model = AdaBoostClassifier(n_estimators=25).fit(table, np.array(["u", "v", "w"])[y])
    constant, shapes = shape_functions(model)
    assert constant.shape == (3,)
    display = ShapeDisplay.from_estimator(model, label="v")
    assert len(display.axes_) == len(shapes) <= 3
    job = next(panel for panel, shape in zip(display.axes_, display.shapes, strict=True) if shape.name == "job")
    shape = next(shape for shape in shapes if shape.name == "job")
    heights = sorted(bar.get_height() for bar in job.patches)
    np.testing.assert_allclose(heights, np.sort(shape.values[1]))
    assert ShapeDisplay.from_estimator(model, columns=["job"], label="u").shapes[0].name == "job"
    ordered = ShapeDisplay.from_estimator(model, table, label="v")
    _, parts = shape_parts(model, table)
    assert parts.shape == (3, 200, len(shapes))
    spread = dict(zip([shape.name for shape in shapes], parts[1].std(axis=0), strict=True))
    assert [shape.name for shape in ordered.shapes] == sorted(spread, key=lambda name: -spread[name])
    np.testing.assert_allclose(ordered.deciles[0], np.nanquantile(table["$a$"], np.arange(1, 10) / 10))
    f = model.decision_function(table) * 2 / 3 + 1 / 3  # scikit-learn's scale to shares of the steps
    np.testing.assert_allclose((parts.sum(axis=2) + constant[:, None]).T / model.steps_.sum(), f, atol=1e-9)
    for options, word in (
        ({}, "whose votes to draw"),
        ({"label": "x"}, "label='x'"),
        ({"label": "u", "columns": ["nobody"]}, "'nobody'"),
    ):
        with pytest.raises(ValueError, match=word):
            ShapeDisplay.from_estimator(model, **options)


def test_only_stumps_have_shapes() -> None:
    X, y = noisy(100)
    with pytest.raises(ValueError, match="more than one split"):
        shape_functions(AdaBoostClassifier(Trees(2), n_estimators=2).fit(X, y))
    with pytest.raises(TypeError, match="no shape functions"):
        shape_functions(AdaBoostClassifier(DecisionTreeClassifier(), n_estimators=2).fit(X, y))
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="two classes"):
        ShapeDisplay.from_estimator(model, label=1)


# ---------------------------------------------------------------- names of strangers


@pytest.mark.parametrize("name", STRANGE)
def test_names_are_shown_as_they_are(name: str, tmp_path: Path) -> None:
    """In the legend, as a title and on an axis: no mathematics, nothing left out, no control characters."""
    X, y = noisy(80)
    model = AdaBoostClassifier(n_estimators=4).fit(pd.DataFrame(X[:, :1], columns=[name]), y)
    graphs = {name: margins(model, pd.DataFrame(X[:, :1], columns=[name]), y)}
    shown = name.replace("\n", "\\n").replace("\x1b", "\\x1b")
    expected = shown if len(shown) <= 40 else shown[:37]
    legend = svg(MarginDisplay(graphs).plot().figure_, tmp_path / "a.svg")
    titled = svg(CumulativeMarginsDisplay(graphs).plot_panels().figure_, tmp_path / "b.svg")
    axis = svg(ShapeDisplay.from_estimator(model).figure_, tmp_path / "c.svg")
    for drawn, text in ((legend, expected), (titled, expected), (axis, expected[:25])):
        assert escape(text) in drawn.replace("\u00a0", " ")
        assert "\x1b" not in drawn


def test_a_plain_text_is_never_mathematics() -> None:
    for text in STRANGE:
        shown = plain(text)
        assert shown.count("$") == shown.count(r"\$")
        assert not named(text).startswith("_")


# ---------------------------------------------------------------- matplotlib


def test_lines_differ_without_colour() -> None:
    assert len({repr(dashes) for _, dashes in LINES}) == len(LINES)


@pytest.mark.process
def test_matplotlib_is_imported_when_something_is_drawn() -> None:
    code = """
import sys
import electorate
from electorate.report import BoundDisplay, MarginDisplay, ShapeDisplay, TreeSizesDisplay, PathDisplay, CostDisplay
display = BoundDisplay({"b": [1.0, 0.5]})
assert "matplotlib" not in sys.modules
sys.modules["matplotlib"] = None
try:
    display.plot()
except ImportError as error:
    print(error)
"""
    said, _ = run_python(code)
    assert "BoundDisplay.plot needs matplotlib" in said
    assert "electorate[plot]" in said


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: MarginDisplay({}), "at least one"),
        (lambda: CumulativeMarginsDisplay({}), "at least one"),
        (lambda: CostDisplay({}), "at least one"),
        (lambda: TreeSizesDisplay({"a": []}), "no trees"),
        (lambda: ShapeDisplay([]), "no column"),
        (lambda: MarginDisplay.from_estimator(None, [[0]], [0], X_test=[[0]]), "together"),
    ],
)
def test_mistakes_are_named(make: Any, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        make()


def test_the_pictures_of_the_docs_are_small() -> None:
    pictures = sorted((ROOT / "docs" / "plots").glob("*.png"))
    page = (ROOT / "docs" / "plots.md").read_text(encoding="utf-8")
    assert pictures
    for picture in pictures:
        assert picture.stat().st_size < 80_000
        assert f"plots/{picture.name}" in page


def test_the_examples_of_the_page_run() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "plots.md").read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "plots.md", "exec"), names)
    assert names["found"].margin_error(0.1) <= names["found"].bound(0.1)
    assert names["problem"].bayes_error() == pytest.approx(0.2)


@pytest.mark.process
@pytest.mark.slow
def test_the_gallery_can_be_made_again(tmp_path: Path) -> None:
    names = ["margins", "bounds", "path", "shapes", "robust_error"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "gallery.py"), str(tmp_path), *names],
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {picture.stem for picture in tmp_path.glob("*.png")} == set(names)
