"""The pages that `make docs` builds, by Sphinx, of the Markdown and the docstrings that are here.

The source folder is the checkout, so that links between pages work on a plain git host, too.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

import docstrings  # noqa: E402

import fedbn  # noqa: E402

project = "fedbn"
author = "The fedbn developers"
version = release = fedbn.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "core/README.md",
    "deploy/README.md",
    "docs/**",
    "examples/plugin/README.md",
    "simulations/**/README.md",
]
exclude_patterns = [".*", "build", "results", "docs/site", "docs/templates"]
suppress_warnings = ["ref.python"]  # annotations name `Answer`, of which there are two
templates_path = ["docs/templates"]

myst_heading_anchors = 4
myst_links_external_new_tab = False
nb_ipywidgets_js = {}
os.environ["TQDM_DISABLE"] = "1"  # a slow machine would leave progress bars in the notebooks
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries = False

html_theme = "furo"
html_title = f"fedbn {release}"
html_baseurl = ""
html_copy_source = False
html_show_sphinx = False
html_static_path = ["site/fedbn.css"]
html_css_files = ["fedbn.css"]
html_extra_path = ["site/index.html"]
html_theme_options = {"navigation_with_keys": True}
pygments_style = "tango"


def setup(app: Any) -> None:
    """Docstrings are in the form of this house (`docs/docstrings.py`)."""
    app.connect("autodoc-process-docstring", docstrings.process)
