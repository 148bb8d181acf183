"""Targets and secrets, by options and in a workflow: what is accepted, and what is said without
saying the secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keyring
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keyring.errors import KeyringError

from sfcperf.elasticsearch import secrets
from sfcperf.elasticsearch.publisher import ElasticsearchPublisher
from sfcperf.elasticsearch.target import Target, of_parameters, target
from sfcperf.errors import InputError
from sfcperf.workflow.validate import Validator

Ring = dict[tuple[str, str], str]
"""Service and user -> secret."""


@pytest.fixture(autouse=True)
def ring(monkeypatch: pytest.MonkeyPatch) -> Ring:
    """The keyring."""
    kept: Ring = {}
    monkeypatch.setattr(keyring, "get_password", lambda *name: kept.get(name))
    return kept


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("https://es.lab", "https://es.lab:443"),
        ("http://es.lab", "http://es.lab:80"),
        ("https://ES.lab:9200/", "https://es.lab:9200"),
        ("https://[::1]:9200", "https://[::1]:9200"),
        ("https://es.lab:9200/behind/proxy", "https://es.lab:9200/behind/proxy"),
    ],
)
def test_urls_in_one_spelling(given: str, url: str) -> None:
    assert target([given, given]).urls == (url,)


@pytest.mark.parametrize("url", ["", "es.lab:9200", "ftp://es.lab", "https://", "//x"])
@pytest.mark.parametrize("more", ["", "?a=b"])
def test_what_is_no_url_is_refused(url: str, more: str) -> None:
    with pytest.raises(InputError, match="not the URL of a server"):
        target([url + more])


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=6))
def test_a_secret_in_a_url_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(InputError) as refused:
        target([f"https://user:{secret}@es.lab:9200"])
    # A secret may be a part of the message's own words, were it not as long as this.
    assert f":{secret}@" not in str(refused.value)


def test_options_are_checked(tmp_path: Path) -> None:
    for options in (
        {"prefix": "Upper"},
        {"prefix": "-x"},
        {"prefix": "a/b"},
        {"fingerprint": "ab:cd"},
        {"ca": tmp_path / "none.pem"},
    ):
        with pytest.raises(InputError):
            target(["https://es.lab"], **options)  # type: ignore[arg-type]


def test_a_target_survives_being_written(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.touch()
    parameters = {
        "url": ["https://a:1", "https://b:1"],
        "ca": "ca.pem",
        "fingerprint": ":".join(["AB"] * 32),
    }
    made = of_parameters(parameters, tmp_path)
    assert made == Target(("https://a:1", "https://b:1"), "sfcperf", str(ca), "ab" * 32, False)
    assert Target.of(made.document()) == made


def test_secrets_come_from_the_environment_first(ring: Ring) -> None:
    place = target(["https://es.lab:9200"])
    ring[secrets.SERVICE, "https://es.lab:9200"] = "key of the ring"
    ring[secrets.SERVICE, "me@https://es.lab:9200"] = "word of the ring"
    assert secrets.credentials(place, {}) == {"api_key": "key of the ring"}
    assert secrets.credentials(place, {secrets.API_KEY: "k"}) == {"api_key": "k"}
    user = {secrets.USER: "me"}
    assert secrets.credentials(place, user) == {"basic_auth": ("me", "word of the ring")}
    both = {**user, secrets.PASSWORD: "w"}
    assert secrets.credentials(place, both) == {"basic_auth": ("me", "w")}


def test_half_a_secret_is_an_error_and_no_keyring_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = target(["https://es.lab:9200"])
    with pytest.raises(InputError, match="no password"):
        secrets.credentials(place, {secrets.USER: "me"})
    with pytest.raises(InputError, match="no user"):
        secrets.credentials(place, {secrets.PASSWORD: "w"})

    def broken(*_: str) -> None:
        raise KeyringError("no bus")

    monkeypatch.setattr(keyring, "get_password", broken)
    assert secrets.credentials(place, {}) == {}


@pytest.mark.parametrize("key", ["a key", "key\n", "schlüssel"])
def test_what_no_header_can_hold_is_no_key(key: str) -> None:
    with pytest.raises(InputError, match="not an API key") as refused:
        secrets.credentials(target(["https://es.lab:9200"]), {secrets.API_KEY: key})
    assert key not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("http://es.lab:9200", True),
        ("http://127.0.0.1.es.lab:9200", True),
        ("http://localhost.es.lab:9200", True),
        ("http://127.0.0.1:9200", False),
        ("http://localhost:9200", False),
        ("https://es.lab:9200", False),
    ],
)
def test_no_secret_goes_in_the_clear(url: str, refused: bool) -> None:
    key = {secrets.API_KEY: "k"}
    if refused:
        with pytest.raises(InputError, match="unencrypted"):
            secrets.credentials(target([url]), key)
    else:
        assert secrets.credentials(target([url]), key)
    assert secrets.credentials(target([url], insecure=True), key) == {"api_key": "k"}


@pytest.mark.parametrize(
    "parameters",
    [
        {"url": "https://es.lab:9200"},
        {"url": ["https://a:9200", "https://b:9200"], "ca": "ca.pem", "prefix": "lab-1"},
        {"url": "https://es.lab", "fingerprint": "ab" * 32, "patience_s": 0, "insecure": True},
    ],
)
def test_accepted(parameters: dict[str, Any]) -> None:
    assert Validator(ElasticsearchPublisher.parameters).misfits(parameters) == []


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"url": "es.lab:9200"},
        {"url": "https://me:geheim@es.lab"},
        {"url": "https://es.lab", "password": "geheim"},
        {"url": "https://es.lab", "api_key": "geheim"},
        {"url": "https://es.lab", "prefix": "Lab"},
    ],
)
def test_refused_without_repeating_a_secret(parameters: dict[str, Any]) -> None:
    found = Validator(ElasticsearchPublisher.parameters).misfits(parameters)
    assert found
    assert "geheim" not in str(found)
