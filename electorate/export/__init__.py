"""ONNX, SQL, C, SHAP and other formats of fitted models."""

from electorate.registry import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
