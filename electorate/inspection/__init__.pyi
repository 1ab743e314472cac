"""The public names, for type checkers. tests/test_registry.py compares them with registry.py."""

from electorate.inspection.check_up import CheckUp as CheckUp
from electorate.inspection.family_complexity import complexity_of as complexity_of
from electorate.inspection.family_complexity import empirical_rademacher as empirical_rademacher
from electorate.inspection.loss_certificates import loss_certificate as loss_certificate
from electorate.inspection.margins import margin_table as margin_table
from electorate.inspection.margins import staged_margins as staged_margins
from electorate.inspection.rules import rule_table as rule_table
from electorate.inspection.shapes import shape_functions as shape_functions
from electorate.inspection.shapes import tree_sizes as tree_sizes
from electorate.inspection.shapley import contributions as contributions
from electorate.inspection.theorems import convergence as convergence
