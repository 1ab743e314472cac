"""The tests and outputs of voters as text: "age <= 40 and job = 'clerk'".

Thresholds are written so that the text predicts what the voter predicts: see `comparison`.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from electorate.exact import Bools, Floats
from electorate.model.ensemble import LEAF, Ensemble

MOST_CHARACTERS = 1 << 24  # of all rules that are written at once
LEAST_LENGTH = 16  # what a test counts at least, repeated ones included

Path = list[tuple[int, int]]  # nodes from the root down, and the side taken: 0 left, 1 right


class Monomial(NamedTuple):
    """A voter with one output where all tests of a path hold, and another where they do not."""

    path: Path
    inside: Floats
    outside: Floats


class RuleLine(NamedTuple):
    """A line of text about a voter. leaf: the node it is about; otherwise: the output elsewhere, if there is only one.

    Its text is, for example: if age <= 40.5 or age is missing: 'no', else 'yes'.
    """

    leaf: int
    tests: str
    then: str
    otherwise: str | None = None

    def __str__(self) -> str:
        text = f"if {self.tests}: {self.then}" if self.tests else f"always {self.then}"
        return text if self.otherwise is None else f"{text}, else {self.otherwise}"


def leaf_paths(alone: Ensemble, first: int = 0) -> Iterator[tuple[int, Path]]:
    """Yield the leaves of an ensemble of one voter, each with the way to it. first: 0 from left to right, 1 back."""
    path: Path = []
    waiting = [(0, 0, (0, 0))]  # nodes, how deep they are, and the last step to them
    while waiting:
        node, depth, step = waiting.pop()
        if depth:
            path[depth - 1 :] = [step]
        if alone.column[node] == LEAF:
            yield node, path[:depth]
        else:
            waiting += [(int(alone.children[node, side]), depth + 1, (node, side)) for side in (1 - first, first)]


def monomial(alone: Ensemble) -> Monomial | None:
    """Return a voter as a rule, if it is one: a path of tests, and one output at all other leaves."""
    if alone.column[0] == LEAF:
        return Monomial([], alone.value[0], alone.value[0])
    path: Path = []
    beside: list[int] = []
    node = 0
    while True:
        children = alone.children[node].tolist()
        ends = [alone.column[child] == LEAF for child in children]
        if all(ends):
            break
        if not any(ends):
            return None
        side = int(ends[0])  # the one that goes on
        beside.append(children[1 - side])
        path.append((node, side))
        node = children[side]
    for side in (0, 1):
        outside = alone.value[[children[1 - side], *beside]]
        if np.all(outside == outside[0]):
            return Monomial([*path, (node, side)], alone.value[children[side]], outside[0])
    return None


def column_names(model: Any) -> list[str]:
    """The names of the columns of the table, or x0, x1, ..."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else [str(name) for name in names]


class Words:
    """The words of one model: names of columns, categories and classes.

    brief: missing values are mentioned only where the column had some in training.
    """

    def __init__(self, model: Any, brief: bool = False) -> None:
        self.model = model
        self.brief = brief
        self.names = column_names(model)
        self.written = 0  # characters
        self._alone: Ensemble | None = None
        self._texts: dict[tuple[int, int], str] = {}  # of the tests of `_alone`

    def label(self, alone: Ensemble, value: Floats) -> str:
        """The class that a leaf votes for; a voter about one class against the rest may vote against it."""
        about = int(alone.about[0])
        if about >= 0:
            return self._class(about) if value[about] > 0 else f"not {self._class(about)}"
        return self._class(int(value[0] > 0) if len(value) == 1 else int(np.argmax(value)))

    def output_text(self, alone: Ensemble, value: Floats) -> str:
        """The class, with the number where there is one that is not +-1. Of a regressor, the shortest exact number."""
        if not hasattr(self.model, "classes_"):
            abstains = len(value) > 1 and value[1] <= 0  # the confidence of a voter of a median
            return "abstains" if abstains else repr(float(value[0])).removesuffix(".0")
        about = max(int(alone.about[0]), 0)
        by_label = (len(value) > 1 and alone.about[0] < 0) or abs(value[about]) == 1
        return self.label(alone, value) if by_label else f"{self.label(alone, value)} ({value[about]:+.4g})"

    def _class(self, number: int) -> str:
        label = self.model.classes_[number]
        return repr(label.item() if hasattr(label, "item") else label)

    def path_text(self, alone: Ensemble, path: Path) -> str:
        """The tests of a path; the same one only once."""
        if alone is not self._alone:
            self._alone, self._texts = alone, {}
        for step in path:
            if step not in self._texts:
                self._texts[step] = self.test(alone, *step)
        texts = list(dict.fromkeys(self._texts[step] for step in path))
        self._count(sum(map(len, texts)))
        return " and ".join(f"({text})" if " or " in text and len(texts) > 1 else text for text in texts)

    def rules(self, alone: Ensemble, output: Callable[[Ensemble, Floats], str]) -> Iterator[RuleLine]:
        """Yield the one line of a voter that is a path of tests, else a line per leaf. output: the text of a value.

        ValueError if the paths are too long to write out.
        """
        rule = monomial(alone)
        if rule is not None:
            leaf = int(alone.children[rule.path[-1]]) if rule.path else 0
            otherwise = output(alone, rule.outside) if rule.path else None
            yield RuleLine(leaf, self.path_text(alone, rule.path), output(alone, rule.inside), otherwise)
            return
        depth = [0] * len(alone.column)
        for node, (left, right) in enumerate(alone.children.tolist()):
            if left != LEAF:  # children come after their parent
                depth[left] = depth[right] = depth[node] + 1
        self._count(LEAST_LENGTH * int(np.array(depth)[alone.column == LEAF].sum()))
        for leaf, path in leaf_paths(alone):
            yield RuleLine(leaf, self.path_text(alone, path), output(alone, alone.value[leaf]))

    def _count(self, characters: int) -> None:
        self.written += characters
        if self.written > MOST_CHARACTERS:
            raise ValueError(
                f"The rules of this model take more than {MOST_CHARACTERS} characters: its trees are too deep, or its "
                "names too long, to be written out."
            )

    def test(self, alone: Ensemble, node: int, side: int) -> str:
        """The condition of one side of a split."""
        column = int(alone.column[node])
        name = self.names[column]
        missing = bool(alone.missing_left[node]) == (side == 0)
        missing &= not self.brief or bool(self.model.bins_.has_missing[column])
        if alone.members[node] >= 0:
            return self._categories(name, column, alone.sets[alone.members[node]], side, missing)
        if np.isinf(alone.threshold[node]):
            return f"{name} is {'not ' if side == 0 else ''}missing"
        test = f"{name} {comparison(float(alone.threshold[node]), side)}"
        return f"{test} or {name} is missing" if missing else test

    def _categories(self, name: str, column: int, on_left: Bools, side: int, missing: bool) -> str:
        """One category by "=", all but one by "is not", others as a set."""
        found = self.model.bins_.categories[column]
        levels = [repr(level) for level in found.levels.tolist()] + (["a rare level"] if found.rest else [])
        inside = [bool(on_left[code]) == (side == 0) for code in range(len(levels))]
        here = [text for text, is_in in zip(levels, inside, strict=True) if is_in]
        if not here:
            return f"{name} is missing"
        if len(here) == len(levels):
            return f"{name} is {'anything' if missing else 'not missing'}"
        if missing and len(here) == len(levels) - 1:
            return f"{name} is not {levels[inside.index(False)]}"  # nor is a missing value
        test = f"{name} = {here[0]}" if len(here) == 1 else f"{name} in {{{', '.join(here)}}}"
        return f"{test} or {name} is missing" if missing else test


FEW_DIGITS = 12


def comparison(threshold: float, side: int) -> str:
    """Return "<= 0.1415" or "> 0.1415", what holds on the left (0) or right (1) of a threshold.

    A threshold between two short decimals is often one rounding error away from a short decimal: 0.14150000000000001
    lies between 0.141 and 0.142. It is then written short, and with < and >= where the short decimal itself belongs on
    the right. Every value of up to 12 significant digits compares with the text as it does with the threshold.
    """
    short = float(f"{threshold:.{FEW_DIGITS}g}")
    if abs(short - threshold) > 2 * np.spacing(abs(threshold)):
        short = threshold
    strict = short > threshold
    operators = ("<", ">=") if strict else ("<=", ">")
    return f"{operators[side]} {repr(short).removesuffix('.0')}"
