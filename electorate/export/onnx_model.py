"""A fitted model as an ONNX ModelProto: one double input; label, probabilities and decision, or prediction."""

import json
from typing import Any

import numpy as np

from electorate import __version__
from electorate.data.table import Categories
from electorate.exact import UNITS, Floats, Ints
from electorate.export.onnx_graph import ML, OnnxGraph
from electorate.export.summed_trees import SummedTrees, summed_trees
from electorate.model.decisions import Link
from electorate.model.ensemble import LEAF, Ensemble

INPUT = "X"
FLOAT, INTEGER = np.dtype(np.float64), np.dtype(np.int64)


def to_onnx(model: Any) -> Any:
    """Return the model as an onnx.ModelProto; see `Exported.to_onnx`."""
    source = summed_trees(model, "to_onnx")
    graph = OnnxGraph(INPUT, source.trees.n_columns)
    votes = graph.shift(add_votes(graph, source), source.constant)
    numbers = graph.shift(graph.scale(votes, source.slope), source.start)
    if source.is_classifier:
        _add_classes(graph, source.model, numbers)
    else:
        graph.add("Reshape", numbers, graph.constant(np.array([-1])), name="prediction")
        graph.output("prediction", FLOAT)
    return graph.build(type(source.model).__name__, _metadata(source), __version__)


def _add_classes(graph: OnnxGraph, model: Any, numbers: str) -> None:
    """Add the outputs label, probabilities and decision. numbers: [row, 1] for two classes, else [row, class]."""
    two, link = model.n_classes_ == 2, model._calibrated_link()
    if two:
        flat = graph.add("Reshape", numbers, graph.constant(np.array([-1])), name="decision")
        best = graph.add("Cast", graph.add("Greater", flat, graph.constant(0.0)), to=int(graph.onnx.TensorProto.INT64))
        second = _likely(graph, numbers, link, 1)
        first = graph.add("Sub", graph.constant(1.0), second)
        graph.add("Concat", first, second, axis=1, name="probabilities")
    else:
        graph.add("Identity", numbers, name="decision")
        best = graph.add("ArgMax", numbers, axis=1, keepdims=0)
        graph.add("Identity", _shares(graph, numbers, link, model.n_classes_), name="probabilities")
    labels = np.asarray(model.classes_)
    graph.add("Gather", graph.constant(labels), best, name="label")
    graph.output("label", labels.dtype)
    graph.output("probabilities", FLOAT, model.n_classes_)
    graph.output("decision", FLOAT, *([] if two else [model.n_classes_]))


def _likely(graph: OnnxGraph, numbers: str, link: Link, n_outputs: int) -> str:
    """Add the probability of a class by its decision alone."""
    u = graph.scale(numbers, np.full(n_outputs, link.scale))
    if link.kind == "logistic":
        return _sigmoid(graph, u)
    if link.kind == "ramp":
        half = graph.add("Mul", graph.add("Add", u, graph.constant(1.0)), graph.constant(0.5))
        return graph.add("Clip", half, graph.constant(0.0), graph.constant(1.0))
    above = _sigmoid(graph, graph.add("Add", u, graph.constant(1.0)))
    below = _sigmoid(graph, graph.add("Sub", graph.constant(1.0), u))
    return graph.add("Div", above, graph.add("Add", above, below))


def _sigmoid(graph: OnnxGraph, u: str) -> str:
    """Add 1 / (1 + exp(-u)), to the last bit or two also where the runtime's own operator is an approximation."""
    e = graph.add("Exp", graph.add("Neg", graph.add("Abs", u)))
    small = graph.add("Div", e, graph.add("Add", e, graph.constant(1.0)))
    large = graph.add("Sub", graph.constant(1.0), small)
    return graph.add("Where", graph.add("Greater", u, graph.constant(0.0)), large, small)


def _shares(graph: OnnxGraph, numbers: str, link: Link, n_classes: int) -> str:
    if link.kind == "softmax":
        return graph.add("Softmax", graph.scale(numbers, np.full(n_classes, link.scale)), axis=1)
    likely = _likely(graph, numbers, link, n_classes)
    total = graph.add("ReduceSum", likely, graph.constant(np.array([1])), keepdims=1)
    positive = graph.add("Greater", total, graph.constant(0.0))
    divisor = graph.add("Where", positive, total, graph.constant(1.0))
    return graph.add("Where", positive, graph.add("Div", likely, divisor), graph.constant(1 / n_classes))


def _metadata(source: SummedTrees) -> dict[str, str]:
    """What a caller needs to know: the columns in order, and the texts that numbers of categories stand for."""
    known = {source.names[j]: source.categories(j) for j in source.model.bins_.categories}
    texts = {name: [*found.levels.tolist()] for name, found in known.items() if found.is_text}
    rare = {name: list(found.rest) for name, found in known.items() if found.is_text and found.rest}
    more = {"digest": source.model.digest_} if hasattr(source.model, "digest_") else {}
    named = {"columns": source.names, "categories": texts, "rare_categories": rare}
    return {name: json.dumps(value) for name, value in named.items() if value} | more


# ---------------------------------------------------------------- trees

LESS_OR_EQUAL, MEMBER, SUM = 0, 6, 1  # codes of the operator
UNKNOWN, NEVER = -1.0, -2.0  # the code of missing and unseen categories, and one that no row has


def add_votes(graph: OnnxGraph, source: SummedTrees) -> str:
    """Add the nodes that compute [row, output] of the votes, without the constant; return their name."""
    trees, targets = _one_number_per_leaf(source.trees)
    if not trees.n_voters:
        rows = graph.add("Shape", graph.input_name, start=0, end=1)
        shape = graph.add("Concat", rows, graph.constant(np.array([source.trees.n_outputs])), axis=0)
        return graph.add("Expand", graph.constant(np.zeros(1)), shape)
    rows = _with_codes(graph, source, trees)
    attributes = _node_attributes(graph, trees) | _leaf_attributes(graph, trees, targets)
    return graph.add(
        "TreeEnsemble", rows, domain=ML, n_targets=source.trees.n_outputs, aggregate_function=SUM, **attributes
    )


def _one_number_per_leaf(ensemble: Ensemble) -> tuple[Ensemble, Ints]:
    """Return trees with at least one split, and for every node the output that it is about."""
    voters: list[int] = []
    outputs: list[int] = []  # -1: of each leaf, the only one that is not 0
    for voter, root in enumerate(ensemble.offsets[:-1].tolist()):
        if ensemble.column[root] == LEAF:
            continue
        units = ensemble.units[root : int(ensemble.offsets[voter + 1])]
        single = np.count_nonzero(units, axis=1).max() <= 1
        used = [-1] if single else np.flatnonzero(units.any(axis=0)).tolist()
        voters += [voter] * len(used)
        outputs += used
    trees = ensemble.chosen(voters, ensemble.steps[voters].tolist())
    chosen = np.repeat(np.array(outputs, dtype=np.int64), np.diff(trees.offsets))
    return trees, np.where(chosen < 0, np.argmax(trees.units != 0, axis=1), chosen)


def _with_codes(graph: OnnxGraph, source: SummedTrees, trees: Ensemble) -> str:
    """Replace categories by their codes, where trees split on them; the operator compares categories as integers."""
    columns = np.unique(trees.column[trees.members >= 0]).tolist()
    if not columns:
        return graph.input_name
    sizes = np.diff([0, *(end for j in columns for end in (j, j + 1)), graph.n_columns])
    parts = [graph.input_name]
    outputs = [f"columns_{k}" for k in range(len(sizes))]
    split = graph.onnx.helper.make_node("Split", [*parts, graph.constant(sizes)], outputs, axis=1)
    graph.nodes.append(split)
    for place, column in enumerate(columns):
        keys, codes = _codes(source.categories(column))
        outputs[2 * place + 1] = graph.add(
            "LabelEncoder",
            outputs[2 * place + 1],
            domain=ML,
            keys_tensor=graph.tensor(keys),
            values_tensor=graph.tensor(codes),
            default_tensor=graph.tensor(np.array([UNKNOWN])),
        )
    used = [name for name, size in zip(outputs, sizes.tolist(), strict=True) if size]
    return graph.add("Concat", *used, axis=1)


def _codes(categories: Categories) -> tuple[Floats, Floats]:
    """Return the numbers that stand for known categories in the input, and their codes."""
    if categories.is_text:
        return (np.arange(float(categories.n_codes)),) * 2
    return categories.by_number


def _node_attributes(graph: OnnxGraph, trees: Ensemble) -> dict[str, Any]:
    inner = np.flatnonzero(trees.column != LEAF)
    place = np.cumsum(trees.column != LEAF) - 1  # of each inner node among the inner ones
    leaf = np.cumsum(trees.column == LEAF) - 1
    members = trees.members[inner] >= 0
    # a category that was not seen is in no set, so the set is the one on the side that missing values do not take
    swapped = members & trees.missing_left[inner]
    true, false = (trees.child_nodes[inner, np.where(swapped, 1 - side, side)] for side in (0, 1))
    sets = [_set(trees, node, bool(swap)) for node, swap in zip(inner[members], swapped[members], strict=True)]
    threshold = np.where(members, 0.0, np.minimum(trees.threshold[inner], np.finfo(np.float64).max))
    return {
        "tree_roots": place[trees.offsets[:-1]].tolist(),
        "nodes_featureids": trees.column[inner].tolist(),
        "nodes_modes": graph.tensor(np.where(members, MEMBER, LESS_OR_EQUAL).astype(np.uint8)),
        "nodes_splits": graph.tensor(threshold),
        "nodes_truenodeids": np.where(trees.column[true] == LEAF, leaf[true], place[true]).tolist(),
        "nodes_trueleafs": (trees.column[true] == LEAF).astype(np.int64).tolist(),
        "nodes_falsenodeids": np.where(trees.column[false] == LEAF, leaf[false], place[false]).tolist(),
        "nodes_falseleafs": (trees.column[false] == LEAF).astype(np.int64).tolist(),
        "nodes_missing_value_tracks_true": (trees.missing_left[inner] & ~members).astype(np.int64).tolist(),
        "membership_values": graph.tensor(np.concatenate(sets)) if sets else None,
    }


def _set(trees: Ensemble, node: int, swapped: bool) -> Floats:
    """Return the codes on the side that missing values do not take, and the NaN that ends a set."""
    codes = np.flatnonzero(trees.sets[trees.members[node], :-1] != swapped).astype(np.float64)
    return np.append(codes if len(codes) else [NEVER], np.nan)


def _leaf_attributes(graph: OnnxGraph, trees: Ensemble, targets: Ints) -> dict[str, Any]:
    leaves = np.flatnonzero(trees.column == LEAF)
    return {
        "leaf_targetids": targets[leaves].tolist(),
        "leaf_weights": graph.tensor(trees.units[leaves, targets[leaves]] / UNITS),
    }
