"""Features that sfc-ids makes of captures, against another implementation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples
from support.vnfs import flow_reference
from support.vnfs.ids_tool import WRAPPERS, as_records, extract, packet, wrapped

START_NS = 1_700_000_000_123_456_789
STEPS_NS = st.one_of(
    st.sampled_from([0, 1, 999, 1000, 10**6, 999_999_999, 10**9, 10**9 + 999, 10**9 + 1000]),
    st.integers(0, 3 * 10**9),
    st.integers(-(10**6), 0),
    st.sampled_from([-5 * 10**9, 5 * 10**9, 60 * 10**9]),
)
WINDOWS_MS = [(2000, 2000), (2000, 1000), (1000, 100), (100, 100), (60_000, 60_000)]


@st.composite
def _packets(draw: st.DrawFn) -> bytes:
    version = draw(st.sampled_from([4, 6]))
    transports = ["tcp", "tcp", "udp", "fragment", *(["icmp"] if version == 4 else [])]
    made = packet(
        version,
        draw(st.integers(1, 2)),
        draw(st.integers(1, 2)),
        (draw(st.sampled_from([80, 256])), draw(st.sampled_from([80, 1]))),
        draw(st.sampled_from(transports)),
        flags="".join(draw(st.sets(st.sampled_from("FSRPAU")))),
        dscp=draw(st.sampled_from([0, 0, 1, 46, 63])),
        payload=draw(st.integers(0, 1400)),
        options=draw(st.booleans()),
    )
    return wrapped(made, draw(st.sampled_from(WRAPPERS)))


def _options(window_ms: int, slide_ms: int, early: int) -> list[str]:
    options = {"window-ms": window_ms, "slide-ms": slide_ms, "early-packets": early}
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


@examples(500)
@given(
    frames=st.lists(st.tuples(STEPS_NS, _packets()), min_size=1, max_size=25),
    windows=st.sampled_from(WINDOWS_MS),
    early=st.sampled_from([0, 1, 2, 4]),
)
def test_records_equal_those_of_another_implementation(
    frames: list[tuple[int, bytes]], windows: tuple[int, int], early: int
) -> None:
    now, trace = START_NS, []
    for step, frame in frames:
        now += step
        trace.append((now, frame))
    found = extract(trace, *_options(*windows, early))
    assert as_records(found) == flow_reference.records(trace, *windows, early)
    assert [record["sequence"] for record in found] == list(range(len(found)))
