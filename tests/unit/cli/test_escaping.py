"""Text of others on a terminal: shown, never obeyed."""

from __future__ import annotations

import io
import json
import re
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from sfcperf.cli.terminal.console import console
from sfcperf.cli.terminal.escaping import escaped, escaped_streams
from sfcperf.cli.terminal.text import shown

HOSTILE = st.text(
    st.one_of(
        st.sampled_from("\x1b\x07\x08\r\x9b\x7f\x00\u202e\u2066\u2028\ud800[]m2J;é=\n\t"),
        st.characters(),
    )
)
_SGR = re.compile(r"\x1b\[[0-9;]*m")


def acts(text: str) -> bool:
    """Judged by Unicode's own tables: a control, a separator of lines or a change of direction."""
    return any(
        unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(c) in ("RLO", "LRO", "RLE", "LRE", "RLI", "LRI", "PDF", "PDI")
        for c in text.replace("\n", "").replace("\t", "")
    )


@given(HOSTILE)
def test_text_cannot_act(text: str) -> None:
    assert not acts(escaped(text))
    assert escaped(escaped(text)) == escaped(text)
    assert len(shown(text).splitlines()) <= 1


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Cf", "Zl", "Zp"))))
def test_words_stay_as_they_are(text: str) -> None:
    assert escaped(text) == text


@given(HOSTILE.filter(lambda text: not re.search("[\ud800-\udfff]", text)))
def test_json_keeps_its_value(text: str) -> None:
    assert json.loads(escaped(json.dumps(text, ensure_ascii=False))) == text


@pytest.mark.parametrize("colours", [False, True])
def test_no_way_to_print_goes_past_it(monkeypatch: pytest.MonkeyPatch, colours: bool) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    if colours:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
    with escaped_streams():
        print("\x1b[2J")
        sys.stdout.write("\x1b]0;title\x07")
        sys.stdout.writelines(["\x9b2J", "\u202e"])
        table = Table("\x1b[2Ja")
        table.add_row(Text("\x1b[8mhidden\x1b[0m", style="red"))
        table.add_row("b\x07\x9b")
        console().print(table)
    assert sys.stdout is out
    text = out.getvalue()
    assert not acts(_SGR.sub("", text))
    # The table has measured the text as it was, and may cut it.
    assert "\\u001b[8mh" in text
    # Colours of our own work.
    assert bool(_SGR.search(text)) is colours


def test_only_the_console_makes_consoles() -> None:
    """Those of others would write their colours as text."""
    sources = Path(sys.modules["sfcperf.cli"].__file__ or "").parent.rglob("*.py")
    makers = [path.name for path in sources if re.search(r"\bConsole\(", path.read_text())]
    assert not makers
