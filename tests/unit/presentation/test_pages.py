"""Pages: data in a script element, links and anchors, whatever the words are."""

from __future__ import annotations

import base64
import gzip
import json
from html.parser import HTMLParser

import jinja2
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.presentation.pages import _chart_data, _environment, _words, relative_link

SPECIAL = st.sampled_from("<>&'\"/\\!-\u2028`={}%;:scriptyle\x1b")
WORDS = st.text(st.one_of(SPECIAL, st.characters(codec="utf-8")))
DATA = st.recursive(WORDS, lambda inner: st.lists(inner) | st.dictionaries(WORDS, inner))


class Reader(HTMLParser):
    """Elements with their attributes, and their text, as the standard library reads them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


@given(DATA)
def test_data_of_charts_stays_data(data: object) -> None:
    found = Reader(str(_chart_data({"chart": data})) + "<i>after</i>")
    assert [tag for tag, _ in found.elements] == ["script", "i"]
    text = found.text.removesuffix("after")
    if found.elements[0][1]["type"] == "application/gzip":
        text = gzip.decompress(base64.b64decode(text)).decode()
    assert json.loads(text) == {"chart": data}


@given(WORDS.filter(lambda text: "\r" not in text and "\x00" not in text))
def test_words_in_text_and_attributes_stay_words(words: str) -> None:
    environment = _environment("sfcperf.report")
    source = '<p title="{{ w }}" id="{{ anchor(w) }}"><a href="{{ w | link }}">{{ w }}</a></p>'
    page = environment.from_string(source).render(w=words)
    (p, title), (a, link) = Reader(page).elements
    assert (p, a) == ("p", "a")
    assert title["title"] == words
    assert set(title) == {"title", "id"}
    assert set(link) == {"href"}
    assert str(link["href"]).startswith("./")
    assert Reader(page).text == words


def test_templates_escape_by_default() -> None:
    environment = _environment("sfcperf.report")
    assert environment.autoescape
    assert environment.undefined is jinja2.StrictUndefined
    assert relative_link.__module__ == "sfcperf.presentation.pages"


@given(WORDS)
def test_code_in_words_is_marked(text: str) -> None:
    """Between back-ticks; nothing else of the words becomes an element."""
    page = Reader(f"<p>{_words(f'{text} `sfcperf run` {text}')}</p>")
    assert {name for name, _ in page.elements} <= {"p", "code"}
    assert page.text.replace("`", "") == f"{text} sfcperf run {text}".replace("`", "")


def test_words_without_code() -> None:
    assert _words("1 < 2") == "1 &lt; 2"
    assert _words("see `sfcperf clean`.") == "see <code>sfcperf clean</code>."
