"""Makes a REST interface without paths yet: it asks for a token, and its errors name the place."""

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
    """Make the app. `responses` are those of all paths, for OpenAPI; `token` is what each request
    must carry (RFC 6750)."""
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
