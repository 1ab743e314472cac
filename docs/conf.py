"""How the site is built: `make docs`."""

import os
from importlib.util import find_spec
from pathlib import Path

import electorate

os.environ["MPLBACKEND"] = "Agg"
project = "electorate"
author = "the electorate developers"
release = version = electorate.__version__
extensions = [
    *("sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc", "myst_parser"),
    *("sphinx_design", "sphinx_gallery.gen_gallery"),
]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
exclude_patterns = ["_build", "gallery/README.rst"]
templates_path = ["_templates"]
nitpicky = False

autosummary_generate = True
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

# One file that needs no network: MathJax with its fonts as SVG.
MATHJAX = Path(str(find_spec("sphinx-mathjax-offline").origin)).parent / "static" / "mathjax" / "tex-svg.js"
mathjax_path = MATHJAX.name

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "image_srcset": ["2x"],
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
    "doc_module": ("electorate",),
    "backreferences_dir": None,
    "capture_repr": (),
}

html_theme = "pydata_sphinx_theme"
html_title = "electorate"
html_show_copyright = False
html_show_sourcelink = False
html_static_path = ["_static", str(MATHJAX)]
html_css_files = ["site.css"]
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
# Pages at the top of the tree have nothing to list in the left sidebar.
html_sidebars = {name: [] for name in ("index", "getting_started", "installation", "glossary", "search", "genindex")}
