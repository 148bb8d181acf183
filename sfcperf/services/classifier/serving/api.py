"""The REST interface of the classifier's serving layer."""

# Without `from __future__ import annotations`: FastAPI reads the annotations of nested functions.

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Body, FastAPI
from starlette.concurrency import run_in_threadpool

from sfcperf.rest.answers import OF_ALL, OF_BODIES, refusals
from sfcperf.rest.interface import interface
from sfcperf.services.classifier.serving.session import Session, Status
from sfcperf.services.classifier.serving.worker import Worker

MOST_BODY_BYTES = 1 << 22
_DESCRIPTION = """\
What the flow classifier has done, and the model that it uses. `PUT /session` is for sfcperf, which
calls it before and after each trial."""


def application(worker: Worker, begin: Callable[[Session], None], token: str) -> FastAPI:
    """Make the app. `begin` begins a session, and returns when the session is under way. `token` is
    what each request must have (RFC 6750)."""
    app = interface(
        "Flow classifier",
        _DESCRIPTION,
        refusals({**OF_ALL, **OF_BODIES}),
        token=token,
        most_body_bytes=MOST_BODY_BYTES,
    )

    @app.get("/status", operation_id="get_status")
    async def get_status() -> Status:
        """What was done in the session, and in all."""
        return Status.model_validate(await run_in_threadpool(worker.status))

    @app.get("/model", operation_id="get_model")
    async def get_model() -> dict[str, Any]:
        """How the model in use was trained, and how well it judges flows that did not train it.
        Empty: none is in use."""
        return worker.session.model

    @app.put("/session", operation_id="put_session", status_code=204)
    async def put_session(session: Annotated[Session, Body()]) -> None:
        """Begin anew, with these rule interfaces. Answered when nothing of what was before has an
        effect any more."""
        await run_in_threadpool(begin, session)

    return app


def description() -> dict[str, Any]:
    """OpenAPI's description of the interface."""
    # Neither a worker nor `begin` is needed: no request is answered.
    nobody: Any = None
    return application(nobody, nobody, "").openapi()
