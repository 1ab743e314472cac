"""Findings of a check-up, and how they are printed."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from electorate.data.cleaning import Step
from electorate.escape import literal

LONGEST_NAME = 40
LONGEST_EXAMPLE = 30


@dataclass(frozen=True)
class Finding:
    """A finding of the check-up.

    Attributes
    ----------
    kind : str
        "identifier", "free text", "leak", "date", "number as text", "constant", "near duplicate", "spelling",
        "many categories", "rare class", "imbalance" or "repeated rows".
    column : str or None
        The column; None for the target and for whole rows.
    seen : str
        What was seen.
    done : str
        What is done about it, or what to do.
    """

    kind: str
    column: str | None
    seen: str
    done: str

    def __str__(self) -> str:
        where = "" if self.column is None else f" {literal(self.column, LONGEST_NAME)!r}"
        return f"{self.kind}{where}: {self.seen}; {self.done}"

    def to_dict(self) -> dict[str, Any]:
        """Return the four attributes."""
        return asdict(self)


@dataclass(frozen=True)
class FoundStep:
    """A finding about a column, and the step that cleans it, if there is one."""

    finding: Finding
    step: Step | None = None


def quote(values: Sequence[Any], most: int = 3) -> str:
    """Return some values as examples for a message."""
    listed = ", ".join(repr(literal(value, LONGEST_EXAMPLE)) for value in values[:most])
    return f"{listed}, ..." if len(values) > most else listed
