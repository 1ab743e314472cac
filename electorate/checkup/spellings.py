"""Categories whose spellings differ only by case or by space."""

from electorate.checkup.columns import CheckedColumn
from electorate.checkup.findings import Finding, FoundStep, quote
from electorate.data.cleaning import MergeSpellings
from electorate.data.spelling import common_spellings, plain_spelling


def find_spellings(column: CheckedColumn) -> FoundStep | None:
    """Return the spellings to merge in a column of texts."""
    if not column.has_texts:
        return None
    texts = column.factors.present
    common = common_spellings(column.factors.values, column.counts)
    if not common:
        return None
    seen = f"spellings that differ by case or space: {describe_spellings(texts, common)}"
    finding = Finding("spelling", column.name, seen, f"merged into {quote(list(common.values()))}")
    return FoundStep(finding, MergeSpellings(common))


def describe_spellings(texts: list[str], common: dict[str, str]) -> str:
    """Return the spellings of the first texts that have several."""
    groups = [sorted(text for text in texts if plain_spelling(text) == plain) for plain in list(common)[:2]]
    return "; ".join(quote(group) for group in groups) + ("; ..." if len(common) > 2 else "")
