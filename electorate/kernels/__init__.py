"""Kernels: compiled loops over arrays, and their twins in NumPy, in `reference/`: the same files, names and signatures.

The first use of a kernel loads the extension module for this CPU (core/), so that `import electorate` stays light. With
the environment variable ELECTORATE_KERNELS=reference the twins are used instead: slow, for debugging.
"""

import os
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

FILES = {
    "values": "mix hash_values fold fold_rows tally select cuts first_infinite",
    "special": "exp log log_total exp_of log_of",
    "codes": "encode encode_array join lookup climb",
    "weights": "evaluate advance",
    "histograms": "quantise histogram histogram_of label_histograms node_histograms add_up spread unpack",
    "partition": "split_rows partition_nodes sum_nodes sum_signs add_gains",
    "search": "best_threshold best_common_threshold cheapest_threshold cost_at_best send_left purity is_pure "
    "purest_threshold best_subset purest_subset",
    "target_search": "side_edge best_target_threshold best_mean_threshold best_window best_windows leaf_medians",
    "leaf_targets": "weigh_targets sum_targets mass_up_to targets_between weigh_near targets_by_leaf",
    "drawing": "fold_key draw_columns",
    "subtrees": "grow_subtrees",
    "leaves": "collect_rows find_leaves add_leaf_gains add_tree",
    "rounds": "advance_all split_all boost_stumps",
    "node_search": "search_nodes",
    "votes": "walk walk_ordered cross_out vote tree_outputs",
    "leaf_sums": "add_leaves",
    "median": "vote_quantiles place_quantiles insert_votes sorted_quantiles",
    "products": "correlate_signs count_differences correlate_reals inner_products squared_distances",
    "quad": "quad_weight quad_drop quad_best lasso_gap quad_gap quad_rounds quad_replay",
}
FILE_OF = {name: file for file, names in FILES.items() for name in names.split()}
LEVELS = ("v2", "v3", "v4")  # of x86-64; other processors have the one module "base"


@cache
def compiled() -> Any:
    """The extension module for this processor, or for the level that the environment variable ELECTORATE_CPU names."""
    found = levels()
    if not found:
        raise ImportError(
            "there are no compiled kernels for this processor: install electorate again (in a checkout: make core), or "
            "set ELECTORATE_KERNELS=reference to use NumPy alone, which is slow. An x86-64 processor needs SSE4.2."
        )
    chosen = os.environ.get("ELECTORATE_CPU") or found[-1]
    if chosen not in found:
        raise ValueError(f"ELECTORATE_CPU is {chosen!r}: this processor can run {', '.join(found)}")
    return import_module(f"electorate.kernels._core_{chosen}")


def levels() -> tuple[str, ...]:
    """The levels of x86-64 that this CPU has and kernels are compiled for, the newest last; ("base",) on other CPUs."""
    with suppress(ModuleNotFoundError):
        mine = LEVELS[: max(0, import_module("electorate.kernels._core_v2").cpu_level() - 1)]
        return tuple(level for level in mine if find_spec(f"electorate.kernels._core_{level}"))
    with suppress(ModuleNotFoundError):
        import_module("electorate.kernels._core_base")
        return ("base",)
    return ()


def __getattr__(name: str) -> Any:
    if name not in FILE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    chosen = os.environ.get("ELECTORATE_KERNELS") or "native"
    if chosen not in ("native", "reference"):
        raise ValueError(f"ELECTORATE_KERNELS is {chosen!r}: set it to 'native' or 'reference'")
    file = import_module(f"electorate.kernels.reference.{FILE_OF[name]}") if chosen == "reference" else compiled()
    kernel = getattr(file, name)
    globals()[name] = kernel
    return kernel
