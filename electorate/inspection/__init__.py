"""Questions about fitted models, families of voters and tables."""

from electorate.registry import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
