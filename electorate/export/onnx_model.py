"""A fitted model as an ONNX ModelProto: one double input; label, probabilities and decision, or prediction."""

import json
from typing import Any

import numpy as np

from electorate import __version__
from electorate.export.onnx_graph import OnnxGraph
from electorate.export.onnx_trees import add_votes
from electorate.export.summed_trees import SummedTrees, summed_trees
from electorate.model.links import Link

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
