"""Traces of runs, as a collector receives them."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from support.engine import SMALL, Bench, Observer
from support.network.answering import answering

from sfcperf.control.events import Timeline, traced, tracing

tokens: list[str | None] = []
"""What was sent in the header Authorization."""
Spans = dict[bytes, Any]
"""Span id -> span."""


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ExportTraceServiceRequest]]:
    """What came over OTLP/HTTP; the environment names the collector."""
    requests: list[ExportTraceServiceRequest] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            tokens.append(self.headers["Authorization"])
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with answering(HTTPServer(("127.0.0.1", 0), Collector)) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        yield requests


def spans_of(requests: list[ExportTraceServiceRequest]) -> Spans:
    (request,) = requests
    (of_resource,) = request.resource_spans
    (of_scope,) = of_resource.scope_spans
    return {span.span_id: span for span in of_scope.spans}


def path(spans: Spans, span: Any) -> tuple[str, ...]:
    """Names from the run to the span."""
    above = spans.get(span.parent_span_id)
    return (*(path(spans, above) if above is not None else ()), span.name)


def test_a_run_is_one_tree(bench: Bench, received: list[ExportTraceServiceRequest]) -> None:
    design = {"rounds": 2, "warmup_rounds": 1}
    bench.start(**{**SMALL, "design": design})
    spans = spans_of(received)
    paths = {path(spans, span) for span in spans.values()}
    assert len({span.trace_id for span in spans.values()}) == 1
    assert [names for names in paths if len(names) == 1] == [("run",)]
    assert [span.name for span in spans.values()].count("round 1") == 1
    measured = {names for names in paths if names[-1] in ("measuring", "warmup")}
    assert measured == {
        ("run", round_, f"scenario {scenario}", "trial a", kind)
        for round_, kind in (("warm-up 1", "warmup"), ("round 1", "measuring"),
                             ("round 2", "measuring"))
        for scenario in ("s000", "s001")
    }  # fmt: skip
    assert ("run", "round 1", "scenario s000", "trial a", "deploying") in paths
    assert ("run", "round 1", "scenario s000", "teardown") in paths
    assert {("run", "analysing"), ("run", "publishing"), ("run", "teardown")} <= paths
    for span in spans.values():
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        if (above := spans.get(span.parent_span_id)) is not None:
            assert above.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= above.end_time_unix_nano
    # As in run.json, time counts for one phase only.
    phases = [span for span in spans.values() if span.name in bench.manifest()["phases"]]
    phases.sort(key=lambda span: (span.start_time_unix_nano, span.end_time_unix_nano))
    assert all(a.end_time_unix_nano <= b.start_time_unix_nano for a, b in pairwise(phases))
    for name, seconds in bench.manifest()["phases"].items():
        of_phase = [span for span in phases if span.name == name]
        lasted_ns = sum(span.end_time_unix_nano - span.start_time_unix_nano for span in of_phase)
        assert name == "other" or seconds == pytest.approx(lasted_ns / 1e9, abs=1e-6)
    (run,) = (span for span in spans.values() if span.name == "run")
    assert {a.key: a.value.string_value for a in run.attributes} == {
        "sfcperf.run_id": bench.folder().name
    }
    (resource,) = (each.resource for request in received for each in request.resource_spans)
    names = {a.key: a.value.string_value for a in resource.attributes}
    assert names["service.name"] == "sfcperf"


def test_failed_trials_are_errors_and_the_credentials_that_were_given_are_sent(
    bench: Bench,
    received: list[ExportTraceServiceRequest],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "netrc").write_text("default login somebody password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20correct-horse")
    tokens.clear()
    script = {f"r001-{s}-a/attempt-1": "fail" for s in ("s000", "s001")}
    probes = [{"probe": "fake", "name": "a", "script": script}]
    bench.start(probes=probes, design={"rounds": 1, "warmup_rounds": 0, "max_retries": 0})
    assert tokens == ["Bearer correct-horse"]
    trials = [s for s in spans_of(received).values() if s.name == "trial a"]
    assert {span.status.code for span in trials} == {Status.STATUS_CODE_ERROR}
    assert all("the tool said no" in span.status.message for span in trials)


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, []),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, []),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, []),
        ({"OTEL_TRACES_EXPORTER": "carrier-pigeon"}, ["carrier-pigeon is not installed"]),
    ],
)
def test_without_being_asked_nothing_changes_and_what_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], told: list[str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    if not told:
        monkeypatch.setattr(tracing, "entry_points", None)
    listener = Observer()
    timeline = Timeline()
    with traced(timeline, listener), timeline.part("run", {}):
        pass
    assert timeline.spans == []
    assert len(listener.messages) == len(told)
    assert all(words in text for words, text in zip(told, listener.messages, strict=True))


def test_a_collector_that_is_not_there_fails_no_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.1")
    listener = Observer()
    assert bench.start(listener, **SMALL).exit_code == 0
    assert any("could not be sent" in text for text in listener.messages)
