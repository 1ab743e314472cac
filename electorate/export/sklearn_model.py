"""A fitted AdaBoost of native trees as scikit-learn's AdaBoostClassifier."""

from typing import Any

import numpy as np

from electorate.arrays import Ints
from electorate.export.summed_trees import SummedTrees, summed_trees
from electorate.model.ensemble import LEAF, Ensemble

UNDEFINED = -2  # scikit-learn's feature and threshold of a leaf


def to_sklearn(model: Any) -> Any:
    """Return scikit-learn's model; see `Exported.to_sklearn`."""
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    found = summed_trees(model, "to_sklearn")
    fitted, labels = found.model, _labels_of_leaves(found)
    trees = [_grown(found.trees, voter, labels, fitted) for voter in range(found.trees.n_voters)]
    depth = max(tree.tree_.max_depth for tree in trees)
    new = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=max(depth, 1)), n_estimators=len(trees), learning_rate=fitted.learning_rate
    )
    new.estimator_, new.estimators_ = new.estimator, trees
    new.estimator_weights_ = np.array(fitted.estimator_weights_, dtype=np.float64)
    new.estimator_errors_ = np.array(fitted.estimator_errors_, dtype=np.float64)
    new.classes_, new.n_classes_ = fitted.classes_, len(fitted.classes_)
    new.n_features_in_ = fitted.n_features_in_
    if hasattr(fitted, "feature_names_in_"):
        new.feature_names_in_ = fitted.feature_names_in_
    return new


def _labels_of_leaves(found: SummedTrees) -> Ints:
    """Return the class that each node votes for, or raise TypeError where scikit-learn has no such model."""
    import electorate  # its public names import the estimators

    model, trees = found.model, found.trees
    name = type(model).__name__
    if not isinstance(model, electorate.AdaBoostClassifier):
        raise TypeError(f"to_sklearn is for AdaBoostClassifier: scikit-learn has no model that votes as {name} does")
    if not trees.n_voters or len(model.classes_) < 2:
        raise TypeError("to_sklearn needs a model with voters and two classes or more")
    by_category = np.flatnonzero(trees.members >= 0)
    if by_category.size:
        column = found.names[trees.column[by_category[0]]]
        raise TypeError(f"column {column!r} holds categories, and scikit-learn's trees take numbers only")
    leaves = trees.value[trees.column == LEAF]
    best = leaves.max(axis=1, keepdims=True)
    one = np.abs(leaves) == 1 if trees.n_outputs == 1 else ((leaves == best).sum(axis=1) == 1) & (best[:, 0] == 1)
    if not np.all(one):
        raise TypeError("to_sklearn needs voters that return a label: use leaves='label' for the trees")
    chosen = trees.value[:, 0] > 0 if trees.n_outputs == 1 else np.argmax(trees.value, axis=1)
    return np.asarray(chosen, dtype=np.int64)


def _grown(trees: Ensemble, voter: int, labels: Ints, model: Any) -> Any:
    """Return one voter as a fitted DecisionTreeClassifier."""
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.tree._tree import NODE_DTYPE, Tree

    part, n_classes = slice(*trees.offsets[voter : voter + 2].tolist()), len(model.classes_)
    inner = trees.column[part] != LEAF
    depth = np.zeros(len(inner), dtype=np.int64)
    for node in np.flatnonzero(inner):  # children come after their parent
        depth[trees.children[part][node]] = depth[node] + 1
    nodes = np.zeros(len(inner), dtype=NODE_DTYPE)
    nodes["left_child"], nodes["right_child"] = np.where(inner[:, None], trees.children[part], -1).T
    nodes["feature"] = np.where(inner, trees.column[part], UNDEFINED)
    nodes["threshold"] = np.where(inner, trees.threshold[part], UNDEFINED)
    nodes["missing_go_to_left"] = trees.missing_left[part]
    nodes["n_node_samples"] = nodes["weighted_n_node_samples"] = 1
    values = np.eye(n_classes)[labels[part]][:, None, :]
    state = {"max_depth": int(depth.max()), "node_count": len(inner), "nodes": nodes, "values": values}
    grown = DecisionTreeClassifier(max_depth=max(int(depth.max()), 1))
    grown.tree_ = Tree(model.n_features_in_, np.array([n_classes], dtype=np.intp), 1)
    grown.tree_.__setstate__(state)
    grown.n_features_in_ = grown.max_features_ = model.n_features_in_
    grown.n_outputs_, grown.n_classes_, grown.classes_ = 1, n_classes, model.classes_
    return grown
