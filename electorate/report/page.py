"""One HTML file that needs nothing else: text and tables as HTML, charts as numbers that a small script draws.

The page's Content-Security-Policy allows its own style and script, by their hashes, and nothing else: no request leaves
the page, and nothing in the data can run.
"""

import base64
import hashlib
import html
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from electorate.text import literal

DIGITS = 4  # of numbers in charts
BUTTON = "<button id='theme' type='button' hidden>Dark / light</button>"
FOOT = "Made by electorate. This file is self-contained and loads nothing."
Chart = dict[str, Any]  # see the kinds in assets/report.js


@dataclass
class ReportSection:
    """A part of the page: HTML, then charts, then more HTML. name: of its anchor."""

    name: str
    title: str
    body: list[str] = field(default_factory=list)
    charts: list[tuple[str, Chart]] = field(default_factory=list)  # captions and charts
    below: str = ""  # HTML

    def add(self, fragment: str) -> None:
        """Add HTML."""
        self.body.append(fragment)

    def note(self, message: str) -> None:
        self.body.append(f"<p class='note'>{text(message)}</p>")

    def chart(self, caption: str, chart: Chart) -> None:
        self.charts.append((caption, chart))


def text(value: object, longest: int = 2000) -> str:
    """Return untrusted text as HTML that shows it literally."""
    return html.escape(literal(value, longest))


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], kind: str = "") -> str:
    """Return an HTML table; columns that contain text are aligned to the left. kind: its CSS class."""
    is_text = [any(isinstance(row[k], str) for row in rows) for k in range(len(head))]
    kinds = [" class='text'" if flag else "" for flag in is_text]
    cells = "".join(f"<th scope='col'{one}>{text(name)}</th>" for name, one in zip(head, kinds, strict=True))
    return grid(cells, [f"<tr>{''.join(map(_cell, row, is_text))}</tr>" for row in rows], kind)


def grid(head: str, rows: Sequence[str], kind: str = "") -> str:
    """Return a table of finished cells, which scrolls sideways where it is too wide."""
    parts = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f"<div class='scroll' tabindex='0'><table class='{kind}'>{parts}</table></div>"


def _cell(value: Any, is_text: bool) -> str:
    if is_text:
        return f"<td class='text' title='{text(value)}'>{text(value, 120)}</td>"
    return f"<td>{'' if value is None else text(number(value))}</td>"


def number(value: Any) -> str:
    """Return a number with few digits; large ones with commas instead of exponents."""
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return "–"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def pairs(entries: Iterable[tuple[str, object]]) -> str:
    """Return names and values as a list of definitions."""
    return "<dl>" + "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in entries) + "</dl>"


def code(source: str) -> str:
    return f"<pre tabindex='0'><code>{html.escape(source)}</code></pre>"


def rounded(values: Any) -> Any:
    """Return numbers for JSON: few digits, null where there is none."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, list | tuple):
        return [rounded(value) for value in values]
    if isinstance(values, float):
        return float(f"{values:.{DIGITS}g}") if math.isfinite(values) else None
    return values


def render(title: str, lead: str, sections: list[ReportSection]) -> str:
    """Return the page. lead: HTML below the title."""
    style, script = (
        files("electorate.report").joinpath(f"assets/report.{kind}").read_text("utf-8") for kind in ("css", "js")
    )
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    filled = [section for section in sections if section.body or section.charts]
    charts: list[Chart] = []
    body = "\n".join(_section(section, charts) for section in filled)
    links = "".join(f"<li><a href='#{section.name}'>{text(section.title)}</a></li>" for section in filled)
    return (
        "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        "<meta name='referrer' content='no-referrer'>\n"
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<header><h1>{text(title)}</h1>{lead}</header>\n"
        f"<nav aria-label='Contents'><ul>{links}<li>{BUTTON}</li></ul></nav>\n"
        f"<main>\n{body}\n</main>\n"
        f"<footer><p class='note'>{FOOT}</p></footer>\n"
        f"<script type='application/json' id='charts'>{embedded(charts)}</script>\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _section(section: ReportSection, charts: list[Chart]) -> str:
    figures = []
    for caption, chart in section.charts:
        head = f"<figcaption><strong>{text(chart['title'])}</strong>{text(caption)}</figcaption>"
        figures.append(
            f"<figure>{head}<div data-chart='{len(charts)}'><p class='note'>Charts need JavaScript.</p></div></figure>"
        )
        charts.append(chart)
    parts = [*section.body, f"<div class='charts'>{''.join(figures)}</div>" if figures else "", section.below]
    return f"<section id='{section.name}'><h2>{text(section.title)}</h2>{''.join(parts)}</section>"


def embedded(value: Any) -> str:
    """Return JSON that can stand inside a script element: no markup, no line separators of JavaScript."""
    raw = json.dumps(_literal(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        raw = raw.replace(character, f"\\u{ord(character):04x}")
    return raw


def _literal(value: Any) -> Any:
    """Escape invisible characters of all texts."""
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, dict):
        return {key: _literal(one) for key, one in value.items()}
    return [_literal(one) for one in value] if isinstance(value, list | tuple) else value


def _hash(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
