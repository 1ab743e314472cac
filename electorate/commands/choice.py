"""Which estimator `electorate fit` trains: an algorithm by any of its names, for labels or for a quantity."""

import difflib
import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from electorate.escape import literal

TASKS = {"Classifier": "classification", "Regressor": "regression"}
DEFAULT = "AdaBoost"
NOT_ALONE = ("ThinnedClassifier",)  # made from another model, in Python


@dataclass(frozen=True)
class Choice:
    """A way to train: the estimator's class, its task, and where the name is one of `compare`, how compare makes it."""

    estimator: str
    task: str
    listed: Any = None  # an Algorithm of `compare`

    def build(self) -> Any:
        if self.listed is None:
            return getattr(import_module("electorate"), self.estimator)()
        from electorate.comparison.algorithms import Facts

        model = self.listed.build(self.listed.grid[0], Facts([], 0))
        unknown = {name: value for name, value in _PLAIN.items() if name in model.get_params(deep=False)}
        return model.set_params(**unknown)  # what compare sets for its own rows and workers


_PLAIN = {"categorical_features": "from_dtype", "random_state": None, "n_jobs": None}


def choices() -> dict[str, list[Choice]]:
    """All ways to train by their names, spelled plainly."""
    from electorate.comparison.algorithms import OURS, REGRESSION, Ours

    found: dict[str, list[Choice]] = {}
    for name in estimators():
        ending = next(ending for ending in TASKS if name.endswith(ending))
        choice = Choice(name, TASKS[ending])
        found.setdefault(_plain(name), []).append(choice)
        found.setdefault(_plain(name.removesuffix(ending)), []).append(choice)
    for listed in OURS:
        if isinstance(listed.make, Ours) and listed.make.is_here:
            task = "regression" if REGRESSION in listed.tasks else "classification"
            found.setdefault(_plain(listed.name), []).append(Choice(listed.make.estimator, task, listed))
    return found


def estimators() -> list[str]:
    public = import_module("electorate").__all__
    return [name for name in public if name.endswith(tuple(TASKS)) and name not in NOT_ALONE]


def _plain(name: str) -> str:
    """Spelling does not count: Real AdaBoost, RealAdaBoost, real_adaboost."""
    return re.sub(r"[\s_.,-]", "", name).casefold()


def find(wanted: str) -> list[Choice]:
    """The ways to train that a name stands for: one, or one for labels and one for a quantity."""
    known = choices()
    found = known.get(_plain(wanted))
    if found is None:
        close = difflib.get_close_matches(_plain(wanted), known, 1, 0.7)
        hint = f" Did you mean {known[close[0]][0].estimator}?" if close else ""
        raise ValueError(f"no algorithm is called {literal(wanted)!r}.{hint} There are:\n{names_shown()}")
    return found


def settle(wanted: str, found: list[Choice], task: str, guessed: str) -> Choice:
    """The one that fits the task. guessed: by the target; a name that leaves no choice decides itself.

    Only a classifier of a quantity is refused: it would take every value for a class.
    """
    tasks = {choice.task: choice for choice in found}
    needed = guessed if task == "auto" else task
    if task == "auto" and list(tasks) == ["regression"]:
        needed = "regression"
    if needed in tasks:
        return tasks[needed]
    if task == "auto":
        raise ValueError(
            f"the target holds a quantity (float values, or more than 20 distinct integers), and {literal(wanted)} is "
            f"a classifier: choose one of {', '.join(_names_for('regression'))}, or add --task classification"
        )
    raise ValueError(f"{literal(wanted)} is not for {task}; these are: {', '.join(_names_for(task))}")


def _names_for(task: str) -> list[str]:
    ending = next(ending for ending in TASKS if TASKS[ending] == task)
    return sorted(name.removesuffix(ending) for name in estimators() if name.endswith(ending))


def names_shown() -> str:
    """The names of all algorithms, for a message or the help."""
    from electorate.comparison.algorithms import OURS

    lines = [f"  {task}: {', '.join(_names_for(task))}" for task in TASKS.values()]
    printed = "; ".join(listed.name for listed in OURS)
    return "\n".join([*lines, f"  as compare names them: {printed}"])
