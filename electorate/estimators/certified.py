"""What every estimator can be asked: what is proved of it, and how training went against what was predicted.

The answers are made in certificates.py and convergence.py, which are read when asked for.
"""

from typing import Any


class Certified:
    """The two questions, as methods."""

    def certificate(
        self,
        *,
        train: Any = None,
        heldout: Any = None,
        delta: float = 0.05,
        eps: float | None = None,
        equal_rows: str = "refuse",
        draws: int = 0,
    ) -> Any:
        """What can be proved of this model: see :func:`electorate.certificate`."""
        import electorate  # its public functions import the estimators

        return electorate.certificate(
            self, train=train, heldout=heldout, delta=delta, eps=eps, equal_rows=equal_rows, draws=draws
        )

    def convergence(self) -> Any:
        """What was predicted of training, and what was observed, round by round: see :func:`electorate.convergence`."""
        import electorate

        return electorate.convergence(self)


def refuse_others(model: Any, what: str) -> None:
    """Votes of others are not known well enough."""
    if not isinstance(model, Certified):
        raise TypeError(f"{what} is for the estimators of electorate, and this is a {type(model).__name__}")
