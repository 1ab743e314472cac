"""The methods of every estimator that take a fitted model elsewhere: ONNX, SQL, scikit-learn, dataframes, text, shap.

They are computed in export/, which is imported when they are called.
"""

from typing import Any


class Exported:
    """The export methods of all estimators, such as `to_onnx` and `to_sql`."""

    def to_onnx(self) -> Any:
        """Return the model as an ONNX model in double precision, for any runtime of ONNX.

        For classifiers and regressors that add the votes of electorate's own stumps, trees, rules, pairs or pools.

        Returns
        -------
        onnx.ModelProto
            One input ``X``, a tensor of doubles [row, column] as :func:`electorate.export.export_input` returns it.
            Outputs of a classifier: ``label``, ``probabilities`` and ``decision``, equal to ``predict``,
            ``predict_proba`` and ``decision_function``. Output of a regressor: ``prediction``. The metadata list the
            columns and the texts of categories.

        Notes
        -----
        The trees are one operator TreeEnsemble of ai.onnx.ml 5. Needs onnx: ``pip install electorate[onnx]``.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from electorate import AdaBoostClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> proto = AdaBoostClassifier().fit(X, y).to_onnx()  # doctest: +SKIP
        >>> open("model.onnx", "wb").write(proto.SerializeToString())  # doctest: +SKIP
        """
        from electorate.export.onnx_model import to_onnx

        return to_onnx(self)

    def to_sql(self, table: str | None = None) -> str:
        """Return the model as standard SQL, with CASE expressions in double precision.

        Parameters
        ----------
        table : str or None, default=None
            A table or a subquery, as it is written after FROM. It is not quoted. None returns an expression of the
            decision (two classes) or of the prediction (a regressor).

        Returns
        -------
        str
            The expression, or a query. Its columns are ``prediction`` and, for a classifier, ``decision``
            (``decision_0``, ``decision_1``, ... for more than two classes), then those of the table, whatever they are
            called. Those of a classifier are followed by the decisions once more, under names that no table has.

        Notes
        -----
        Missing values are NULL or NaN. Categories are compared as they were in training: texts as texts, numbers as
        numbers; unseen ones count as missing.

        Examples
        --------
        >>> from electorate import AdaBoostClassifier
        >>> model = AdaBoostClassifier(n_estimators=1).fit([[1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1])
        >>> print(model.to_sql("rows"))
        SELECT CASE WHEN "decision 25b688d1955a 0" > 0 THEN 1 ELSE 0 END AS "prediction",
        "decision 25b688d1955a 0" AS "decision",
        votes.*
        FROM (
        SELECT given.*,
        4.0e0 * (0.0e0 + CASE
          WHEN CAST(given."x0" AS DOUBLE PRECISION) <= 3.0e0 THEN (-0.5e0)
          WHEN CAST(given."x0" AS DOUBLE PRECISION) <= 1.7976931348623157e308 THEN 0.5e0
          ELSE (-0.5e0)
        END) AS "decision 25b688d1955a 0"
        FROM (SELECT * FROM rows) AS given
        ) AS votes
        """
        from electorate.export.sql import to_sql

        return to_sql(self, table)

    def to_frame(self) -> Any:
        """Return the nodes of all trees as a dataframe.

        Returns
        -------
        pandas.DataFrame
            Or a polars one where pandas is not installed. One row per node: voter, round, step, node (its number in the
            tree), column, threshold (at most this goes left), categories (these go left), missing (the side of missing
            values), left and right (the numbers of the children), and the output of leaves, one column per class for
            votes of several classes.
        """
        from electorate.export.frame import to_frame

        return to_frame(self)

    def to_text(self) -> str:
        """Return the rules of the model, one per line, weight first: see :func:`electorate.inspection.rule_table`."""
        import electorate  # its public functions import the estimators

        return electorate.inspection.rule_table(getattr(self, "best_estimator_", self)).to_text()

    def to_shap(self, X: Any = None) -> dict[str, Any]:
        """Return a dictionary that ``shap.TreeExplainer`` takes as a model.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe, optional
            Rows to count at every node. ``feature_perturbation="tree_path_dependent"`` needs them; background rows
            given to the explainer make them unnecessary.

        Returns
        -------
        dict
            Rows to explain must be given to the explainer as :func:`electorate.export.export_input` returns them. It
            explains the decision of a classifier, one output per class for more than two, or the prediction of a
            regressor.

        See Also
        --------
        electorate.inspection.contributions : Exact Shapley values without the package shap.
        """
        from electorate.export.shap_trees import to_shap

        return to_shap(self, X)
