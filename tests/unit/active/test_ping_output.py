from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.active.ping import Ping, probe
from sfcperf.active.ping.output import PingOutput, parse
from sfcperf.active.tool_run import ToolOutput
from sfcperf.errors import MeasurementError
from sfcperf.workflow.schema import parameters_with_defaults

GOLDEN = Path(__file__).parent / "golden"
VERSION = "iputils-20221126"


def golden(name: str) -> str:
    return (GOLDEN / f"{name}-{VERSION}.txt").read_text()


def test_reads_a_run_without_loss() -> None:
    seen = parse(golden("ping"))
    assert (seen.transmitted, seen.received, seen.duplicates, seen.errors) == (10, 10, 0, 0)
    assert list(seen.rtt_us) == list(range(1, 11))
    assert seen.loss_ratio == 0
    # ping's own mean against that of the replies that it printed, rounded to 1 us each.
    assert seen.rtt_mean_us == pytest.approx(sum(seen.rtt_us.values()) / 10, abs=1)
    assert seen.rtt_min_us == min(seen.rtt_us.values())
    assert seen.rtt_max_us == max(seen.rtt_us.values())


def test_counts_loss_and_takes_jitter_of_neighbours_only() -> None:
    seen = parse(golden("ping-loss"))
    assert (seen.transmitted, seen.received, seen.loss_ratio) == (20, 16, 0.2)
    rtt_us = seen.rtt_us
    neighbours = [abs(rtt_us[n] - rtt_us[n - 1]) for n in rtt_us if n - 1 in rtt_us]
    assert len(neighbours) < 15  # some replies have lost neighbours
    assert seen.jitter_us == pytest.approx(sum(neighbours) / len(neighbours))


def test_duplicates_lost_replies_and_refused_sends() -> None:
    seen = parse(golden("ping-duplicates"))
    assert (seen.received, seen.duplicates) == (4, 3)
    assert seen.rtt_us[1] == 27  # the first reply, not its duplicate of 192 us
    seen = parse(golden("ping-unanswered"))
    assert (seen.loss_ratio, seen.jitter_us, seen.rtt_us) == (1, None, {})
    assert parse(golden("ping-too-long")).errors == 2


def printed(numbers: Sequence[int], transmitted: int, remark: str = "") -> str:
    """What ping prints of replies to these requests, whose RTT tells them apart."""
    rows = [
        f"64 bytes from 192.0.2.1: icmp_seq={n % 2**16} ttl=64 time=1{n:06} ms" for n in numbers
    ]
    summary = f"{transmitted} packets transmitted, {len(rows)} received, {remark}0% packet loss"
    return "\n".join([*rows, f"{summary}, time 9ms", "rtt min/avg/max/mdev = 1/2/3/0.1 ms"])


def numbers_of(seen: PingOutput) -> dict[int, float]:
    return {number: rtt_us / 1000 - 1_000_000 for number, rtt_us in seen.rtt_us.items()}


@pytest.mark.parametrize(
    "numbers",
    [
        range(1, 100_001),
        [1, *range(60_000, 66_001)],
        [*range(1, 65_536), 65_537, 65_536, 65_538],
        [*range(1, 20_001), *range(70_000, 70_010)],
    ],
    ids=["all", "lost before", "in another order", "an outage"],
)
def test_sequence_numbers_wrap(numbers: Sequence[int]) -> None:
    seen = parse(printed(numbers, 100_000))
    assert numbers_of(seen) == {number: number for number in numbers}


def test_time_stamps_of_ping_are_left_out() -> None:
    lines = printed([1, 2], 2).splitlines()
    stamped = [f"[1700000000.123456] {line}" if "icmp_seq" in line else line for line in lines]
    assert parse("\n".join(stamped)) == parse("\n".join(lines))


def test_another_ping_is_named() -> None:
    """What busybox prints."""
    text = """PING 127.0.0.1 (127.0.0.1): 56 data bytes
64 bytes from 127.0.0.1: seq=0 ttl=64 time=0.079 ms

--- 127.0.0.1 ping statistics ---
1 packets transmitted, 1 packets received, 0% packet loss
round-trip min/avg/max = 0.071/0.075/0.079 ms
"""
    with pytest.raises(MeasurementError, match="another ping"):
        parse(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("10 packets transmitted", "ten packets transmitted"),
        ("10 received", "11 received"),
        ("10 packets transmitted, 10 received", "0 packets transmitted, 0 received"),
        ("icmp_seq=3 ", "icmp_seq=4 "),
        ("rtt min", "round-trip min"),
        ("icmp_seq=3 ", "icmp_seq=65539 "),
        ("rtt min/avg/max/mdev = ", "rtt min/avg/max/mdev = 1.2."),
    ],
)
def test_refuses_what_does_not_add_up(old: str, new: str) -> None:
    text = golden("ping")
    assert old in text
    with pytest.raises(MeasurementError):
        parse(text.replace(old, new))


@given(st.text(max_size=300), st.integers(0, 700), st.integers(0, 700))
def test_damaged_output_raises_nothing_else(noise: str, start: int, length: int) -> None:
    text = golden("ping")
    try:
        seen = parse(text[:start] + noise + text[start + length :])
    except MeasurementError:
        return
    assert 0 <= seen.loss_ratio <= 1
    assert len(seen.rtt_us) == seen.received


TICK_S = 0.01
"""Of a kernel with HZ=100, to which ping's timer is rounded up."""


def test_ping_takes_as_long_as_its_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, given = 66_000, []

    def run_tool(_: Any, argv: list[str], *, timeout_s: float, **__: Any) -> ToolOutput:
        given.append(timeout_s)
        replies = "\n".join(
            f"64 bytes from 10.0.0.2: icmp_seq={number % 2**16} ttl=64 time=0.02 ms"
            for number in range(1, count + 1)
        )
        summary = f"{count} packets transmitted, {count} received, 0% packet loss, time 9ms"
        times = "rtt min/avg/max/mdev = 0.020/0.020/0.020/0.000 ms"
        return ToolOutput(tuple(argv), 0, f"{replies}\n{summary}\n{times}\n", "")

    monkeypatch.setattr(probe, "run_tool", run_tool)
    host = SimpleNamespace(read_text=lambda path: Path(path).read_text())
    end = SimpleNamespace(host=host, interface="lo", address="127.0.0.1")
    deployment: Any = SimpleNamespace(client=end, server=end)
    parameters = parameters_with_defaults("probe", "ping", {"count": count, "interval_s": 0.002})
    result = Ping(parameters).measure(deployment, tmp_path)
    assert given[0] > count * (0.002 + TICK_S)
    assert result.series["rtt_us"] == [20.0] * count
