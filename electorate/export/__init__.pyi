"""The public names, for type checkers. tests/test_registry.py compares them with registry.py."""

from electorate.export.skops_types import trusted_types as trusted_types
from electorate.export.summed_trees import export_input as export_input
