"""A fitted model as a dataframe: one row per node of its trees."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from electorate.model.ensemble import LEAF, Ensemble
from electorate.model.text import column_names
from electorate.model.voter_view import model_trees
from electorate.optional import dataframe


def to_frame(model: Any) -> Any:
    """Return one row per node; see `Exported.to_frame`."""
    model = getattr(model, "best_estimator_", model)
    check_is_fitted(model)
    ensemble, steps = model_trees(model, "to_frame")
    sizes = np.diff(ensemble.offsets)
    inner, names = ensemble.column != LEAF, np.array([*column_names(model), None], dtype=object)
    first = np.repeat(ensemble.offsets[:-1], sizes)
    by_category = ensemble.members >= 0
    columns: dict[str, Any] = {
        "voter": np.repeat(np.arange(ensemble.n_voters), sizes),
        "round": np.repeat(ensemble.rounds, sizes),
        "step": np.repeat(steps, sizes),
        "node": np.arange(len(inner)) - first,
        "column": names[ensemble.column].tolist(),
        "threshold": np.where(inner & ~by_category, ensemble.threshold, np.nan),
        "categories": [_left_levels(model, ensemble, node) for node in range(len(inner))],
        "missing": [_missing_side(ensemble, node) for node in range(len(inner))],
        "left": [int(child) if child >= 0 else None for child in ensemble.children[:, 0]],
        "right": [int(child) if child >= 0 else None for child in ensemble.children[:, 1]],
    }
    return dataframe(columns | _outputs(model, ensemble, inner), "to_frame")


def _left_levels(model: Any, ensemble: Ensemble, node: int) -> list[Any] | None:
    """Return the categories that go left."""
    if ensemble.members[node] < 0:
        return None
    known = model.bins_.categories[int(ensemble.column[node])]
    codes = np.flatnonzero(ensemble.sets[ensemble.members[node], : known.n_codes]).tolist()
    own = [known.levels[code] for code in codes if code < len(known.levels)]
    return own + (list(known.rest) if known.rest and codes and codes[-1] == len(known.levels) else [])


def _missing_side(ensemble: Ensemble, node: int) -> str | None:
    if ensemble.column[node] == LEAF:
        return None
    return "left" if ensemble.missing_left[node] else "right"


def _outputs(model: Any, ensemble: Ensemble, inner: Any) -> dict[str, Any]:
    """Return the outputs of leaves: one column, or one per class."""
    values = np.where(inner[:, None], np.nan, ensemble.value)
    if hasattr(model, "vote_"):
        return {"output": values[:, 0], "confidence": values[:, 1]}
    if ensemble.n_outputs == 1:
        return {"output": values[:, 0]}
    return {f"output {label}": values[:, k] for k, label in enumerate(model.classes_.tolist())}
