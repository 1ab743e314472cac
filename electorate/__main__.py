"""`python -m electorate` is the command `electorate`."""

from electorate.cli import entry

if __name__ == "__main__":
    entry()
