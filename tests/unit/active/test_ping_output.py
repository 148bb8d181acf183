from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.active.ping.output import parse
from sfcperf.errors import MeasurementError

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
    assert (seen.transmitted, seen.received) == (20, 16)
    assert seen.loss_ratio == 0.2
    neighbours = [
        abs(seen.rtt_us[n] - seen.rtt_us[n - 1])
        for n in range(2, 21)
        if n in seen.rtt_us and n - 1 in seen.rtt_us
    ]
    assert len(neighbours) < 15  # some replies have lost neighbours
    assert seen.jitter_us == pytest.approx(sum(neighbours) / len(neighbours))


def test_sees_duplicates() -> None:
    seen = parse(golden("ping-duplicates"))
    assert (seen.received, seen.duplicates) == (4, 3)
    assert seen.rtt_us[1] == 27  # the first reply, not its duplicate of 192 us


def test_no_reply_is_full_loss() -> None:
    seen = parse(golden("ping-unanswered"))
    assert (seen.loss_ratio, seen.jitter_us, seen.rtt_us) == (1, None, {})


def test_refused_sends_are_errors() -> None:
    assert parse(golden("ping-too-long")).errors == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("10 packets transmitted", "ten packets transmitted"),
        ("10 received", "11 received"),
        ("10 packets transmitted, 10 received", "0 packets transmitted, 0 received"),
        ("icmp_seq=3 ", "icmp_seq=4 "),
        ("rtt min", "round-trip min"),
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
