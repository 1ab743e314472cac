"""Groups of arrays that kernels take as one argument."""

from typing import Any, NamedTuple


class RowArrays(NamedTuple):
    """The rows of a shard. Label k has the rows starts[k]..starts[k + 1], and is group[k] for the booster.

    A row counts times[i] times, each time real[i]; counts: whole numbers in proportion. All of them may be empty: 1.
    """

    starts: Any
    group: Any
    real: Any
    times: Any
    counts: Any
    scale: float  # grid units of 1


class Formulas(NamedTuple):
    """What a booster sums. table[channel]: the kind (see formulas.py), the row of the state, and a, b and c."""

    table: Any
    margin_row: int
    votes_row: int


class NodeArrays(NamedTuple):
    """Nodes of a growing tree, by number: rows order[low:], label k at starts[k]..starts[k+1] after that."""

    low: Any  # -1: there is no such node
    starts: Any


class LevelArrays(NamedTuple):
    """Splits of several nodes, by stored column. on_left[split, code]."""

    node: Any
    left: Any
    right: Any
    column: Any
    on_left: Any


class ShardArrays(NamedTuple):
    """The arrays of a shard that threads share while they work on all shards at once."""

    codes: Any
    packed: Any  # the codes as words of four columns
    rows: RowArrays
    state: Any
    grids: Any
    order: Any  # the rows of the growing tree
    spare: Any  # as many row numbers; or, as `leaf`, the leaf of every row
    leaf: Any
    nodes: NodeArrays


class AddedStump(NamedTuple):
    """A stump and what it adds to the state; no gains: there is none."""

    column: int  # as stored
    leaf_of_code: Any
    gains: Any  # [state, label, leaf]


class AddedTree(NamedTuple):
    """A tree, as `find_leaves` takes it, and what it adds to the state; no gains: there is none."""

    numbers: Any
    begins: Any
    column: Any
    on_left: Any
    children: Any
    gains: Any


class Tiles(NamedTuple):
    """How the cells of a histogram pass are divided into tasks: by shards and by stored words of columns."""

    by_rows: int
    by_columns: int


class NodeRows(NamedTuple):
    """Rows of some nodes of a growing tree. Vectors that a criterion does not need are empty."""

    place: Any  # of its node, among those nodes
    codes: Any  # [row, word of four columns], or [row, column] of wider codes
    label: Any
    weight: Any  # on the grid
    second: Any  # weight x target on the grid
    share: Any  # the target, from 0 to 1
    count: Any  # how many rows it stands for


class TargetWeights(NamedTuple):
    """The weight exp(floor - log) x kappa x real of every row, which counts `times`, and its target from low to high.

    kappa, real and times may be empty: 1.
    """

    log: Any
    target: Any
    kappa: Any
    real: Any
    times: Any
    floor: float
    low: float
    high: float
    scale: float  # grid units of 1


class ColumnLayout(NamedTuple):
    """What a search needs of the bins of some columns. seen[column of the table, bin]: sample weights."""

    n_bins: Any
    has_missing: Any
    ordered: Any
    number: Any  # of the column in the table
    seen: Any


class SplitRule(NamedTuple):
    """How splits are chosen: a criterion of subtrees.hpp, the fewest rows, and how many columns are drawn."""

    criterion: int
    n_labels: int
    min_samples_leaf: int
    min_samples_split: int
    n_drawn: int  # at every split, by the key of its node; 0: all columns are used


class TargetRule(NamedTuple):
    """What a side earns on bins of the target: see target_search.hpp."""

    kind: int
    reach: Any
    targets: Any
    away: Any
    rate: float
    table: Any
    abstains: bool
