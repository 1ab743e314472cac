"""How the site is built: `make docs`."""

import electorate

project = "electorate"
author = "the electorate developers"
release = version = electorate.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc", "myst_parser"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
html_show_copyright = False
autosummary_generate = True
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
nitpicky = False
