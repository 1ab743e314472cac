"""A small model of every registered algorithm, for the common checks, the golden records and fuzzing.

An algorithm joins with its line in electorate/registry.py. PARAMETERS has what makes a model of it small and telling.
"""

from typing import Any

import electorate
from electorate.registry import ALGORITHMS

ROUNDS = 7
PARAMETERS: dict[str, dict[str, Any]] = {
    "VadaBoostClassifier": {"lam": 0.3},
    "EBBoostClassifier": {"lam": 0.3},
    "DeepBoostClassifier": {"lam": 1e-3, "beta": 1e-3},
    "LPBoostClassifier": {"nu": 0.3},
    "AdaBoostRegressor": {"random_state": 0},
}


def small_model(name: str, **parameters: Any) -> Any:
    """An unfitted model of a registered algorithm, with these parameters beside those of PARAMETERS."""
    return getattr(electorate, name)(**{"n_estimators": ROUNDS, **PARAMETERS.get(name, {}), **parameters})


def names_without(those: dict[str, Any]) -> list[str]:
    """The registered algorithms that a table of special cases does not name; raises for one that is not registered."""
    unknown = sorted(set(those) - set(ALGORITHMS))
    assert not unknown, f"not in ALGORITHMS of electorate/registry.py: {', '.join(unknown)}"
    return [name for name in ALGORITHMS if name not in those]
