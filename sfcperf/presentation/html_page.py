"""Parts of every page that sfcperf makes: templates, styles, scripts and their hashes."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sfcperf.report.charts import trial_anchor

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

_HERE = "sfcperf.presentation"
LONGEST_PLAIN = 500_000
"""Characters of JSON beyond which chart data is compressed, to about a tenth."""


def environment(package: str) -> jinja2.Environment:
    """Templates of a package, on top of those shared here: words of the user are escaped, a name
    that is missing is an error."""
    import jinja2

    found = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["anchor"] = trial_anchor
    found.filters["pretty"] = lambda document: json.dumps(document, indent=2)
    found.globals["chart_data"] = chart_data
    # `./` and quoting keep a link in the run folder whatever a record says (`javascript:...`).
    found.filters["link"] = lambda path: f"./{quote(str(path))}"
    return found


def chart_data(data: Mapping[str, Any]) -> Markup:
    """The element with what the browser draws: JSON, and compressed when that is long."""
    from jinja2.utils import htmlsafe_json_dumps
    from markupsafe import Markup

    kind, text = "application/json", str(htmlsafe_json_dumps(data))
    if len(text) > LONGEST_PLAIN:
        kind, text = "application/gzip", _packed(json.dumps(data).encode())
    return Markup(f'<script type="{kind}" id="report-data">{text}</script>')


def page_parts() -> dict[str, Any]:
    """What templates include: `style`, `script`, `plotly` (compressed), `script_hashes`."""
    script, library = asset(_HERE, "page.js"), _plotly()
    return {
        "style": asset(_HERE, "page.css"),
        "script": script,
        "plotly": library.packed,
        "script_hashes": [_hash(script.encode()), library.hash],
    }


@cache
def asset(package: str, name: str) -> str:
    """A file beside the templates of a package, as text."""
    return files(package).joinpath("templates", name).read_text("utf-8")


@dataclass(frozen=True)
class _Library:
    packed: str
    """gzip, base64."""
    hash: str


@cache
def _plotly() -> _Library:
    """plotly.js from its Python package, compressed: the browser unpacks it, and a page is 2 MB
    instead of 5 MB."""
    from plotly.offline import get_plotlyjs

    code = get_plotlyjs().encode()
    return _Library(_packed(code), _hash(code))


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


def _hash(code: bytes) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(code).digest()).decode()
