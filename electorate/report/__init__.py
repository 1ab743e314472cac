"""Reports in HTML, and displays drawn with matplotlib."""

from electorate.registry import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
