"""Refuses classes where instances are needed, as in ``AdaBoostClassifier(Trees)``: ``Trees()`` is meant."""

from typing import Any

from sklearn.utils._param_validation import InvalidParameterError


class TakesInstances:
    """An estimator whose parameter `estimator`, and the parameters of that, must not be classes."""

    estimator: Any

    def _validate_params(self) -> None:
        refuse_classes(self.estimator, f"{type(self).__name__}.estimator")
        super()._validate_params()  # type: ignore[misc]


def refuse_classes(value: Any, name: str) -> None:
    """Look at a parameter and at what it holds: the items of lists, the parameters of estimators."""
    if isinstance(value, type):
        if hasattr(value, "get_params"):
            raise InvalidParameterError(
                f"{name} is the class {value.__name__}: pass an instance, {value.__name__}() with its parameters"
            )
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            refuse_classes(item, f"{name}[{place}]")
    elif hasattr(value, "get_params"):
        for parameter, held in value.get_params(deep=False).items():
            refuse_classes(held, f"{name}.{parameter}")
