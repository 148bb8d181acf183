"""README.md of a package: words of the user are shown as they are."""

from __future__ import annotations

import markdown
from hypothesis import given
from hypothesis import strategies as st
from support.records.page import Page

from sfcperf.package.kit.markdown import words

WORDS = st.text(
    st.one_of(
        st.sampled_from("<>&'\"/\\!-`={}%*_[]()#|~.1+ \n"),
        st.characters(codec="utf-8", exclude_categories=("Cc",)),
    ),
    min_size=1,
)


@given(WORDS)
def test_words_make_no_markup(text: str) -> None:
    """As another implementation of Markdown reads it."""
    found = Page(markdown.markdown(f"is {words(text)} so"))
    assert found.tags == ["p"]


def test_they_are_shown_as_they_are() -> None:
    for text in ("<img src=x>", "[a](javascript:b)", "`a`", "**a**", "a_b_c", "&lt;", "a\n# b"):
        found = Page(markdown.markdown(f"is {words(text)} so"))
        assert "".join(found.content["text"]) == f"is {' '.join(text.split())} so"
