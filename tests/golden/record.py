"""Write digests.json: python -m tests.golden.record, on a commit whose models are known to be right.

With --new, digests that are there stay: for an algorithm that has just been added. With --linear-algebra, all stay but
those of models whose bits depend on the processor, which have a fingerprint of their own.
"""

import json
import sys

from electorate.engines.dask import fingerprint
from tests.golden.cases import BY_LINEAR_ALGEBRA, DIGESTS, cases, fit, stored

if __name__ == "__main__":
    before = stored()
    known = before["records"] if {"--new", "--linear-algebra"} & set(sys.argv) else {}
    if "--linear-algebra" in sys.argv:
        known = {name: one for name, one in known.items() if not BY_LINEAR_ALGEBRA.search(name)}
    found = {name: known.get(name) or fit(case) for name, case in cases().items()}
    made_on = before["made_on"] if known else fingerprint()
    linear = before["linear_algebra_made_on"] if "--new" in sys.argv else fingerprint()
    records = {"made_on": made_on, "linear_algebra_made_on": linear, "records": found}
    text = json.dumps(records, indent=0, sort_keys=True)
    DIGESTS.write_text(text + "\n")
    print(f"{len(found)} records in {DIGESTS}, {len(found) - len(known)} of them new")
