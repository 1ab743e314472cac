"""A certificate: every bound with its value, terms and assumptions, and the best one with the price of choosing it.

inspection/certificates.py fills it from the formulas in binomial.py, bounds.py, pac_bayes.py and cross_fit.py.
Bounds on the risk are listed apart from bounds on training quantities, which are not about new rows.
"""

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from electorate.optional import optional
from electorate.theory.bounds import Terms, is_summand, total

PROVED = "proved"
VACUOUS = "vacuous"
IID = "the training rows were drawn independently from the distribution of new rows"
WIDTH = 110
At = Callable[[float], Terms]


@dataclass(frozen=True)
class Bound:
    """A bound: `value` is the sum of its terms, or None if it does not apply.

    status: "proved", "vacuous" (1 or more), "does not apply: reason", "up to constants: not a certificate: why".
    """

    name: str
    source: str
    status: str
    value: float | None = None
    terms: Terms = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    delta: float | None = None
    offered: bool = True  # for `best`: not where another bound is never larger
    at: At | None = field(default=None, repr=False, compare=False)  # the terms at another delta

    @property
    def applies(self) -> bool:
        return self.status in (PROVED, VACUOUS)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "source": self.source,
            "status": self.status,
            "value": self.value if self.value is not None and math.isfinite(self.value) else None,
            "delta": self.delta,
            "terms": {name: number if math.isfinite(number) else None for name, number in self.terms.items()},
            "assumptions": list(self.assumptions),
        }


def known(name: str, source: str, terms: Terms, **details: Any) -> Bound:
    """Return a bound with these terms: proved, or vacuous."""
    value = total(terms)
    return Bound(name, source, PROVED if value < 1 else VACUOUS, value, terms, **details)


def proved(
    name: str, source: str, at: At, delta: float, assumptions: tuple[str, ...] = (), offered: bool = True
) -> Bound:
    """Return a bound that holds with probability 1 - delta."""
    return known(name, source, at(delta), assumptions=assumptions, delta=delta, offered=offered, at=at)


def refused(name: str, source: str, why: str) -> Bound:
    """Return a bound that does not apply, with the reason."""
    return Bound(name, source, f"does not apply: {why}")


def bound_called(name: str, bounds: Sequence[Bound]) -> Bound:
    """Return the bound of that name, or raise KeyError with all names."""
    for bound in bounds:
        if bound.name == name:
            return bound
    raise KeyError(f"no bound is called {name!r}: there are {[bound.name for bound in bounds]}")


@dataclass(frozen=True)
class Certificate:
    """The proven bounds of a model: `risk` and `training` are lists of bounds, `best` the smallest bound on the risk.

    risk: bounds on the probability of an error on a new row; each holds separately with probability 1 - delta.
    training: bounds on quantities of the training rows: they always hold, and do not apply to new rows.
    """

    model: str
    what: str  # an error is
    delta: float
    risk: tuple[Bound, ...]
    training: tuple[Bound, ...]
    notes: tuple[str, ...] = ()

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return (*self.risk, *self.training)

    @property
    def best(self) -> Bound | None:
        """The smallest bound on the risk, with delta divided evenly among the bounds that it is chosen from."""
        part = self.delta / max(len(self._offered), 1)
        again = [proved(b.name, b.source, b.at, part, b.assumptions) for b in self._offered if b.at is not None]
        return min(again, key=lambda bound: math.inf if bound.value is None else bound.value, default=None)

    @property
    def _offered(self) -> list[Bound]:
        return [bound for bound in self.risk if bound.applies and bound.offered and bound.at is not None]

    def __getitem__(self, name: str) -> Bound:
        return bound_called(name, self.bounds)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, as for JSON."""
        best = self.best
        return {
            "model": self.model,
            "error": self.what,
            "delta": self.delta,
            "best": None if best is None else best.to_dict(),
            "risk": [bound.to_dict() for bound in self.risk],
            "training": [bound.to_dict() for bound in self.training],
            "notes": list(self.notes),
        }

    def to_frame(self) -> Any:
        """A pandas dataframe, one row per bound."""
        pd = optional("pandas", "Certificate.to_frame")
        parts = {"risk": self.risk, "training": self.training}
        return pd.DataFrame([{"about": name, **bound.to_dict()} for name, part in parts.items() for bound in part])

    # ------------------------------------------------------------ one screen of text

    def __str__(self) -> str:
        sure = f"{100 * (1 - self.delta):g}%"
        lines = [f"Certificate of {self.model}; an error is {self.what}", self._summary(f"with {sure} confidence")]
        risk = f"Bounds on the risk, the probability of an error on a new row; each holds with {sure} confidence:"
        training = "Bounds on training quantities; these are not the risk, and hold only for the training rows:"
        for title, bounds in ((risk, self.risk), (training, self.training)):
            if bounds:
                lines += ["", title, *(line for bound in bounds for line in _lines(bound))]
        assumed = dict.fromkeys(text for bound in self.risk if bound.applies for text in bound.assumptions)
        for title, texts in (("Assumed", assumed), ("Note", self.notes)):
            if texts:
                lines += ["", *textwrap.wrap(f"{title}: {'; '.join(texts)}.", WIDTH)]
        return "\n".join(lines)

    def _summary(self, sure: str) -> str:
        best, count = self.best, len(self._offered)
        if best is None or best.value is None:
            return "No bound on the risk applies." if self.risk else "No bound on the risk: give train or heldout rows."
        if best.value >= 1:
            return f"No bound on the risk is below 1, {sure}."
        paid = f" of {count}, delta split over them" if count > 1 else ""
        return f"The risk is at most {best.value:.4f}, {sure} ({best.name}, the smallest{paid})."


def _lines(bound: Bound) -> list[str]:
    if bound.value is None:
        source = f" [{bound.source}]" if bound.source else ""
        return textwrap.wrap(f"  {bound.name}: {bound.status}{source}", WIDTH, subsequent_indent="      ")
    value = f"{bound.value:.4f}" if bound.value < 1e4 else f"{bound.value:.3g}"
    parts = [f"{number:.4g} {name}" for name, number in bound.terms.items() if is_summand(name)]
    extra = [f"{name} {number:.4g}" for name, number in bound.terms.items() if not is_summand(name)]
    note = " (vacuous)" if bound.status == VACUOUS else "" if bound.applies else f" ({bound.status})"
    text = f"  {bound.name}: {value}{note}"
    text += f" = {' + '.join(parts)}" if len(parts) > 1 else ""
    text += f"; {', '.join(extra)}" if extra else ""
    return textwrap.wrap(f"{text} [{bound.source}]", WIDTH, subsequent_indent="      ")
