"""Makes HTML pages of one file each, which opens offline and fetches nothing
(templates/page.html.j2)."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sfcperf.counts import count_text
from sfcperf.presentation.levels import level_text, scenario_name, scenario_text
from sfcperf.presentation.units import entry_text, metric_title
from sfcperf.presentation.wording import date_and_time, time_of_day

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

_HERE = "sfcperf.presentation"
_FILTERS = (
    count_text,
    date_and_time,
    entry_text,
    level_text,
    metric_title,
    scenario_name,
    scenario_text,
    time_of_day,
)
LONGEST_PLAIN = 500_000
"""Characters of chart data (JSON) beyond which it is compressed, to about a tenth."""


@dataclass(frozen=True)
class Chart:
    """A chart of a page: `data` that templates/page.js draws into the element `id`, and the words
    around it."""

    id: str
    title: str
    note: str
    data: Mapping[str, Any]


def render(
    package: str, template: str, drawn: Iterable[Chart], *, version: str = "", **context: Any
) -> str:
    """Return the HTML of a page from a template of `package`, with the data of the charts that are
    drawn in it.

    A style sheet of the template's name (`report.css` for `report.html.j2`) is added if there is
    one. A page with a `version` is live: it asks its server whether there is another version, by
    the header ETag.
    """
    page = _environment(package).get_template(template)
    script, library, live = _asset("page.js"), _plotly(), _asset("live.js")
    own_style = files(package).joinpath("templates", f"{template.partition('.')[0]}.css")
    return page.render(
        style=_asset("page.css") + (own_style.read_text("utf-8") if own_style.is_file() else ""),
        script=script,
        live_script=live,
        version=version,
        # The page's content security policy allows the scripts with these hashes, and no others.
        script_hashes=[_hash(code) for code in (script, library, *([live] if version else []))],
        plotly=_packed_plotly(),
        chart_data=_chart_data({chart.id: chart.data for chart in drawn}),
        **context,
    )


def trial_anchor(trial_id: str) -> str:
    """Return the anchor of a trial's row in the report."""
    return "trial-" + re.sub(r"[^A-Za-z0-9_.-]", "_", trial_id)


def relative_link(path: Path, folder: Path) -> str:
    """Return the link from a page in `folder` to a file."""
    return _link(Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix())


def _chart_data(data: Mapping[str, Any]) -> Markup:
    """Return the element with the data that the browser draws: JSON, compressed if it is long."""
    from jinja2.utils import htmlsafe_json_dumps
    from markupsafe import Markup

    kind, text = "application/json", str(htmlsafe_json_dumps(data))
    if len(text) > LONGEST_PLAIN:
        kind, text = "application/gzip", _packed(json.dumps(data).encode())
    return Markup(f'<script type="{kind}" id="report-data">{text}</script>')


@cache
def _environment(package: str) -> jinja2.Environment:
    """Return the template environment of a package. It escapes the user's words, and a name that a
    template uses but does not get is an error. It is cached, because compiling the templates takes
    longer than filling them in."""
    import jinja2

    found = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(name) for name in (package, _HERE)]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["anchor"] = trial_anchor
    found.filters |= {
        "pretty": lambda document: json.dumps(document, indent=2),
        "link": _link,
        "words": _words,
        **{function.__name__: function for function in _FILTERS},
    }
    return found


def _words(text: str) -> Markup:
    """Convert a sentence that a terminal prints as well to HTML: text between back-ticks becomes
    code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _link(path: object) -> str:
    """Return a relative link to a path. `./` and quoting keep it relative, also if a record has a
    path like `javascript:...`."""
    return f"./{quote(os.fsencode(str(path)))}"


@cache
def _asset(name: str) -> str:
    """Return the text of a template's script or style sheet."""
    return files(_HERE).joinpath("templates", name).read_text("utf-8")


@cache
def _plotly() -> str:
    """Return the script of the library plotly.js."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


@cache
def _packed_plotly() -> str:
    """Return the plotly library compressed, which the browser unpacks: a page has 2 MB instead of
    5 MB."""
    return _packed(_plotly().encode())


def _packed(content: bytes) -> str:
    """Compress a content by gzip, always to the same bytes, and return it in base64."""
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


def _hash(code: str) -> str:
    """Return the hash of a script, as a content security policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
