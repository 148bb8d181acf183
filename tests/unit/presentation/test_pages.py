"""Pages: data in a script element, links and anchors, whatever the words are."""

from __future__ import annotations

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.records.page import Page

from sfcperf.presentation.pages import _chart_data, _environment, _words

SPECIAL = st.sampled_from("<>&'\"/\\!-\u2028`={}%;:scriptyle\x1b")
WORDS = st.text(st.one_of(SPECIAL, st.characters(codec="utf-8")))
DATA = st.recursive(WORDS, lambda inner: st.lists(inner) | st.dictionaries(WORDS, inner))


@given(DATA)
def test_data_of_charts_stays_data(data: object) -> None:
    found = Page(str(_chart_data({"chart": data})) + "<i>after</i>")
    assert found.tags == ["script", "i"]
    assert found.text == "after"
    assert found.data == {"chart": data}


@given(WORDS.filter(lambda text: "\r" not in text and "\x00" not in text))
def test_words_in_text_and_attributes_stay_words(words: str) -> None:
    environment = _environment("sfcperf.report")
    source = '<p title="{{ w }}" id="{{ anchor(w) }}"><a href="{{ w | link }}">{{ w }}</a></p>'
    page = environment.from_string(source).render(w=words)
    (p, title), (a, link) = Page(page).elements
    assert (p, a) == ("p", "a")
    assert title["title"] == words
    assert set(title) == {"title", "id"}
    assert set(link) == {"href"}
    assert str(link["href"]).startswith("./")
    assert "".join(Page(page).content["text"]) == words
    with pytest.raises(jinja2.UndefinedError):
        environment.from_string("{{ missing }}").render()


@given(WORDS)
def test_code_in_words_is_marked(text: str) -> None:
    """Between back-ticks; nothing else of the words becomes an element."""
    page = Page(f"<p>{_words(f'{text} `sfcperf run` {text}')}</p>")
    assert set(page.tags) <= {"p", "code"}
    assert "".join(page.content["text"]).replace("`", "") == f"{text} sfcperf run {text}".replace(
        "`", ""
    )
    assert _words("1 < 2 `sfcperf clean`.") == "1 &lt; 2 <code>sfcperf clean</code>."
