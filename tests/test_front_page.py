"""README.md: its size, numbers, Python and commands; and the targets of make that contributors are told of."""

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_breast_cancer

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^electorate .*", README, re.MULTILINE)


@pytest.fixture(scope="module")
def front_page() -> Any:
    spec = importlib.util.spec_from_file_location("front_page", ROOT / "docs" / "front_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_is_short():
    assert len(README.encode()) <= 8192


def test_the_numbers_of_the_front_pages_are_those_of_stored_results(front_page):
    results = front_page.stored()
    for page in front_page.PAGES:
        text = page.read_text(encoding="utf-8")
        assert text == front_page.written(text, results), "run python docs/front_page.py"
    picture = (ROOT / "docs" / "speeds.svg").read_text(encoding="utf-8").replace("&quot;", '"')
    assert front_page.described(results) in picture, "run python docs/front_page.py"


def test_other_results_would_be_written(front_page):
    results = front_page.stored()
    results["rows"]["fit-adaboost"]["one core"]["seconds"]["electorate"] = [12.34]
    assert "12.34 s" in front_page.written(README, results)


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL):
        exec(compile(block, "README.md", "exec"), names)
    assert names["model"].stop_reason_ == "n_estimators"


@pytest.mark.process
def test_the_commands_of_the_readme_run_one_after_the_other(tmp_path):
    """In the test `compare` tries one setting of each algorithm."""
    frame = load_breast_cancer(as_frame=True).frame.iloc[:, -8:].rename(columns={"target": "sold"})
    frame[:250].to_csv(tmp_path / "my.csv", index=False)
    frame[250:400].to_csv(tmp_path / "unseen.csv", index=False)
    frame[400:].drop(columns="sold").to_csv(tmp_path / "new.csv", index=False)
    assert len(COMMANDS) == 4
    for command in COMMANDS:
        words = shlex.split(command, comments=True)[1:]
        words += ["--quick"] if words[0] == "compare" else []
        command_line = [sys.executable, "-m", "electorate", *words]
        done = subprocess.run(command_line, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 170
    assert "</html>" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/development.md", "docs/releasing.md"])
def test_the_targets_of_make_exist(page):
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert named
    assert named <= set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


@pytest.mark.process
def test_the_demo_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "tour.py")], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for words in (
        "scikit-learn ",
        "leak 'cancelled on'",
        "new rows will be wrong",
        "The heaviest of 50 rules: if calls",
    ):
        assert words in done.stdout
    assert (tmp_path / "demo" / "compared" / "report.html").exists()
