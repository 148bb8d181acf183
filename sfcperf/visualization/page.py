"""Parts of every page that sfcperf makes: templates, styles, scripts and their hashes."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sfcperf.visualization.charts import trial_anchor

if TYPE_CHECKING:
    import jinja2


def environment() -> jinja2.Environment:
    """Templates: words of the user are escaped, a name that is missing is an error."""
    import jinja2

    found = jinja2.Environment(
        loader=jinja2.PackageLoader("sfcperf.visualization"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["anchor"] = trial_anchor
    found.filters["pretty"] = lambda document: json.dumps(document, indent=2)
    # `./` and quoting keep a link in the run folder whatever a record says (`javascript:...`).
    found.filters["link"] = lambda path: f"./{quote(str(path))}"
    return found


def page_parts() -> dict[str, Any]:
    """What templates include: `style`, `script`, `plotly` (compressed), `script_hashes`."""
    script, library = asset("report.js"), _plotly()
    return {
        "style": asset("report.css"),
        "script": script,
        "plotly": base64.b64encode(library.compressed).decode(),
        "script_hashes": [_hash(script.encode()), library.hash],
    }


@cache
def asset(name: str) -> str:
    """A file beside the templates, as text."""
    return files("sfcperf.visualization").joinpath("templates", name).read_text("utf-8")


@dataclass(frozen=True)
class _Library:
    compressed: bytes
    hash: str


@cache
def _plotly() -> _Library:
    """plotly.js from its Python package, compressed: the browser unpacks it, and a page is 2 MB
    instead of 5 MB."""
    from plotly.offline import get_plotlyjs

    code = get_plotlyjs().encode()
    return _Library(gzip.compress(code, mtime=0), _hash(code))


def _hash(code: bytes) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(code).digest()).decode()
