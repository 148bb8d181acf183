"""Tells clients of REST interfaces what is wrong with a request."""

# Without `from __future__ import annotations`: FastAPI reads the annotations of nested functions.

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from sfcperf.rest.answers import ProblemAnswer, Refusal, pointer

_NO_JSON = ProblemAnswer(where="", message="this is no JSON in UTF-8")


def answer_errors(app: FastAPI) -> None:
    """Let the app answer with a Refusal where FastAPI refuses a request by itself."""

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return refusal(422, "the request is wrong", [_invalid(each) for each in error.errors()])

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 400:
            # FastAPI says 400 for a body that cannot be decoded.
            return refusal(422, "the request is wrong", [_NO_JSON])
        answer = refusal(error.status_code, str(error.detail))
        answer.headers.update(error.headers or {})
        return answer


def refusal(status: int, error: str, problems: list[ProblemAnswer] | None = None) -> JSONResponse:
    """Answer that nothing was changed, and why."""
    answer = Refusal(error=error, problems=problems or [])
    return JSONResponse(answer.model_dump(exclude_none=True), status_code=status)


def _invalid(error: dict[str, Any]) -> ProblemAnswer:
    """Convert an error as pydantic reports it. `where` is a JSON pointer into the body, or such as
    `query: NAME`."""
    # `loc` begins with `body`, `path` or `query`. Where text is no JSON, the number of a character
    # follows.
    part, *place = error["loc"]
    if error["type"] == "json_invalid":
        return ProblemAnswer(where="", message=f"no JSON: {error['ctx']['error']}")
    where = pointer(tuple(place)) if part == "body" else f"{part}: {place[-1]}"
    return ProblemAnswer(where=where, message=error["msg"].removeprefix("Value error, "))


def describe_token(app: FastAPI) -> None:
    """Say in OpenAPI that requests need a token, which the middleware `TokenNeeded` asks for."""
    described = app.openapi

    def openapi() -> dict[str, Any]:
        schema = described()
        schemes = schema["components"].setdefault("securitySchemes", {})
        schemes["token"] = {"type": "http", "scheme": "bearer"}
        schema["security"] = [{"token": []}]
        return schema

    app.openapi = openapi  # type: ignore[method-assign]
