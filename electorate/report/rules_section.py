"""The section of a report with the rules that have the largest weights."""

from typing import Any

from electorate.inspection.rule_table import rule_table
from electorate.report.page import ReportSection, table

MOST_NODES = 50_000  # writing out the rules of larger ensembles takes long


def rules_section(model: Any, most: int = 50) -> ReportSection:
    """Return the rules with the largest weights; an empty section if the model has no rules to show."""
    section = ReportSection("rules", "Rules")
    if len(getattr(getattr(model, "ensemble_", None), "column", ())) > MOST_NODES:
        return section
    try:
        columns = rule_table(model).columns
    except (TypeError, ValueError):  # other voters, or trees whose rules are too long to be written out
        return section
    steps = columns["step"]
    order = sorted(range(len(steps)), key=lambda k: -abs(steps[k]))[:most]
    rows: list[tuple[Any, ...]] = [
        (float(steps[k]), columns["rule"][k] or "always", columns["then"][k], columns["otherwise"][k] or "")
        for k in order
    ]
    heads = ["weight", "if", "vote", "else"]
    if not any(row[-1] for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    if len(steps) > most:
        section.note(f"The {most} rules with the largest weights, of {len(steps):,}.")
    section.add(table(heads, rows, "rules"))
    return section
