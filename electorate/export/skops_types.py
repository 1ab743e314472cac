"""Names of the types in a fitted model, for skops and MLflow, which load only types that the caller names."""

from typing import Any

from electorate.optional import optional


def trusted_types(model: Any) -> list[str]:
    """Return the names of the types of this package in a fitted model, for skops and MLflow.

    skops, and MLflow, which stores models by skops, load types outside scikit-learn only if the caller names them.
    Types of other packages (a wrapped estimator, a function of your own) are not in the list: add those you trust.

    skops checks types, not contents. Load models of unknown origin only with `electorate.load`, which checks both.

    Parameters
    ----------
    model : estimator
        A model of this package, or a pipeline or search that contains one.

    Returns
    -------
    names : list of str
        Sorted, full names of classes.

    See Also
    --------
    load : Read a model file, for which nothing has to be trusted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from electorate import AdaBoostClassifier
    >>> from electorate.export import trusted_types
    >>> model = AdaBoostClassifier(n_estimators=5).fit(*load_iris(return_X_y=True))
    >>> "electorate.families.trees.Stumps" in trusted_types(model)
    True

    With skops, `skops.io.load(path, trusted=trusted_types(model))`. With MLflow,
    `mlflow.sklearn.log_model(model, name="model", skops_trusted_types=trusted_types(model))`.
    """
    io = optional("skops.io", "trusted_types")
    return sorted(name for name in io.get_untrusted_types(data=io.dumps(model)) if name.split(".")[0] == "electorate")
