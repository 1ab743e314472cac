"""Kernels: compiled functions of arrays and numbers, one file per subject, and their NumPy twins in `reference/`.

The first use of a kernel imports its file, and with it Numba, so that `import electorate` stays light. With the
environment variable ELECTORATE_KERNELS=reference the twins are used instead: slow, for debugging without a compiler.
"""

import os
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
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
    "rounds": "advance_all split_all",
    "node_search": "search_nodes",
    "votes": "walk walk_ordered cross_out vote tree_outputs",
    "leaf_sums": "add_leaves",
    "median": "vote_quantiles place_quantiles insert_votes sorted_quantiles",
    "products": "correlate_signs count_differences correlate_reals inner_products squared_distances",
    "quad": "quad_weight quad_drop quad_best lasso_gap quad_gap quad_rounds quad_replay",
}
FILE_OF = {name: file for file, names in FILES.items() for name in names.split()}
PACKAGES = {"numba": "electorate.kernels", "reference": "electorate.kernels.reference"}
WITHOUT_NUMBA = {"rounds", "node_search"}  # files whose kernels use native threads
LEVELS = ("v2", "v3", "v4")  # of x86-64; other processors have the one module "base"


@cache
def compiled() -> Any:
    """The extension module for this processor, or for the level that the environment variable ELECTORATE_CPU names.

    None where none is built.
    """
    found = levels()
    chosen = os.environ.get("ELECTORATE_CPU") or (found[-1] if found else "")
    if chosen and chosen not in found:
        there = (
            f"this processor can run {', '.join(found)}"
            if found
            else "there are no compiled kernels for this processor"
        )
        raise ValueError(f"ELECTORATE_CPU is {chosen!r}: {there}")
    return import_module(f"electorate.kernels._core_{chosen}") if chosen else None


def levels() -> tuple[str, ...]:
    """The levels of x86-64 that this CPU has and kernels are compiled for, the newest last; ("base",) on other CPUs."""
    with suppress(ModuleNotFoundError):
        mine = LEVELS[: max(0, import_module("electorate.kernels._core_v2").cpu_level() - 1)]
        return tuple(level for level in mine if find_spec(f"electorate.kernels._core_{level}"))
    with suppress(ModuleNotFoundError):
        import_module("electorate.kernels._core_base")
        return ("base",)
    return ()


def are_compiled() -> bool:
    """Whether compiled trees are in the cache, so that no first fit compiles for a minute."""
    chosen = os.environ.get("ELECTORATE_KERNELS") or "numba"
    return chosen == "reference" or any((Path(__file__).parent / "__pycache__").glob("subtrees.*.nbc"))


def __getattr__(name: str) -> Any:
    if name not in FILE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    chosen = os.environ.get("ELECTORATE_KERNELS") or "native"
    if chosen == "numba" and FILE_OF[name] in WITHOUT_NUMBA:
        chosen = "native"
    kernel = getattr(compiled(), name, None) if chosen == "native" else None
    if kernel is None:
        package = PACKAGES["reference" if chosen == "reference" or FILE_OF[name] in WITHOUT_NUMBA else "numba"]
        kernel = getattr(import_module(f"{package}.{FILE_OF[name]}"), name)
    globals()[name] = kernel
    return kernel
