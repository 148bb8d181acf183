"""What any of the REST interfaces answers."""

from __future__ import annotations

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


def pointer(place: tuple[int | str, ...]) -> str:
    """JSON pointer (RFC 6901) of a place that pydantic names."""
    words = (str(word) for word in place if word != "[key]")
    return "".join("/" + word.replace("~", "~0").replace("/", "~1") for word in words)
