"""Threads at a board: the twins of kernels/team.py, for tasks that the caller runs alone."""

from electorate.kernels.team_board import CLOSED


def run_tasks(board, n_tasks, task, arguments):
    """task: a function of a number and the arguments."""
    for number in range(n_tasks):
        task(number, arguments)
    return True


def serve(board):
    """There is never a task: `reference/rounds.py` runs all of them in the calling thread."""


def close(board):
    board[CLOSED] = 1
