"""Write digests.json: python -m tests.golden.record, on a commit whose models are known to be right.

With --new, records that are there stay: for an algorithm that has just been added. cases.py states when a record may
change.
"""

import json
import sys

import numpy as np

from tests.golden.cases import DIGESTS, cases, fit, stored


def write(only_new: bool) -> str:
    """Write the records of all cases, or add those that are missing; return what was done, in words."""
    known = stored()["records"] if only_new else {}
    if only_new and stored()["numpy"] != np.__version__:
        raise SystemExit(f"the records were made with NumPy {stored()['numpy']}: install it, or record all anew")
    records = {name: known.get(name) or fit(name, case) for name, case in cases().items()}
    text = json.dumps({"numpy": np.__version__, "records": records}, indent=0, sort_keys=True)
    DIGESTS.write_text(text + "\n")
    return f"{len(records)} records in {DIGESTS}, {len(records) - len(known)} of them new"


if __name__ == "__main__":
    print(write("--new" in sys.argv))
