"""What any of the REST interfaces answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """An answer, whose fields have their docstrings in OpenAPI."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class ProblemAnswer(Answer):
    """What is wrong, and where."""

    where: str
    """JSON pointer: into the body, or (409) into the state."""
    message: str
    allowed: str | None = None


class Refusal(Answer):
    """Why a request was not fulfilled; nothing was changed."""

    error: str
    problems: list[ProblemAnswer] = []


Responses = dict[int | str, dict[str, Any]]
"""What paths may answer besides their results, for OpenAPI."""
OF_ALL: Mapping[int, str] = {401: "No valid token", 422: "The request is wrong"}
"""Refusals of any path."""
OF_BODIES: Mapping[int, str] = {411: "No Content-Length", 413: "Too large"}
"""Refusals of a path that takes a body."""


def refusals(descriptions: Mapping[int, str]) -> Responses:
    """Describe refusals for OpenAPI, sorted by status. `descriptions`: status -> its meaning."""
    return {
        status: {"model": Refusal, "description": text}
        for status, text in sorted(descriptions.items())
    }


def pointer(place: tuple[int | str, ...]) -> str:
    """JSON pointer (RFC 6901) of a place that pydantic names."""
    # pydantic appends `[key]` where the key of a mapping is wrong, not its value.
    words = (str(word) for word in place if word != "[key]")
    return "".join("/" + word.replace("~", "~0").replace("/", "~1") for word in words)
