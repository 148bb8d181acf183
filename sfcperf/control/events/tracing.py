"""Traces of runs (OpenTelemetry): run > round > scenario > trial > phases.

A trace is made only if the standard environment variables ask for one and `opentelemetry-sdk` is
installed (extra `otel`). While the run goes on, only times are noted. The SDK is imported and the
trace is sent when the session has ended, so that neither disturbs a measurement.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

import sfcperf
from sfcperf.control.events.listener import Listener
from sfcperf.control.events.timeline import Span, Timeline
from sfcperf.control.faults import describe
from sfcperf.environment.variables import no_netrc

_EXPORTER = "OTEL_TRACES_EXPORTER"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
"""https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ and
https://opentelemetry.io/docs/specs/otel/protocol/exporter/"""
_MOST_SPANS = 512
"""How many spans one request carries; the SDK has the same limit."""


@contextmanager
def traced(timeline: Timeline, listener: Listener) -> Iterator[None]:
    """Send a trace of the timeline when the block ends, if the environment asks for one. A trace
    that cannot be sent is told as a message, and raises nothing."""
    exporters = _exporters(listener)
    timeline.keeps_spans = bool(exporters)
    try:
        yield
    finally:
        _send(timeline.spans, exporters, listener)


def _exporters(listener: Listener) -> list[EntryPoint]:
    """Find the exporters that the environment variables name. Without variables there are none; nor
    are there any if one of them, or the SDK, is not installed, which is told as a message. The
    specification's default is to send to localhost. It is not followed here: a connection that
    nobody asked for would surprise."""
    environment = os.environ
    exporter = environment.get(_EXPORTER) or ("otlp" if _first(_ENDPOINTS) else "")
    names = {name.strip() for name in exporter.split(",")} - {"", "none"}
    if not names or environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return []
    if "otlp" in names:
        transport = (_first(_PROTOCOLS) or "http/protobuf").partition("/")[0]
        names = names - {"otlp"} | {f"otlp_proto_{transport}"}
    known = {point.name: point for point in entry_points(group="opentelemetry_traces_exporter")}
    missing = sorted(names - set(known)) if _has_sdk() else ["opentelemetry-sdk"]
    if missing:
        listener.message(
            f"no traces: the environment asks for OpenTelemetry, and {', '.join(missing)} is "
            "not installed; `pip install 'sfcperf[otel]'` installs OTLP over HTTP"
        )
        return []
    return [known[name] for name in sorted(names)]


def _first(names: Sequence[str]) -> str:
    """Value of the first of these environment variables that is set and not empty; "" if none
    is."""
    return next(filter(None, map(os.environ.get, names)), "")


def _has_sdk() -> bool:
    """Whether `opentelemetry-sdk` is installed; it is not imported."""
    # find_spec imports the package around it, `opentelemetry`, which may be missing as well.
    try:
        return find_spec("opentelemetry.sdk") is not None
    except ModuleNotFoundError:
        return False


def _send(spans: Sequence[Span], exporters: Sequence[EntryPoint], listener: Listener) -> None:
    """Send the spans by each exporter. What fails is told as a message."""
    if not spans:
        return
    from opentelemetry.sdk.trace.export import SpanExportResult

    finished = _finished(spans)
    for point in exporters:
        try:
            with no_netrc():
                exporter = point.load()()
                for begin in range(0, len(finished), _MOST_SPANS):
                    result = exporter.export(finished[begin : begin + _MOST_SPANS])
                    if result is not SpanExportResult.SUCCESS:
                        listener.message(f"the trace of this run could not be sent by {point.name}")
                        break
                exporter.shutdown()
        except Exception as error:
            listener.message(f"the trace of this run could not be sent: {describe(error)}")


def _finished(spans: Sequence[Span]) -> list[Any]:
    """Convert our spans to ended spans of the SDK, in the order in which they come. `spans` has
    parents before their children, so a child finds its parent in `made`."""
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
    from opentelemetry.trace import Status, StatusCode, set_span_in_context

    collected: list[ReadableSpan] = []

    class SpanCollector(SpanProcessor):
        """Keeps the ended spans, in their order."""

        def on_end(self, span: ReadableSpan) -> None:
            collected.append(span)

    provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
    provider.add_span_processor(SpanCollector())
    tracer = provider.get_tracer("sfcperf", sfcperf.__version__)
    made: dict[int, Any] = {}  # id() of our span -> the SDK's
    for span in spans:
        parent = Context() if span.parent is None else set_span_in_context(made[id(span.parent)])
        made[id(span)] = span_sent = tracer.start_span(
            span.name, parent, attributes=span.attributes, start_time=span.start_ns
        )
        if span.error:
            span_sent.set_status(Status(StatusCode.ERROR, span.error))
        span_sent.end(span.end_ns)
    return collected


def _resource() -> Any:
    """Describe what sends the trace: the service `sfcperf`, unless the environment gives another
    name."""
    from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource

    own = Resource({SERVICE_NAME: "sfcperf", SERVICE_VERSION: sfcperf.__version__})
    resource = Resource.create()
    # The SDK's own name for a service to which the environment gives none.
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
        return resource.merge(own)
    return own.merge(resource)
