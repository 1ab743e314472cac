"""The report: one file that loads nothing, shows hostile names literally, and draws what the model has."""

import base64
import hashlib
import json
import re
import shutil
import warnings
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from electorate import (
    AdaBoostClassifier,
    MedBoostRegressor,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    RegressionTrees,
    Trees,
)
from electorate.cli import main
from electorate.registry import ALGORITHMS
from electorate.report import html_report
from tests.common.cases import data_for
from tests.common.small_models import small_model

HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<!--",
    "a&amp;b",
    "\u202ertl\x00",
    "'",
]
VOID = {"meta", "img", "br", "input", "hr", "link"}


class Page(HTMLParser):
    """The elements of a page, their attributes, and the text of each."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts = [], [], {}
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        place = self.open[-1] if self.open else ""
        self.texts.setdefault(place, []).append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def two_classes(names=("a", "b", "c", "kind"), n=120):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list(names[:3]))
    X[names[3]] = rng.choice(["p", HOSTILE[0], "r"], n)
    X.iloc[::9, 1] = np.nan
    y = np.where(X.iloc[:, 0] + (X[names[3]] == "p") + rng.normal(scale=0.5, size=n) > 0.3, HOSTILE[1], "no")
    return X, y


@pytest.fixture(scope="module")
def hostile():
    X, y = two_classes([*HOSTILE[:3], HOSTILE[4]])
    model = AdaBoostClassifier(n_estimators=30).fit(X[::2], y[::2])
    return html_report(model, X[1::2], y[1::2], title=HOSTILE[0], command="electorate report '" + HOSTILE[1] + "'")


def charts_of(page):
    return json.loads(re.search(r"id='charts'>(.*?)</script>", page, re.DOTALL)[1])


def test_only_our_own_script_and_style_may_run(hostile):
    page = Page(hostile)
    (policy,) = [one["content"] for one in page.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "*" not in policy
    for kind, name in (("script", "js"), ("style", "css")):
        source = files("electorate.report").joinpath(f"assets/report.{name}").read_text("utf-8")
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
        assert f"<{kind}>{source}</{kind}>" in hostile
    assert len(page.all("script")) == 2
    assert len(page.all("style")) == 1


def test_nothing_is_loaded_and_no_attribute_runs(hostile):
    for tag, attributes in Page(hostile).elements:
        assert tag not in ("img", "link", "iframe", "object", "base", "form")
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]


def test_hostile_names_are_shown_literally(hostile):
    page = Page(hostile)
    assert HOSTILE[0] in page.texts["h1"]
    shown = page.texts["td"]
    for name in HOSTILE[:3]:
        assert name in shown
    assert "\\u202ertl\\x00" in shown
    assert "\u202e" not in hostile
    assert "\x00" not in hostile
    (bars,) = [one for one in charts_of(hostile) if one["title"] == "Importances"]
    assert set(HOSTILE[:3]) <= set(bars["options"][0]["chart"]["names"])


def kinds(chart):
    yield chart["kind"]
    for option in chart.get("options", []):
        yield from kinds(option["chart"])


def test_the_script_draws_every_kind_of_chart(hostile):
    source = files("electorate.report").joinpath("assets/report.js").read_text("utf-8")
    known = set(re.findall(r"^  draw\.(\w+) = ", source, re.MULTILINE))
    found = charts_of(hostile)
    assert {kind for chart in found for kind in kinds(chart)} <= known
    assert {chart["title"] for chart in found} >= {
        "ROC",
        "Calibration",
        "Margin graph",
        "Learning curve",
        "Bound by rounds",
    }
    (margin,) = [chart for chart in found if chart["kind"] == "stages"]
    for stage in margin["stages"]:
        assert len(stage["ys"]) == len(margin["rounds"]) == 30
        assert all(np.all(np.diff(ys) >= 0) and len(ys) == len(margin["xs"]) for ys in stage["ys"])


def test_errors_are_those_of_the_model():
    X, y = two_classes()
    model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    page = html_report(model, X, y)
    assert f"<strong>{np.mean(model.predict(X) != y):.4f}</strong>" in page
    learning = next(chart for chart in charts_of(page) if chart["title"] == "Learning curve")
    series = {one["name"]: one["y"] for one in learning["series"]}
    np.testing.assert_allclose(series["these rows"], series["training rows"], atol=1e-4)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_has_a_report(name):
    X, y = data_for(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = html_report(small_model(name).fit(X, y), X, y)
    Page(page)
    assert "How it was computed" in page
    assert ("Residuals" in page) == (not ALGORITHMS[name].is_classifier)


def test_warnings_about_the_data():
    rng = np.random.default_rng(0)
    n = 200
    y = (rng.random(n) < 0.5).astype(int)
    X = pd.DataFrame(
        {
            "id": np.arange(n),
            "leak": y + rng.normal(scale=1e-3, size=n),
            "constant": 1.0,
            "empty": np.where(rng.random(n) < 0.9, np.nan, 1.0 * y),
            "name": [f"n{k}" for k in range(n)],
            "code": np.where(y == 1, "u", "v"),
            "fine": rng.normal(size=n),
        }
    )
    X = pd.concat([X, X.head(10)], ignore_index=True)
    y = np.append(y, y[:10])
    page = html_report(AdaBoostClassifier(n_estimators=2).fit(X, y), X, y)
    found = re.findall(r"<p class='warn'>(.*?)</p>", page)
    for column, kind in {"leak": "leak", "constant": "constant", "name": "identifier", "code": "leak"}.items():
        assert any(warning.startswith(f"{kind} &#x27;{column}&#x27;") for warning in found), column
    assert not any("fine" in warning for warning in found)
    assert any(warning.startswith("repeated rows") for warning in found)


def many_columns_and_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 100))
    y = np.array([f"class {chr(97 + k)}" for k in range(26)])[
        np.clip((X[:, :5].sum(axis=1) * 3 + 13).astype(int), 0, 25)
    ]
    return RealAdaBoostClassifier(Trees(1), step=1, n_estimators=60).fit(X, y), X, y


def test_a_hundred_columns_and_26_classes_are_under_2_mb():
    page = html_report(*many_columns_and_classes())
    assert len(page.encode()) < 2e6
    assert page.count("<th scope='row'") == 26


def test_the_command(tmp_path, capsys):
    X, y = two_classes()
    AdaBoostClassifier(n_estimators=3).fit(X, y).save(tmp_path / "m.model")
    X.assign(label=y).to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "r.html"
    assert (
        main(["report", str(tmp_path / "m.model"), str(tmp_path / "t.csv"), "--target", "label", "-o", str(out)]) == 0
    )
    assert "Error on these rows" in out.read_text("utf-8")
    assert "kB" in capsys.readouterr().err


def test_the_code_repeats_the_model():
    X, y = two_classes()
    X = X.drop(columns="kind")
    model = AdaBoostClassifier(Trees(2), n_estimators=3).fit(X, y)
    (source,) = [one for one in Page(html_report(model, X, y)).texts["code"] if "fit(" in one]
    names = {"X_train": X, "y_train": y}
    exec(source.rsplit("\n", 1)[0], names)  # without the call that writes the report
    assert names["model"].digest_ == model.digest_


def test_a_median_has_partial_dependence_of_numbers_and_categories():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=150), "kind": rng.choice(["a", "b", None], 150)})
    y = X["x"] + 3.0 * (X["kind"] == "a")
    model = MedBoostRegressor(RegressionTrees(2), n_estimators=5).fit(X, y)
    shown = next(chart for chart in charts_of(html_report(model, X, y)) if chart["title"] == "Shape of a column")
    curves = {option["name"]: option["chart"] for option in shown["options"]}
    (line,) = curves["x"]["series"]
    assert line["y"][0] < line["y"][-1]
    heights = dict(zip(curves["kind"]["names"], curves["kind"]["values"], strict=True))
    assert set(heights) == {"a", "b"}
    assert heights["a"] > heights["b"]


def test_labels_the_model_does_not_know_are_named():
    X, y = two_classes()
    with pytest.raises(ValueError, match="'maybe'"):
        html_report(AdaBoostClassifier(n_estimators=2).fit(X, y), X, np.where(X["a"] > 2, "maybe", y))


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no browser: install chromium")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Opens a page; afterwards, no error was reported and nothing but the file was requested."""
    messages, requests, pages = [], [], []

    def opened(html, width=1100):
        path = tmp_path / "report.html"
        path.write_text(html, encoding="utf-8")
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("dialog", lambda dialog: messages.append("dialog"))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        pages.append(page)
        return page

    yield opened
    for page in pages:
        page.close()
    assert messages == []
    assert {url.split("?")[0] for url in requests} == {(tmp_path / "report.html").as_uri()}


def test_the_slider_moves_the_graph_by_keyboard(visit, hostile):
    page = visit(hostile)
    line = "#margins svg path.line"
    before = page.get_attribute(line, "d")
    page.focus("#margins input[type=range]")
    page.keyboard.press("Home")
    assert page.text_content("#margins output") == "1"
    assert page.get_attribute(line, "d") != before
    page.keyboard.press("End")
    assert page.get_attribute(line, "d") == before
    page.focus("#rounds svg[tabindex]")
    page.keyboard.press("ArrowRight")
    assert "round 2" in page.text_content("#rounds .readout")


def test_lists_choose_charts_and_the_theme_changes(visit, hostile):
    page = visit(hostile)
    before = page.inner_html("#columns svg")
    page.select_option("#columns select", label="splits")
    assert page.inner_html("#columns svg") != before
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    assert page.text_content("#columns option >> nth=0")


def test_a_phone_needs_no_sideways_scrolling(visit):
    page = visit(html_report(*many_columns_and_classes()), width=375)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert page.locator("figure svg").count() > 5


def test_a_regression_report_opens_and_prints(visit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = X[:, 0] + X[:, 1] ** 2
    page = visit(html_report(QuadBoostRegressor(RegressionTrees(3), n_estimators=20).fit(X, y), X, y))
    assert page.locator("#errors circle").count() == 300
    assert page.pdf()[:4] == b"%PDF"
