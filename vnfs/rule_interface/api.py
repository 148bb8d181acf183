"""The REST interface of a function whose rules can be set while it works."""

# Without `from __future__ import annotations`: FastAPI reads the annotations of nested functions.

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Body, FastAPI, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from sfcperf.rest.answers import (
    OF_ALL,
    OF_BODIES,
    Answer,
    ProblemAnswer,
    Responses,
    refusals,
)
from sfcperf.rest.errors import refusal
from sfcperf.rest.interface import interface
from sfcperf.rest.numbers import FromText, from_text
from sfcperf.vnfs.rule_interface.policy import LONGEST_TTL_S
from sfcperf.vnfs.rule_interface.rules import PROTOCOLS, Flow, Rule, Source, canonical, flow
from sfcperf.vnfs.rule_interface.store import Reason

MOST_BODY_BYTES = 1 << 22
RULES_AT_ONCE = 10_000
"""Most rules in one request."""
_MOST_NUMBER = (1 << 53) - 1
"""The largest whole number that all readers of JSON have exactly (RFC 8259, section 6)."""
_DESCRIPTION = """\
Sets rules of a firewall while packets cross it. A rule drops the packets of a flow, in both
directions, or all packets from a source, until its time is over.

A change is in force when it is answered. All requests are idempotent. When the process behind this
interface is restarted, the rules stay."""

Ask = Callable[..., Awaitable[Any]]
"""Function that sends a call to the RuleKeeper and returns its answer (`KeeperClient.ask`)."""

_WORDS = {
    Reason.ALLOW_LISTED: "the address, or one of the flow's, is on the allow-list",
    Reason.FULL: "there are as many rules of this kind as the function may have",
    Reason.RATE: "rules of this kind are set too fast",
    Reason.IP_VERSION: "the function forwards no packets of this version of IP",
}


def _number(value: object) -> object:
    """Return the number of a protocol in a body, which has one of the names, or a number. Raises
    ValueError for another name."""
    if isinstance(value, str):
        if value not in PROTOCOLS:
            raise ValueError(f"a number or one of {', '.join(PROTOCOLS)} is needed")
        return PROTOCOLS[value]
    return value


def _number_in_path(value: object) -> object:
    """Return the number of a protocol in a path, where numbers are text too. Raises ValueError."""
    try:
        return from_text(value)
    except ValueError:
        return _number(value)


_ADDRESS = WithJsonSchema(
    {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}], "maxLength": 45}
)
_PROTOCOL = WithJsonSchema(
    {
        "anyOf": [
            {"type": "integer", "minimum": 0, "maximum": 255},
            {"type": "string", "enum": list(PROTOCOLS)},
        ]
    }
)
_Address = Annotated[str, Field(max_length=45), AfterValidator(canonical), _ADDRESS]
_Protocol = Annotated[int, Field(strict=True, ge=0, le=255), BeforeValidator(_number), _PROTOCOL]
_Port = Annotated[int, Field(strict=True, ge=0, le=65535)]
_Ttl = Annotated[float, Field(strict=True, gt=0, le=LONGEST_TTL_S, allow_inf_nan=False)]
_PathProtocol = Annotated[int, Path(ge=0, le=255), BeforeValidator(_number_in_path), _PROTOCOL]
_PathPort = Annotated[int, Path(ge=0, le=65535), FromText]


# Of requests: a field that is not known is refused.
class _DescribedAnswer(Answer):
    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")


class FlowFields(_DescribedAnswer):
    """The 5-tuple of a flow, in either direction."""

    protocol: _Protocol
    """Number (IANA), or a name: tcp, udp, dccp, sctp, udplite, icmp, icmpv6."""
    src: _Address
    src_port: _Port
    """0 for protocols without ports, whose flows are all packets between both addresses."""
    dst: _Address
    dst_port: _Port

    @model_validator(mode="after")
    def _is_a_flow(self) -> "FlowFields":
        self.rule()
        return self

    def rule(self) -> Flow:
        """Return the flow as the store has it. Raises ValueError when there is no such flow."""
        return flow(self.protocol, (self.src, self.src_port), (self.dst, self.dst_port))


class Lifetime(_DescribedAnswer):
    """How long a rule holds."""

    ttl_s: _Ttl
    """Seconds from now, at most the knob `max_ttl_s`. Setting a rule again restarts its time."""


_ONE_OF_TWO: dict[str, Any] = {"oneOf": [{"required": ["source"]}, {"required": ["flow"]}]}


_ABSENT: Any = None
"""Value of a field that is absent from a request. A field with null is refused."""


class RuleToSet(Lifetime):
    """A rule by source, or by flow."""

    model_config = ConfigDict(
        use_attribute_docstrings=True, extra="forbid", json_schema_extra=_ONE_OF_TWO
    )

    source: _Address = _ABSENT
    """The address whose packets are dropped."""
    flow: FlowFields = _ABSENT
    """The flow whose packets are dropped."""

    @model_validator(mode="after")
    def _is_one(self) -> "RuleToSet":
        if (self.source is None) == (self.flow is None):
            raise ValueError("either `source` or `flow` is needed")
        return self

    def rule(self) -> Rule:
        """Return the rule as the store has it."""
        return Source(self.source) if self.source is not None else self.flow.rule()


class RulesToSet(_DescribedAnswer):
    """Many rules at once."""

    rules: Annotated[list[RuleToSet], Field(max_length=RULES_AT_ONCE)]


class RefusedRule(Answer):
    """One that was not set."""

    index: int
    """Its place in the request, from 0."""
    reason: Reason


class Outcome(Answer):
    """What became of many rules."""

    added: int
    renewed: int
    refused: list[RefusedRule]


class RuleInForce(Answer):
    """A rule by source, or by flow, whose ends are in ascending order."""

    source: str | None = None
    flow: FlowFields | None = None
    expires_in_s: float


class Paging(_DescribedAnswer):
    """Which page."""

    after: Annotated[int, Field(ge=0, le=_MOST_NUMBER), FromText] = 0
    """`next` of the page before."""
    limit: Annotated[int, Field(ge=1, le=RULES_AT_ONCE), FromText] = 1000
    """The most rules of a page."""


class Page(Answer):
    """Rules in the order in which they were first set."""

    rules: list[RuleInForce]
    next: int | None
    """`after` of the next page; null: there are no more."""


class Status(Answer):
    """What there is, and what was done since the function was started."""

    flow_rules: int
    source_rules: int
    max_rules: int
    """Of each kind."""
    added: int
    renewed: int
    removed: int
    expired: int
    refused: dict[str, int]
    """By reason."""
    on_failure: str
    """`fail-open` or `fail-closed`."""


class _RuleRefused(Exception):
    """A rule that was refused."""

    def __init__(self, reason: Reason) -> None:
        super().__init__()
        self.reason = reason


class _LifetimeTooLong(Exception):
    """A request with rules whose time is too long; `places` has where these are."""

    def __init__(self, places: list[str], longest_s: float) -> None:
        super().__init__()
        self.places = places
        self.longest_s = longest_s


class DataPlaneFailed(Exception):
    """The data plane did not take a change; the message says why."""


def application(ask: Ask, token: str, limits: dict[str, Any]) -> FastAPI:
    """Make the app. `token`: what each request must have (RFC 6750). `limits`: `max_ttl_s`, and
    what the status repeats: `max_rules`, `on_failure`."""
    app = interface(
        "Rule interface",
        _DESCRIPTION,
        refusals({**OF_ALL, **OF_BODIES, 503: "The data plane did not take the change"}),
        token=token,
        most_body_bytes=MOST_BODY_BYTES,
    )
    _add_errors(app)
    _add_paths_of_single_rules(app, ask, float(limits["max_ttl_s"]))
    _add_paths_of_many_rules(app, ask, float(limits["max_ttl_s"]))

    @app.get("/status", tags=["status"], operation_id="get_status")
    async def get_status() -> Status:
        """How many rules there are, and what was done with them."""
        return Status.model_validate({**limits, **await ask("status")})

    return app


def description() -> dict[str, Any]:
    """Return OpenAPI's description of the interface."""
    nobody: Any = None  # the app answers no requests
    limits = {"max_ttl_s": LONGEST_TTL_S, "max_rules": 0, "on_failure": ""}
    return application(nobody, "", limits).openapi()


def _add_paths_of_single_rules(app: FastAPI, ask: Ask, longest_s: float) -> None:
    """Add the paths that set and remove one rule. `longest_s`: the knob `max_ttl_s`."""
    responses: Responses = {
        201: {"model": RuleToSet, "description": "Set; 200: renewed"},
        **refusals({409: "On the allow-list, or no room for another rule", 429: "Too fast"}),
    }
    of_put: Any = {"response_model_exclude_none": True, "responses": responses}

    async def put(rule: Rule, request: RuleToSet, response: Response) -> RuleToSet:
        """Set the rule of a request, which is also the answer. Raises _LifetimeTooLong,
        _RuleRefused, DataPlaneFailed."""
        if request.ttl_s > longest_s:
            raise _LifetimeTooLong(["/ttl_s"], longest_s)
        outcome = await ask("put", [[rule, request.ttl_s]])
        if outcome["refused"]:
            raise _RuleRefused(Reason(outcome["refused"][0][1]))
        response.status_code = 201 if outcome["added"] else 200
        return request

    @app.put("/rules/sources/{address}", tags=["rules"], operation_id="put_source", **of_put)
    async def put_source(
        address: Annotated[_Address, Path()],
        lifetime: Annotated[Lifetime, Body()],
        response: Response,
    ) -> RuleToSet:
        """Drop all packets from an address."""
        request = RuleToSet(source=address, ttl_s=lifetime.ttl_s)
        return await put(Source(address), request, response)

    @app.delete(
        "/rules/sources/{address}", tags=["rules"], operation_id="delete_source", status_code=204
    )
    async def delete_source(address: Annotated[_Address, Path()]) -> None:
        """Drop them no longer, if such a rule is there."""
        await ask("remove", [Source(address)])

    place = "/rules/flows/{protocol}/{src}/{src_port}/{dst}/{dst_port}"

    @app.put(place, tags=["rules"], operation_id="put_flow", **of_put)
    async def put_flow(
        protocol: _PathProtocol,
        src: Annotated[_Address, Path()],
        src_port: _PathPort,
        dst: Annotated[_Address, Path()],
        dst_port: _PathPort,
        lifetime: Annotated[Lifetime, Body()],
        response: Response,
    ) -> RuleToSet:
        """Drop the packets of a flow, in both directions."""
        rule = _flow_in_path(protocol, (src, src_port), (dst, dst_port))
        fields = FlowFields(
            protocol=protocol, src=src, src_port=src_port, dst=dst, dst_port=dst_port
        )
        return await put(rule, RuleToSet(flow=fields, ttl_s=lifetime.ttl_s), response)

    @app.delete(place, tags=["rules"], operation_id="delete_flow", status_code=204)
    async def delete_flow(
        protocol: _PathProtocol,
        src: Annotated[_Address, Path()],
        src_port: _PathPort,
        dst: Annotated[_Address, Path()],
        dst_port: _PathPort,
    ) -> None:
        """Drop them no longer, if such a rule is there."""
        await ask("remove", [_flow_in_path(protocol, (src, src_port), (dst, dst_port))])


def _add_paths_of_many_rules(app: FastAPI, ask: Ask, longest_s: float) -> None:
    """Add the paths that set, list and remove many rules. `longest_s`: the knob `max_ttl_s`."""

    @app.put("/rules", tags=["rules"], operation_id="put_rules")
    async def put_rules(request: RulesToSet) -> Outcome:
        """Set many rules. Rules that are refused are named in the answer, and do not keep others
        from being set; a lifetime that is too long refuses the whole request."""
        places = [
            f"/rules/{index}/ttl_s"
            for index, each in enumerate(request.rules)
            if each.ttl_s > longest_s
        ]
        if places:
            raise _LifetimeTooLong(places, longest_s)
        outcome = await ask("put", [[each.rule(), each.ttl_s] for each in request.rules])
        refused = [{"index": index, "reason": reason} for index, reason in outcome["refused"]]
        return Outcome.model_validate({**outcome, "refused": refused})

    @app.get("/rules", tags=["rules"], operation_id="list_rules")
    async def list_rules(paging: Annotated[Paging, Query()]) -> Page:
        """Rules in force, a page at a time."""
        # Each is [rule, number, expires_in_s]; the next page begins after the number of the last.
        page = (await ask("list", paging.after, paging.limit))["rules"]
        rules = [_in_force(rule, expires_in_s) for rule, _, expires_in_s in page]
        return Page(rules=rules, next=page[-1][1] if len(page) == paging.limit else None)

    @app.delete("/rules", tags=["rules"], operation_id="delete_rules", status_code=204)
    async def delete_rules() -> None:
        """Remove all rules."""
        await ask("clear")


def _in_force(fields: list[Any], expires_in_s: float) -> RuleInForce:
    """Return a rule for an answer. `fields` are those of Source or Flow. They were checked when the
    rule was set, and are not checked again."""
    if len(fields) == 1:
        return RuleInForce(source=fields[0], expires_in_s=expires_in_s)
    protocol, (src, src_port), (dst, dst_port) = fields
    known = FlowFields.model_construct(
        protocol=protocol, src=src, src_port=src_port, dst=dst, dst_port=dst_port
    )
    return RuleInForce(flow=known, expires_in_s=expires_in_s)


class _NotAFlow(Exception):
    """A path of the interface that names no flow."""


def _flow_in_path(protocol: int, source: tuple[str, int], other: tuple[str, int]) -> Flow:
    """Return the flow that a path names. Raises _NotAFlow."""
    try:
        return flow(protocol, source, other)
    except ValueError as error:
        raise _NotAFlow(str(error)) from error


def _add_errors(app: FastAPI) -> None:
    """Let the app answer the exceptions of this module by an HTTP status and a Refusal."""

    @app.exception_handler(_RuleRefused)
    async def unset(_: Request, error: _RuleRefused) -> JSONResponse:
        too_fast = error.reason is Reason.RATE
        answer = refusal(429 if too_fast else 409, f"{error.reason}: {_WORDS[error.reason]}")
        if too_fast:
            answer.headers["Retry-After"] = "1"
        return answer

    @app.exception_handler(_LifetimeTooLong)
    async def too_long(_: Request, error: _LifetimeTooLong) -> JSONResponse:
        allowed = f"more than 0, at most {error.longest_s:g}"
        problems = [
            ProblemAnswer(where=place, message="this is too long", allowed=allowed)
            for place in error.places
        ]
        return refusal(422, "the request is wrong", problems)

    @app.exception_handler(_NotAFlow)
    async def no_flow(_: Request, error: _NotAFlow) -> JSONResponse:
        problem = ProblemAnswer(where="path: src", message=str(error))
        return refusal(422, "the request is wrong", [problem])

    @app.exception_handler(DataPlaneFailed)
    async def failed(_: Request, error: DataPlaneFailed) -> JSONResponse:
        return refusal(503, f"the data plane did not take the change: {error}")
