"""The command `electorate`: compare, fit, predict, score, explain, report, certify, verify, reproduce, data.

Results go to standard output, everything else to standard error. Exit codes: 0 success; 1 an error in the data, the
model or the disk; 2 an error in the command line; 130 interrupted; 141 the reader of the output has gone.
"""

import argparse
import os
import signal
import sys
import warnings
from importlib import import_module

from electorate import __version__
from electorate.text import literal, occupy_closed_descriptors, safe_messages, safe_results

COMMANDS = {
    "compare": "rank the boosting algorithms on a table and bound the error of the best",
    "fit": "train one algorithm on a table",
    "predict": "predict the rows of a table of any size with a model",
    "explain": "show the rules and importances of a model, and explain its prediction for a row",
    "score": "measure the errors of a model on a table, with confidence intervals",
    "report": "write a report about a model on labelled rows as one HTML file",
    "certify": "compute bounds on the risk of a model, with their assumptions",
    "verify": "check a model file and show its contents",
    "reproduce": "reproduce a table or a figure of the papers",
    "data": "list the papers' data sets, or fetch one",
}
EXPLAINED = (ValueError, TypeError, OSError, MemoryError, RuntimeError, ImportError)  # their texts say what to do


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    with safe_messages():
        return _run(given)


def _run(given: list[str]) -> int:
    command = given[0] if given and given[0] in COMMANDS else ""
    printed: set[str] = set()
    options = argparse.Namespace()

    def show_warning(message: Warning | str, *_: object, **__: object) -> None:
        """Print each warning once, as a message."""
        text = literal(_in_options(str(message), options), 2000)
        if text not in printed:
            printed.add(text)
            print(f"electorate {command}: {text}", file=sys.stderr)

    try:
        with safe_results():
            options = parser(command).parse_args(given)
            with warnings.catch_warnings():
                warnings.showwarning = show_warning
                return int(import_module(f"electorate.commands.{options.command}").run(options) or 0)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more is written at exit
        return 141
    except Exception as error:
        if getattr(options, "traceback", False):  # missing where the options could not be read
            raise
        text = str(error) or type(error).__name__
        if not isinstance(error, EXPLAINED):
            text = f"{type(error).__name__}: {' '.join(text.split())} (an error in electorate: --traceback shows where)"
        if isinstance(error, OSError) and error.strerror:
            text = (f"{error.filename}: " if error.filename else "") + error.strerror
        lines = [literal(line, 2000) for line in _in_options(text, options).split("\n")]
        print(f"electorate {command}: " + "\n".join(lines), file=sys.stderr)
        return 1


def _in_options(text: str, options: argparse.Namespace) -> str:
    from electorate.commands.options import in_options

    return in_options(text, options)


def entry() -> None:
    """Run the command of this process, and exit."""
    occupy_closed_descriptors()
    if hasattr(signal, "SIGTERM"):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # temporary files and workers are removed
    sys.exit(main())


def parser(command: str = "") -> argparse.ArgumentParser:
    """The parser of one command; without one, of the names of all: importing them takes longer than to show help."""
    top = argparse.ArgumentParser(
        prog="electorate",
        description="AdaBoost and its relatives: compare them on a table, train, predict, and bound the error.",
        epilog="electorate COMMAND --help describes each command.",
    )
    top.add_argument("--version", action="version", version=f"electorate {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    if command not in COMMANDS:
        for name, what in COMMANDS.items():
            commands.add_parser(name, help=what)
        return top
    module = import_module(f"electorate.commands.{command}")
    one = commands.add_parser(
        command,
        help=COMMANDS[command],
        description=COMMANDS[command][0].upper() + COMMANDS[command][1:] + ".",
        epilog=module.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_options(one)
    one.add_argument("--traceback", action="store_true", help="show where in the code an error occurred")
    return top


if __name__ == "__main__":
    entry()
