"""The section of a report with the heaviest rules of a classifier."""

from typing import Any

from electorate.inspection.rule_table import rule_table
from electorate.model.ensemble import Ensemble
from electorate.report.page import Section, table


def rules_section(model: Any, most: int = 50) -> Section:
    """Return the heaviest rules; an empty section where voters are not electorate's trees."""
    section = Section("rules", "Rules")
    if not isinstance(getattr(model, "ensemble_", None), Ensemble) or not hasattr(model, "classes_"):
        return section
    columns = rule_table(model).columns
    steps = columns["step"]
    order = sorted(range(len(steps)), key=lambda k: -abs(steps[k]))[:most]
    rows = [
        (float(steps[k]), columns["rule"][k] or "always", columns["then"][k], columns["otherwise"][k] or "")
        for k in order
    ]
    if len(steps) > most:
        section.note(f"The {most} heaviest of {len(steps):,} rules.")
    section.add(table(["weight", "if", "vote", "else"], rows))
    return section
