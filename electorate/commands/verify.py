"""`electorate verify`: checks a model file in full and prints its contents, as text or JSON."""

import argparse
import json
import sys
from typing import Any

from electorate.commands.options import add_model
from electorate.text import literal

EXAMPLES = """examples:
  electorate verify adult.model
  electorate verify adult.model --json | jq .digest
The hash in a file detects damage, not forgery: compare the digest with one from a source that you trust."""


def add_options(one: argparse.ArgumentParser) -> None:
    add_model(one)
    one.add_argument("--digest", metavar="SHA256", help="the expected digest; the exit code is 1 if it differs")
    one.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    from electorate import load

    found = facts(load(options.model, foreign=options.trust))
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        lines = (f"{name.replace('_', ' ')}: {_text(value)}" for name, value in found.items() if value is not None)
        print("\n".join(lines))
    if options.digest is not None and options.digest.lower() != found["digest"]:
        print(f"electorate verify: the digest is not {literal(options.digest)}", file=sys.stderr)
        return 1
    print(f"{literal(options.model)}: the file is complete and undamaged", file=sys.stderr)
    return 0


def facts(model: Any) -> dict[str, Any]:
    names = getattr(model, "feature_names_in_", None)
    return {
        "estimator": type(model).__name__,
        "digest": model.digest_,
        **_parts(model),
        "columns": model.n_features_in_ if names is None else [str(name) for name in names],
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "cleaning": None if model.cleaning_ is None else model.cleaning_.describe(),
        "held_out": statement(getattr(model, "held_out_", None)),
    }


def _parts(model: Any) -> dict[str, Any]:
    """The voters, the models of a stack, or the name of a model of scikit-learn."""
    if hasattr(model, "weights_"):
        shares = zip(model.weights_.tolist(), model.names_, strict=True)
        voters = sum(len(getattr(one, "steps_", ())) for one in model.estimators_)
        return {"models": [f"{weight:.6g} {name}" for weight, name in shares], "voters": voters}
    if not hasattr(model, "steps_"):
        return {"model": model.summary_}
    return {"voters": len(model.steps_), "stop_reason": model.stop_reason_}


def statement(held_out: dict[str, Any] | None) -> str:
    """The result on held-out rows, in words."""
    if held_out is None:
        return "no result on held-out rows"
    trained = held_out.get("training_rows")
    fitted = "" if trained is None else f"fitted to {trained} rows; "
    if held_out.get("bound") is None:
        error = held_out.get("error")
        tested = "" if error is None else f"error {error:.6g} on {held_out.get('rows')} held-out rows; "
        return f"{fitted}{tested}no bound: {held_out.get('why')}"
    bound = f"with confidence {held_out.get('confidence')} the error is at most {held_out['bound']:.6f}"
    return f"{fitted}{held_out.get('errors')} errors on {held_out.get('rows')} held-out rows: {bound}"


def _text(value: Any) -> str:
    if isinstance(value, list):
        some = ", ".join(literal(item, 60) for item in value[:20])
        return some if len(value) <= 20 else f"{some} and {len(value) - 20} more"
    return literal(value, 500)
