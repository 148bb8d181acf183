"""LaTeX of a figure: names are text, whatever they contain."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.errors import InputError
from sfcperf.figures.figure_files import _check_name
from sfcperf.figures.latex import escape
from sfcperf.workflow.model import FigureSpec

MACROS = {
    "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textless": "<",
    "textgreater": ">", "textquotedbl": '"', "textbar": "|", "ldots": "…",
}  # fmt: skip
_TOKEN = re.compile(
    r"\\(?P<macro>[a-z]+)\{\}|\\(?P<symbol>[{}$&#_%])|\\,(?=\\%)|(?P<plain>[^\\{}$&#_%~^\"<>|])"
)


def printed(source: str) -> str | None:
    """What LaTeX prints, by a reading of our own; None for anything that is not only text."""
    text, at = "", 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None or (match["macro"] and match["macro"] not in MACROS):
            return None
        at = match.end()
        macro = MACROS[match["macro"]] if match["macro"] else " "
        text += match["symbol"] or match["plain"] or macro
    return text


@given(st.text(st.one_of(st.sampled_from('\\{}$&#_%~^<>"|\x1b\n ab1'), st.characters())))
def test_text_is_printed_as_it_is(text: str) -> None:
    # These are set in mathematics or as ligatures.
    plain = re.sub("[×µ²±≤≥–]", "", text)
    wanted = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in plain)
    assert printed(escape(plain)) == wanted


@pytest.mark.parametrize("name", ["a}\\x{y", "../a", "", ".", "-rf", "a$b", "a%b", "a\nb"])
def test_a_file_name_is_no_command(name: str) -> None:
    with pytest.raises(InputError, match="not a plain file name"):
        _check_name(FigureSpec(name, "", "ping", "rtt_us", "x", None, "", "", 1, "none"))
