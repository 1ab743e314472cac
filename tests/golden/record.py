"""Write digests.json: python -m tests.golden.record, on a commit whose models are known to be right."""

import json

from electorate.engines.dask import fingerprint
from tests.golden.cases import DIGESTS, cases, fit

if __name__ == "__main__":
    found = {name: fit(case) for name, case in cases().items()}
    text = json.dumps({"made_on": fingerprint(), "records": found}, indent=0, sort_keys=True)
    DIGESTS.write_text(text + "\n")
    print(f"{len(found)} records in {DIGESTS}")
