"""The code of trees: its probabilities sum to 1 over all trees, and it does not look at the order of voters."""

from itertools import permutations

import numpy as np
import pytest

from electorate.certified.description import (
    NOBODY,
    Branch,
    Code,
    CodedTree,
    CodedVoter,
    Literal,
    branches,
    depth,
    shape_bits,
)


def small_code(columns, bits, max_depth, max_terms=1, n_weights=1):
    """One test per place of `bits`; those of a column share its probability."""
    shares = np.full(max(columns) + 1, 1 / (max(columns) + 1))
    return Code(shares, np.array(columns), np.array(bits), 2, n_weights, max_terms, 0.0, max_depth)


def every_node(code, left):
    """All branches with at most so many levels; two leaves side by side differ."""
    leaves = [*range(code.n_classes), NOBODY]
    children = [*leaves, *(every_node(code, left - 1) if left > 1 else [])]
    return [
        Branch(test, a, b)
        for test in range(len(code.column))
        for a in children
        for b in children
        if isinstance(a, Branch) or isinstance(b, Branch) or a != b
    ]


@pytest.mark.parametrize(
    ("columns", "bits", "max_depth"), [([0, 0, 1], [1.0, 1.0, 0.0], 2), ([0], [0.0], 3), ([0, 1], [0.0, 0.0], 2)]
)
def test_kraft_with_equality(columns, bits, max_depth):
    """Every single voter, rule or tree, has a share of the probability of one voter, and nothing is left over."""
    code = small_code(columns, bits, max_depth)
    trees = [CodedTree(root, 0) for root in every_node(code, max_depth) if depth(root) > 1]
    rules = [CodedVoter((Literal(test, True),), *pair, 0) for test in range(len(columns)) for pair in code.vote_pairs]
    of_trees = sum(2.0 ** -code.bits([tree]) for tree in trees)
    assert of_trees == pytest.approx(Code.TREES / 6)  # of 1/6 for one voter
    assert of_trees + sum(2.0 ** -code.bits([rule]) for rule in rules) == pytest.approx(1 / 6)
    assert sum(2.0 ** -(code.bits([tree]) - shape_bits(tree.root, max_depth)) for tree in trees) > 1.2 * of_trees


def test_the_order_of_rules_and_trees_is_free():
    code = small_code([0, 0, 1], [1.0, 1.0, 0.0], 3, max_terms=2, n_weights=3)
    voters = [
        CodedTree(Branch(0, Branch(2, 0, 1), NOBODY), 1),
        CodedTree(Branch(1, Branch(0, 0, 1), Branch(2, Branch(1, 1, NOBODY), 0)), 1),
        CodedVoter((Literal(0, True), Literal(2, False)), 1, 0, 0),
        CodedVoter((Literal(1, True),), 0, NOBODY, 2),
    ]
    assert len({round(code.bits(order), 9) for order in permutations(voters)}) == 1


def test_branches_and_what_they_name():
    root = Branch(1, Branch(0, 0, 1), Branch(2, Branch(1, 1, NOBODY), 0))
    tree = CodedTree(root, 0)
    assert tree.tests == (1, 0, 2, 1)
    assert tree.pairs == ((0, 1), (1, NOBODY))
    assert tree.single_leaves == (0,)
    assert len(list(branches(root))) == 4
    assert depth(root) == 3
    with pytest.raises(ValueError, match="depth 3"):
        shape_bits(root, 2)


def test_rules_cost_no_more_where_there_are_no_trees():
    rule = CodedVoter((Literal(0, True),), 0, 1, 0)
    without, with_trees = (small_code([0], [0.0], max_depth) for max_depth in (1, 2))
    assert with_trees.bits([rule]) - without.bits([rule]) == pytest.approx(-np.log2(0.75))
