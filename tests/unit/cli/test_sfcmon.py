"""`sfcperf sfcmon`: options, plans, generated traces; tests/integration/sfcmon has `simulate`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scapy.layers.inet import IP
from scapy.utils import rdpcap
from support.command import Command

from sfcperf.sketches.bloom import bits_for
from sfcperf.vnfs.sfcmon.settings import LIMITS
from sfcperf.vnfs.sfcmon.synthetic_trace import SyntheticTrace


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("simulate", "t", "--window-s", "nan"), "--window-s: nan is no width"),
        (("simulate", "t", "--window-s", "1", "--threshold", "1"), "--threshold: 1.0 is no share"),
        (("simulate", "t", "--window-s", "1", "--size", "x=1"), "--size: there is no size 'x'"),
        (("simulate", "t", "--window-s", "1", "--size", "cms_rows=9"), "allowed: cms_rows=1 to 8"),
        (("plan", "--packets", "9", "--flows", "9", "--success", "1"), "--success: 1.0 is out of"),
        (("generate-trace", "t", "--duration-s", "-1"), "--duration-s: -1.0 is no length"),
        (("generate-trace", "t", "--on-s", "61"), "--on-s: 61.0 is out of range"),
        (("generate-trace", "no/where/t"), "the trace cannot be written"),
    ],
)
def test_bad_options(
    sfcperf: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sfcperf("sfcmon", *words) == 2
    assert message in sfcperf.err
    assert not list(tmp_path.iterdir())


def test_a_plan_says_the_same_as_text_and_as_json(sfcperf: Command) -> None:
    words = ("sfcmon", "plan", "--packets", 10_000_000, "--flows", 60, "--success", 0.9)
    assert sfcperf(*words) == 0
    text = sfcperf.out
    assert sfcperf(*words, "--json") == 0
    plan = json.loads(sfcperf.out)
    assert plan["sizes"]["cms_columns"] == 5437
    assert f"{plan['sizes']['iblt_cells']} cells" in text
    assert f"{plan['sizes']['bloom_bits']} bits" in text
    most = LIMITS["bloom_hashes"][1]
    assert plan["sizes"]["bloom_bits"] == min(bits_for(60, n, 0.1) for n in range(1, most + 1))
    assert plan["listing"]["high"] >= 0.9
    assert "24-bit" not in text
    # Counters that are too small.
    assert sfcperf("sfcmon", "plan", "--packets", 10**11, "--flows", 3, "--success", 0.9) == 0
    assert "24-bit counter" in sfcperf.out


def test_a_generated_trace(sfcperf: Command, tmp_path: Path) -> None:
    """scapy reads it; the same seed gives the same bytes, another one others."""
    sums = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        words = ("--seed", seed, "--duration-s", 0.003)
        assert sfcperf("sfcmon", "generate-trace", tmp_path / name, *words) == 0
        sums.append(hashlib.sha256((tmp_path / name).read_bytes()).digest())
    assert sums[0] == sums[1] != sums[2]
    packets = rdpcap(str(tmp_path / "a"))
    assert 400 < len(packets) < 600
    assert all(type(packet) is IP for packet in packets)
    times = [packet.time for packet in packets]
    assert times == sorted(times)
    assert 0 <= times[0] < times[-1] < 0.003
    assert {packet.proto for packet in packets} == {6, 17}
    assert {packet.len for packet in packets} == {40, 576, 1500}
    assert not any(int(packet.src.split(".")[0]) in (0, *range(224, 256)) for packet in packets)


def packets_of(parts: Iterable[bytes]) -> tuple[Any, Any]:
    """Times (seconds) and sources of packets of 28 bytes."""
    words = np.frombuffer(b"".join(parts), "<u4", offset=24).reshape(-1, 11)
    return words[:, 0] + words[:, 1] / 1e9, words[:, 7]


def test_a_generated_trace_is_as_heavy_tailed_as_the_papers() -> None:
    """A minute of 2 % of its packets and sources: 5 to 10 % of the sources send 60 to 80 %."""
    _, sources = packets_of(SyntheticTrace(1, 60, 200_000, 4_600).pcap())
    assert len(sources) == pytest.approx(200_000, rel=0.03)
    ranked = np.sort(np.unique(sources, return_counts=True)[1])[::-1]
    assert len(ranked) == pytest.approx(4_600, rel=0.01)
    assert ranked[0] > 100 * ranked[-1]
    assert 0.6 <= ranked[: len(ranked) // 10].sum() / ranked.sum() <= 0.8


@pytest.mark.parametrize(("on_s", "least"), [(2, 1.5), (60, 56)])
def test_sources_send_in_one_period_of_their_minute(on_s: float, least: float) -> None:
    """Its length is as asked, and heavy-tailed; on a circle, the period is what is left beside the
    longest pause. Those that send 300 packets evenly pause for 4 s with a probability of 6e-4."""
    times, sources = packets_of(SyntheticTrace(1, 60, 300_000, 1_000, 0, on_s).pcap())
    lengths = []
    for source in np.unique(sources):
        sent = times[sources == source]
        pauses = np.diff(sent, append=sent[0] + 60)
        lengths.append(60 - pauses.max())
    assert min(lengths) > least
    if on_s < 60:
        # Pareto: half of them last at most 2^(1/1.2) times the least, a tenth 10^(1/1.2) times.
        assert np.quantile(lengths, [0.5, 0.9]) == pytest.approx([3.56, 13.6], rel=0.15)


def test_each_minute_has_other_sources() -> None:
    trace = SyntheticTrace(1, 60.2, 60_000, 50)
    pieces = list(trace.pcap())[1:]
    first, last = (
        {p[at + 28 : at + 32] for p in part for at in range(0, len(p), 44)}
        for part in (pieces[:600], pieces[600:])
    )
    assert len(first) == 50
    assert last
    assert not first & last
