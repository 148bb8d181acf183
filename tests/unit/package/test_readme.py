"""README.md of a package: words of the user are shown as they are."""

from __future__ import annotations

from html.parser import HTMLParser

import markdown
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.package.readme import _words

WORDS = st.text(
    st.one_of(
        st.sampled_from("<>&'\"/\\!-`={}%*_[]()#|~.1+ \n"),
        st.characters(codec="utf-8", exclude_categories=("Cc",)),
    ),
    min_size=1,
)


class Reader(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@given(WORDS)
def test_words_make_no_markup(words: str) -> None:
    """As another implementation of Markdown reads it."""
    found = Reader(markdown.markdown(f"is {_words(words)} so"))
    assert found.tags == ["p"]


@pytest.mark.parametrize(
    "words", ["<img src=x>", "[a](javascript:b)", "`a`", "**a**", "a_b_c", "&lt;", "a\n# b"]
)
def test_they_are_shown_as_they_are(words: str) -> None:
    found = Reader(markdown.markdown(f"is {_words(words)} so"))
    assert found.text == f"is {' '.join(words.split())} so"
