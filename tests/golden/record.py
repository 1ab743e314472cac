"""Write digests.json: python -m tests.golden.record, on a commit whose models are known to be right.

With --new, digests that are there stay: for an algorithm that has just been added.
"""

import json
import sys

from electorate.engines.dask import fingerprint
from tests.golden.cases import DIGESTS, cases, fit, stored

if __name__ == "__main__":
    known = stored()["records"] if "--new" in sys.argv else {}
    found = {name: known.get(name) or fit(case) for name, case in cases().items()}
    text = json.dumps({"made_on": fingerprint(), "records": found}, indent=0, sort_keys=True)
    DIGESTS.write_text(text + "\n")
    print(f"{len(found)} records in {DIGESTS}, {len(found) - len(known)} of them new")
