"""The parts of a comparison, for experiments with a protocol of their own: the studies import no other module of it."""

from electorate.comparison import paired_tests
from electorate.comparison.algorithms import CLASSIFICATION, MANY_ROWS, OURS, PEERS, REGRESSION, Algorithm, Facts, Size
from electorate.comparison.fits import staged_scores, stages_of, train, with_rounds
from electorate.comparison.folds import deal, draw, strata
from electorate.comparison.metrics import METRICS, Scored
from electorate.comparison.rows import Rows, read_rows
from electorate.estimators.stack_weights import weigh_predictions, weigh_probabilities
from electorate.estimators.stacked import pool, pooled_decision
from electorate.model.decisions import ABSENT, fit_temperature

__all__ = ["ABSENT", "CLASSIFICATION", "MANY_ROWS", "METRICS", "OURS", "PEERS", "REGRESSION", "Algorithm"]
__all__ += ["Facts", "Rows", "Scored", "Size", "deal", "draw", "fit_temperature", "paired_tests", "pool"]
__all__ += ["pooled_decision", "read_rows", "staged_scores", "stages_of", "strata", "train", "weigh_predictions"]
__all__ += ["weigh_probabilities", "with_rounds"]
