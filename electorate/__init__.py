"""AdaBoost and its relatives as scikit-learn estimators: the public names.

Importing this module imports neither NumPy nor scikit-learn. Type checkers read __init__.pyi.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 (an old pip can install the package anyway)
    raise ImportError(f"electorate needs Python 3.11 or newer; this is Python {sys.version.split()[0]}")

from electorate.registry import lazy_names

__version__ = "0.1.0"
__getattr__, __dir__ = lazy_names(__name__)
