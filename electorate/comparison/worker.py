"""A worker process: reads numbers of cells from its input, runs them, writes their files, says so.

`python -m electorate.comparison.worker FOLDER`, started by workers.py. It ends with its input.
"""

import sys

from electorate.comparison.cells import run
from electorate.comparison.journal import Failed, Journal
from electorate.comparison.plan import protocol_of


def main(folder: str) -> None:
    journal = Journal(folder)
    plan = journal.read_plan()
    assert plan is not None, "the folder has no plan"
    protocol, cells = protocol_of(plan)
    rows = journal.rows()
    says, sys.stdout = sys.stdout, sys.stderr  # what estimators print must not look like an answer
    for line in sys.stdin:
        number = int(line)
        try:
            journal.put(number, run(cells[number], rows, protocol))
        except Exception as error:  # an estimator's own affair; the table says so
            journal.put(number, Failed(f"{type(error).__name__}: {error}"[:500]))
        print(number, file=says, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
