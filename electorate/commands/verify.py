"""`electorate verify`: a model file checked in full, and what it holds, as JSON or for people."""

import argparse
import json
import sys
from typing import Any

from electorate.escape import literal

EXAMPLES = """examples:
  electorate verify adult.model
  electorate verify adult.model --json | jq .digest
The hash in a file finds damage, not forgery: compare the digest with one that came by another way."""


def add_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("model", help="a model file")
    one.add_argument("--digest", metavar="SHA256", help="the model it must be, or the exit code is 1")
    one.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> int:
    from electorate import load

    model = load(options.model)
    said = facts(model)
    if options.json:
        print(json.dumps(said, indent=1))
    else:
        print(
            "\n".join(f"{name.replace('_', ' ')}: {_shown(value)}" for name, value in said.items() if value is not None)
        )
    if options.digest is not None and options.digest.lower() != said["digest"]:
        print(f"electorate verify: this is another model than {literal(options.digest)}", file=sys.stderr)
        return 1
    print(f"{literal(options.model)}: the file is whole", file=sys.stderr)
    return 0


def facts(model: Any) -> dict[str, Any]:
    names = getattr(model, "feature_names_in_", None)
    held_out = getattr(model, "held_out_", None)
    return {
        "estimator": type(model).__name__,
        "digest": model.digest_,
        "voters": len(model.steps_),
        "stop_reason": model.stop_reason_,
        "columns": model.n_features_in_ if names is None else [str(name) for name in names],
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "held_out": statement(held_out),
    }


def statement(held_out: dict[str, Any] | None) -> str:
    if held_out is None:
        return "nothing is known of held-out rows"
    if held_out.get("bound") is None:
        error = held_out.get("error")
        tested = "" if error is None else f"error {error:.6g} on {held_out.get('rows')} held-out rows; "
        return f"{tested}no bound: {held_out.get('why')}"
    return (
        f"{held_out.get('errors')} errors on {held_out.get('rows')} held-out rows: with confidence "
        f"{held_out.get('confidence')} the error is at most {held_out['bound']:.6f}"
    )


def _shown(value: Any) -> str:
    if isinstance(value, list):
        some = ", ".join(literal(item, 60) for item in value[:20])
        return some if len(value) <= 20 else f"{some} and {len(value) - 20} more"
    return literal(value, 500)
