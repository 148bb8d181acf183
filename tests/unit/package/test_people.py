"""Authors and licences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.errors import InputError
from sfcperf.package.people import Author, author, is_orcid, licence


@pytest.mark.parametrize(
    "orcid", ["0000-0002-1825-0097", "0000-0001-5109-3700", "0000-0002-1694-233X"]
)
def test_orcids_from_orcid_org(orcid: str) -> None:
    """The examples of ORCID's own documentation."""
    assert is_orcid(orcid)


@given(st.integers(0, 15), st.sampled_from("0123456789"))
def test_a_mistyped_orcid_is_found(place: int, digit: str) -> None:
    digits = list("0000000218250097")
    wrong = digits[place] != digit
    digits[place] = digit
    text = "-".join("".join(digits[i : i + 4]) for i in range(0, 16, 4))
    assert is_orcid(text) is not wrong


def test_authors() -> None:
    assert author("Ada Lovelace") == Author("Ada Lovelace")
    assert author("Ada <0000-0002-1825-0097>") == Author("Ada", "0000-0002-1825-0097")
    assert author("Ada <https://orcid.org/0000-0002-1825-0097>").orcid == "0000-0002-1825-0097"


@pytest.mark.parametrize(
    ("name", "given", "family"),
    [
        ("Ada Lovelace", "Ada", "Lovelace"),
        ("Augusta Ada King", "Augusta Ada", "King"),
        ("van Tu, Nguyen", "Nguyen", "van Tu"),
        ("Plato", "", "Plato"),
        (", Ada", ",", "Ada"),
    ],
)
def test_names(name: str, given: str, family: str) -> None:
    assert (Author(name).given_name, Author(name).family_name) == (given, family)


@pytest.mark.parametrize("text", ["", "<0000-0002-1825-0097>", "Ada <ada@example.org>", "A\nB"])
def test_what_is_no_author(text: str) -> None:
    with pytest.raises(InputError):
        author(text)


def test_licences() -> None:
    assert licence(None) is None
    assert licence("CC-BY-4.0") == "CC-BY-4.0"
    for text in ("", "CC BY", "https://example.org", "../x"):
        with pytest.raises(InputError):
            licence(text)
