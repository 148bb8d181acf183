"""A REST interface of ours before it has paths: a token for all, errors that name the place."""

from __future__ import annotations

from fastapi import FastAPI

import sfcperf
from sfcperf.rest.access import TokenNeeded
from sfcperf.rest.answers import Responses
from sfcperf.rest.errors import answer_errors, describe_token


def interface(
    title: str,
    description: str,
    responses: Responses,
    *,
    token: str,
    most_body_bytes: int,
) -> FastAPI:
    """The app. `responses`: those of all paths, for OpenAPI; `token`: what each request must have
    (RFC 6750)."""
    app = FastAPI(
        title=title,
        version=sfcperf.__version__,
        description=description,
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        responses=responses,
    )
    app.add_middleware(TokenNeeded, token=token, most_body_bytes=most_body_bytes)
    answer_errors(app)
    describe_token(app)
    return app
