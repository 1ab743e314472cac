"""The public names, for type checkers. tests/test_registry.py compares them with registry.py."""

from electorate.report.margin_displays import BoundDisplay as BoundDisplay
from electorate.report.margin_displays import CostDisplay as CostDisplay
from electorate.report.margin_displays import CumulativeMarginsDisplay as CumulativeMarginsDisplay
from electorate.report.margin_displays import MarginDisplay as MarginDisplay
from electorate.report.margin_displays import RobustErrorDisplay as RobustErrorDisplay
from electorate.report.model_report import html_report as html_report
from electorate.report.regression import IntervalDisplay as IntervalDisplay
from electorate.report.regression import QuantilesDisplay as QuantilesDisplay
from electorate.report.voter_displays import PathDisplay as PathDisplay
from electorate.report.voter_displays import ShapeDisplay as ShapeDisplay
from electorate.report.voter_displays import TreeSizesDisplay as TreeSizesDisplay
