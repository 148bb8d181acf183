from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.errors import MeasurementError
from sfcperf.packets.tcpdump_output import TcpdumpOutput, listening, parse, so_far

TEXT = (Path(__file__).parent / "golden" / "tcpdump-4.99.3.txt").read_text()


def test_reads_the_counts() -> None:
    """Drops of kernel and interface are added."""
    assert listening(TEXT)
    assert parse(TEXT) == TcpdumpOutput(captured=5, received=12, dropped=0)
    text = TEXT.replace("0 packets dropped by kernel", "7 packets dropped by kernel")
    assert parse(text + "1 packet dropped by interface\n").dropped == 8
    with pytest.raises(MeasurementError):
        parse(TEXT.split("5 packets")[0])


def test_counts_on_the_way_are_not_those_of_the_end() -> None:
    asked = (
        "tcpdump: 3 packets captured, 4 packets received by filter, 1 packet dropped by kernel\n"
    )
    text = TEXT.replace("5 packets captured", f"{asked}5 packets captured")
    assert so_far(text) == [TcpdumpOutput(captured=3, received=4, dropped=1)]
    assert parse(text) == parse(TEXT)


@given(st.text(max_size=60), st.integers(0, 200), st.integers(0, 60))
def test_damaged_text_raises_nothing_else(noise: str, start: int, length: int) -> None:
    try:
        counts = parse(TEXT[:start] + noise + TEXT[start + length :])
    except MeasurementError:
        return
    assert min(counts.captured, counts.received, counts.dropped) >= 0
