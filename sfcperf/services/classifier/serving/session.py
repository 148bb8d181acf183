"""A session of the serving layer: one trial, or the time before it."""

# Without `from __future__ import annotations`: FastAPI reads these annotations.

from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from sfcperf.rest.answers import Answer
from sfcperf.services.classifier.serving.policy import Limits
from sfcperf.vnfs.rule_interface.policy import LONGEST_TTL_S

_MOST_NUMBER = (1 << 53) - 1
_MOST_PARTITIONS = 1024

_Offset = Annotated[int, Field(strict=True, ge=0, le=_MOST_NUMBER)]
_Offsets = Annotated[tuple[_Offset, ...], Field(max_length=_MOST_PARTITIONS)]


class _DescribedAnswer(Answer):
    # Docstrings of fields become their descriptions, and unknown keys are refused.
    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")


class Target(_DescribedAnswer):
    """A rule interface."""

    url: Annotated[str, Field(pattern=r"^http://127\.0\.0\.1:[0-9]{1,5}$")]
    """Without a slash at the end. Rule interfaces listen where sfcperf runs."""
    token: Annotated[str, Field(pattern=r"^[A-Za-z0-9._~+/=-]{16,4096}$")]


class PolicyLimits(_DescribedAnswer):
    """When rules are set; parameters of the service."""

    sources: bool = True
    """Whether there are rules by source."""
    source_after_flows: Annotated[int, Field(strict=True, ge=1, le=_MOST_NUMBER)] = 10
    """Least number of attacks among the flows of a source that is blocked."""
    source_min_ratio: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.9
    """Least share of attacks among the flows of a source that is blocked."""
    ttl_s: Annotated[float, Field(gt=0, le=LONGEST_TTL_S, allow_inf_nan=False)] = 10
    """How long each rule lasts, seconds, unless it is renewed."""
    max_flow_rules: Annotated[int, Field(strict=True, ge=2, le=_MOST_NUMBER)] = 50_000
    """Most rules by flow in force at a time. Flows of sources with one flow get at most half."""

    def limits(self) -> Limits:
        """Return the same limits as the policy's own type."""
        return Limits(**self.model_dump())


class Session(_DescribedAnswer):
    """What begins: all that was known of flows and sources is forgotten."""

    targets: Annotated[tuple[Target, ...], Field(max_length=100)] = ()
    """Where rules are set; empty: nowhere."""
    records_from: _Offsets = ()
    """For each partition of records: the offset of the session's first record. Verdicts and dead
    letters of records before it are left out. All three lists of offsets have the same length."""
    verdicts_from: _Offsets = ()
    """For each partition of verdicts: the offset from which these are read."""
    dead_letters_from: _Offsets = ()
    """For each partition of dead letters: the offset from which these are read."""
    limits: PolicyLimits = PolicyLimits()
    model: Annotated[dict[str, Any], Field(default_factory=dict)]
    """The manifest of the model in use, which `GET /model` answers."""

    @model_validator(mode="after")
    def _fits(self) -> "Session":
        lengths = map(len, (self.records_from, self.verdicts_from, self.dead_letters_from))
        if len(set(lengths)) > 1:
            raise ValueError("all offsets must be of as many partitions")
        return self


class LatencySummary(Answer):
    """Of the records of the session, milliseconds."""

    count: int
    median_ms: int | None
    p99_ms: int | None


class Status(Answer):
    """What was done in the session, and in all."""

    records: int
    """Records of the session whose verdict or dead letter has had its effect; none is counted
    twice."""
    poisoned: int
    """Records of the session that became dead letters."""
    labels: dict[str, int]
    """Verdicts in the session, by label."""
    verdict: LatencySummary
    """From the record's entry into the broker to that of its verdict."""
    in_force: LatencySummary
    """From the record's entry into the broker until the rules that follow from its verdict are in
    force, of records whose verdict brought rules."""
    first_packet: LatencySummary
    """From the first packet of the flow until the rules are in force, of early records whose
    verdict brought rules."""
    counters: dict[str, int]
    """Since the process was started for the first time."""
    lag: int | None
    """Records of the session in the broker whose verdict has had no effect yet; null while the
    broker does not answer."""
    retrying: str | None
    """Why rules are not set at the moment; they are tried again."""
    problem: str | None
    """Why rules could not be set in this session."""
