"""Packages that are not installed with electorate: imported on first use, with a message that says what to install."""

from importlib import import_module
from typing import Any

EXTRAS = {
    "cupy": "cuda",
    "dask": "dask",
    "distributed": "dask",
    "highspy": "lp",
    "matplotlib": "plot",
    "onnx": "onnx",
    "pyarrow": "tables",
}
OTHERS = {"electorate_studies": "electorate-studies (in a checkout: pip install ./studies)"}


def optional(module: str, what: str) -> Any:
    """Return a module of an optional package; ImportError with what to install. what: who needs it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        wanted = f"'electorate[{EXTRAS[package]}]'" if package in EXTRAS else OTHERS.get(package, package)
        raise ImportError(f"{what} needs {package}: pip install {wanted}") from error


def dataframe(columns: Any, what: str) -> Any:
    """Return columns by name as a pandas dataframe, or as a polars one where pandas is not installed."""
    try:
        frames = import_module("pandas")
    except ImportError:
        try:
            frames = import_module("polars")
        except ImportError as error:
            raise ImportError(f"{what} needs pandas or polars: pip install pandas") from error
    return frames.DataFrame(columns)
