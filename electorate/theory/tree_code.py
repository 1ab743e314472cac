"""Trees as coded voters: their branches, the votes of their leaves, and a prefix code for their shapes.

A branch whose children are two leaves names a pair of votes, as a rule does; a leaf beside a branch names its own. So a
tree shares what it is paid for (columns, cuts, pairs of votes, weights) with the rules of the same vote.
"""

from collections.abc import Iterator
from typing import NamedTuple, Union


class Branch(NamedTuple):
    """A test by its number, and what follows where it holds and where it fails: a branch, or the class of a leaf."""

    test: int
    holds: Union["Branch", int]
    fails: Union["Branch", int]


class CodedTree(NamedTuple):
    """A tree of depth 2 or more: each leaf votes for a class, or abstains. weight: a place on the grid."""

    root: Branch
    weight: int

    @property
    def tests(self) -> tuple[int, ...]:
        return tuple(branch.test for branch in branches(self.root))

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The votes of leaves that are children of one branch."""
        return tuple(
            (branch.holds, branch.fails)
            for branch in branches(self.root)
            if isinstance(branch.holds, int) and isinstance(branch.fails, int)
        )

    @property
    def single_leaves(self) -> tuple[int, ...]:
        """The votes of leaves next to a branch."""
        found = []
        for branch in branches(self.root):
            leaves = [child for child in branch[1:] if isinstance(child, int)]
            found += leaves if len(leaves) == 1 else []
        return tuple(found)


def branches(root: Branch) -> Iterator[Branch]:
    """From the root, the side where a test holds first."""
    yield root
    for child in root[1:]:
        if isinstance(child, Branch):
            yield from branches(child)


def depth(node: Branch | int) -> int:
    return 1 + max(depth(node.holds), depth(node.fails)) if isinstance(node, Branch) else 0


def shape_bits(root: Branch, max_depth: int) -> float:
    """The root has one branch below it (1/4 for each side) or two (1/2); a branch further down has none with 1/2.

    At the largest depth a branch has two leaves, which takes no bits.
    """
    if depth(root) > max_depth:
        raise ValueError(f"a tree of depth {depth(root)} has no code of trees up to depth {max_depth}")
    return _below(root, max_depth) - 1  # it has one or two, which halves what is possible


def _below(branch: Branch, left: int) -> float:
    """None: 1/2; one, for each side: 1/8; two: 1/4."""
    if left == 1:
        return 0.0
    further = [child for child in branch[1:] if isinstance(child, Branch)]
    return (1.0, 3.0, 2.0)[len(further)] + sum(_below(child, left - 1) for child in further)
