"""The REST interface: resources of the model, and what the switches say."""

# Without `from __future__ import annotations`: FastAPI reads the annotations of nested functions.

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

from fastapi import Body, FastAPI, Path, Request, Response
from fastapi.responses import JSONResponse

from sfcperf.errors import DeploymentError, EnvironmentLacks
from sfcperf.management.deployment import FlowWindow
from sfcperf.rest.answers import OF_ALL, OF_BODIES, ProblemAnswer, Refusal, Responses, refusals
from sfcperf.rest.errors import refusal
from sfcperf.rest.interface import interface
from sfcperf.rest.numbers import FromText
from sfcperf.vnfs.sfcmon.controller import model
from sfcperf.vnfs.sfcmon.controller.answers import (
    Counters,
    FoundFlow,
    Status,
    Window,
)
from sfcperf.vnfs.sfcmon.controller.fleet import Fleet
from sfcperf.vnfs.sfcmon.controller.references import Problem
from sfcperf.vnfs.sfcmon.controller.store import ChangeRefused, Store

MOST_BODY_BYTES = 1 << 26
SETTLE_S = 2.0
"""How long an answer waits for the switches that answer."""
_DESCRIPTION = """\
Controls bmv2 switches that are classifier, SFCMon and SFF in one.

PUT is idempotent. A change is checked together with all other resources, and in the state's file
before it is answered. The answer waits up to 2 s for the switches; `/status` says which of them do
not have the change yet."""

R = TypeVar("R", bound=model.Resource)
_Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]
_Spi = Annotated[int, Path(ge=1, le=(1 << 24) - 1), FromText]
_MISSING: Responses = {404: {"model": Refusal}}
_CHANGE = refusals(
    {
        **OF_BODIES,
        409: "Other resources do not allow it",
        503: "The state cannot be written",
    }
)


class _NotFound(Exception):
    """There is no such resource: 404."""


def application(store: Store, fleet: Fleet, token: str) -> FastAPI:
    """The app. `token`: what each request must have (RFC 6750)."""
    app = interface(
        "SFC controller",
        _DESCRIPTION,
        refusals(OF_ALL),
        token=token,
        most_body_bytes=MOST_BODY_BYTES,
    )
    _add_errors(app)

    async def changed() -> None:
        """Bring the switches to the state in the store; wait up to SETTLE_S for them."""
        await fleet.take(lambda: store.state)
        await fleet.settled(SETTLE_S)

    _add_state(app, store, changed)
    collections = (
        ("switches", "switch", model.Switch),
        ("links", "link", model.Link),
        ("endpoints", "endpoint", model.Endpoint),
        ("functions", "function", model.Function),
        ("chains", "chain", model.Chain),
        ("rules", "rule", model.Rule),
        ("monitoring", "monitoring", model.Monitoring),
    )
    for collection, member, kind in collections:
        _add_collection(app, store, changed, collection, member, kind, _Name)
    _add_collection(app, store, changed, "paths", "path", model.Path, _Spi)
    _add_observations(app, store, fleet)
    return app


def description() -> dict[str, Any]:
    """OpenAPI's description of the interface."""
    nobody: Any = None
    return application(nobody, nobody, "").openapi()


def _add_state(app: FastAPI, store: Store, changed: Callable[[], Awaitable[None]]) -> None:
    """Add the routes of all resources together. `changed` is called after each change, before it is
    answered."""

    @app.get("/state", tags=["state"], operation_id="get_state")
    async def get_state() -> model.State:
        """All resources."""
        return store.state

    @app.put("/state", tags=["state"], operation_id="put_state", responses=_CHANGE)
    async def put_state(state: model.State) -> model.State:
        """Replace all resources at once."""
        await store.replace(state)
        await changed()
        return state


def _add_collection(
    app: FastAPI,
    store: Store,
    changed: Callable[[], Awaitable[None]],
    collection: str,
    member: str,
    kind: type[R],
    key: Any,
) -> None:
    """Add the routes of a collection: GET of all; GET, PUT and DELETE of one.

    `collection` and `member` are its name in the plural and in the singular; `kind` is the class of
    its resources, and `key` the type of their names. `changed` is called after each change, before
    it is answered.
    """
    tags: list[Any] = [collection]

    names = "By SPI." if collection == "paths" else "By name."

    @app.get(
        f"/{collection}", tags=tags, operation_id=f"list_{collection}", description=f"All. {names}"
    )
    async def list_all() -> dict[str, kind]:  # type: ignore[valid-type]
        return {str(name): each for name, each in getattr(store.state, collection).items()}

    @app.get(f"/{collection}/{{name}}", tags=tags, operation_id=f"get_{member}", responses=_MISSING)
    async def get_one(name: key) -> kind:  # type: ignore[valid-type]
        known = getattr(store.state, collection)
        if name not in known:
            raise _NotFound(f"there is no {member} {name}")
        found: R = known[name]
        return found

    @app.put(
        f"/{collection}/{{name}}",
        tags=tags,
        operation_id=f"put_{member}",
        description="Create it, or replace it as a whole.",
        responses={**_CHANGE, 201: {"model": kind, "description": "Created"}},
    )
    async def put_one(
        name: key,
        resource: Annotated[kind, Body()],  # type: ignore[valid-type]
        response: Response,
    ) -> kind:  # type: ignore[valid-type]
        try:
            created = await store.put(collection, name, resource)
        except ChangeRefused as refused:
            raise _of_body(refused, collection, str(name)) from refused
        await changed()
        response.status_code = 201 if created else 200
        return resource

    @app.delete(
        f"/{collection}/{{name}}",
        tags=tags,
        operation_id=f"delete_{member}",
        description="Remove it, if no other resource needs it.",
        status_code=204,
        responses={**_MISSING, **_CHANGE},
    )
    async def delete_one(name: key) -> None:
        try:
            await store.delete(collection, name)
        except KeyError as error:
            raise _NotFound(f"there is no {member} {name}") from error
        await changed()


def _add_observations(app: FastAPI, store: Store, fleet: Fleet) -> None:
    """Add the routes that say what switches do: status, counters, flows and windows."""
    unanswered = {
        **_MISSING,
        **refusals({409: "The switch is not monitored, or does not answer"}),
    }

    def known(name: str) -> str:
        """Return the name of a switch. Raises _NotFound if the state has no such switch."""
        if name not in store.state.switches:
            raise _NotFound(f"there is no switch {name}")
        return name

    @app.get("/status", tags=["observations"], operation_id="get_status")
    async def get_status() -> Status:
        """How the switches are."""
        return Status.model_validate({"switches": fleet.status()})

    @app.get(
        "/switches/{name}/counters",
        tags=["observations"],
        operation_id="get_counters",
        responses=unanswered,
    )
    async def get_counters(name: _Name) -> Counters:
        """What a switch counted since its program was loaded."""
        return Counters.model_validate(await fleet.session(known(name)).counters())

    @app.get(
        "/switches/{name}/flows",
        tags=["observations"],
        operation_id="get_flows",
        responses=unanswered,
    )
    async def get_flows(name: _Name) -> list[FoundFlow]:
        """Flows that polls have found in the open window so far."""
        return [FoundFlow.model_validate(flow) for flow in fleet.collector(known(name)).flows()]

    @app.get(
        "/switches/{name}/windows",
        tags=["observations"],
        operation_id="get_windows",
        responses=unanswered,
    )
    async def get_windows(name: _Name) -> list[Window]:
        """The last windows that have ended, up to 16."""
        return [_window(each) for each in fleet.collector(known(name)).windows]

    @app.post(
        "/switches/{name}/windows",
        tags=["observations"],
        operation_id="end_window",
        responses=unanswered,
    )
    async def end_window(name: _Name) -> Window:
        """End the open window now."""
        return _window(await fleet.collector(known(name)).end_window())


def _window(ended: FlowWindow) -> Window:
    return Window.model_validate(asdict(ended))


# --- errors ---


class _Conflict(Exception):
    """A resource does not fit to others: `status`, with problems."""

    def __init__(self, status: int, problems: list[ProblemAnswer]) -> None:
        super().__init__()
        self.status = status
        self.problems = problems


def _of_body(refused: ChangeRefused, collection: str, name: str) -> Exception:
    """Return the error for a refused resource: 422 with pointers into the body, if it is all that
    is wrong; else 409 with pointers into the state."""
    if any(each.resource != (collection, name) for each in refused.problems):
        return refused
    prefix = f"/{collection}/{name}"
    return _Conflict(422, [_problem(each, prefix) for each in refused.problems])


def _problem(found: Problem, prefix: str = "") -> ProblemAnswer:
    """Return a problem as it is answered. `prefix` is taken off its JSON pointer."""
    where = found.where.removeprefix(prefix)
    return ProblemAnswer(where=where, message=found.message, allowed=found.allowed)


def _add_errors(app: FastAPI) -> None:
    """Let the app answer exceptions that routes raise with a Refusal."""

    @app.exception_handler(_Conflict)
    async def unfit(_: Request, error: _Conflict) -> JSONResponse:
        return refusal(error.status, "it does not fit to other resources", error.problems)

    @app.exception_handler(ChangeRefused)
    async def refused(_: Request, error: ChangeRefused) -> JSONResponse:
        problems = [_problem(each) for each in error.problems]
        return refusal(409, "other resources would not be right any more", problems)

    @app.exception_handler(_NotFound)
    async def not_there(_: Request, error: _NotFound) -> JSONResponse:
        return refusal(404, str(error))

    @app.exception_handler(DeploymentError)
    async def unanswered(_: Request, error: DeploymentError) -> JSONResponse:
        return refusal(409, str(error))

    @app.exception_handler(EnvironmentLacks)
    async def unwritten(_: Request, error: EnvironmentLacks) -> JSONResponse:
        return refusal(503, str(error))
