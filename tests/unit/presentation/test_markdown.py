"""Text of users in Markdown is shown as it is, and makes no markup."""

from __future__ import annotations

import markdown
from hypothesis import given
from hypothesis import strategies as st
from support.records.page import Page

from sfcperf.presentation.markdown import words

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


def test_code_is_code_and_all_else_is_shown_as_it_is() -> None:
    found = Page(markdown.markdown(words("a `b*c*` d_e_f `", code=True)))
    assert found.tags == ["p", "code"]
    assert "".join(found.content["text"]) == "a b*c* d_e_f `"


def test_they_are_shown_as_they_are() -> None:
    for text in ("<img src=x>", "[a](javascript:b)", "`a`", "**a**", "a_b_c", "&lt;", "a\n# b"):
        found = Page(markdown.markdown(f"is {words(text)} so"))
        assert "".join(found.content["text"]) == f"is {' '.join(text.split())} so"
