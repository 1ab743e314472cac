"""The section of a report with the heaviest rules."""

from typing import Any

from electorate.inspection.rule_table import rule_table
from electorate.report.page import Section, table


def rules_section(model: Any, most: int = 50) -> Section:
    """Return the heaviest rules; an empty section where a model has none to show."""
    section = Section("rules", "Rules")
    try:
        columns = rule_table(model).columns
    except (TypeError, ValueError):  # other voters, or trees whose rules are too long to be written out
        return section
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
