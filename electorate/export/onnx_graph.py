"""A small builder of ONNX graphs: nodes are added in order, each returns the name of its output."""

from typing import Any

import numpy as np

from electorate.exact import AnyArray
from electorate.optional import optional

OPSET, ML_OPSET, IR_VERSION = 21, 5, 10
ML = "ai.onnx.ml"


class OnnxGraph:
    """Nodes, constants and outputs of a graph with one input, `input_name`, of doubles: [row, column]."""

    def __init__(self, input_name: str, n_columns: int) -> None:
        self.onnx = optional("onnx", "to_onnx")
        self.input_name, self.n_columns = input_name, n_columns
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outputs: list[Any] = []

    def add(self, operator: str, *inputs: str, name: str = "", domain: str = "", **attributes: Any) -> str:
        """Add a node with one output, and return the name of that."""
        output = name or f"{operator.lower()}_{len(self.nodes)}"
        attributes = {key: value for key, value in attributes.items() if value is not None}
        node = self.onnx.helper.make_node(operator, list(inputs), [output], name=output, domain=domain, **attributes)
        self.nodes.append(node)
        return output

    def scale(self, numbers: str, factors: Any) -> str:
        """Multiply [row, output] by one factor per output.

        onnxruntime removes a Mul by one number that is nearly 1 (to 1e-5), but no MatMul.
        """
        factors = np.asarray(factors, dtype=np.float64)
        if np.all(factors == 1):
            return numbers
        if len(factors) == 1:
            return self.add("MatMul", numbers, self.constant(factors[:, None]))
        return self.add("Mul", numbers, self.constant(factors[None, :]))

    def shift(self, numbers: str, values: Any) -> str:
        """Add one number per output to [row, output]. onnxruntime removes an Add of a number below 1e-8, but no Sum."""
        values = np.asarray(values, dtype=np.float64)
        return self.add("Sum", numbers, self.constant(values[None, :])) if np.any(values) else numbers

    def constant(self, values: Any) -> str:
        """Add numbers or texts, and return their name."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.tensor(values, name))
        return name

    def tensor(self, values: Any, name: str = "values") -> Any:
        array: AnyArray = np.asarray(values)
        if array.dtype.kind in "UO":
            texts = [str(text).encode() for text in array.ravel().tolist()]
            return self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, array.shape, texts)
        return self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)

    def output(self, name: str, kind: Any, *columns: int) -> None:
        """Declare an output of the graph. kind: its dtype; columns: the sizes of its axes after the rows."""
        helper = self.onnx.helper
        element = self.onnx.TensorProto.STRING if kind.kind in "UO" else helper.np_dtype_to_tensor_dtype(kind)
        self.outputs.append(helper.make_tensor_value_info(name, element, ["rows", *columns]))

    def build(self, name: str, metadata: dict[str, str], version: str) -> Any:
        """Return the checked ModelProto."""
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        given = helper.make_tensor_value_info(self.input_name, double, ["rows", self.n_columns])
        graph = helper.make_graph(self.nodes, name, [given], self.outputs, self.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="electorate", producer_version=version
        )
        helper.set_model_props(model, metadata)
        self.onnx.checker.check_model(model)
        return model
