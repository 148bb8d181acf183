"""ITGDec's report, as D-ITG 2.8.1 prints it."""

from pathlib import Path

import pytest

from sfcperf.active.ditg.output import parse
from sfcperf.errors import MeasurementError

GOLDEN = Path(__file__).parent / "golden"
RECEIVED = (GOLDEN / "ditg-receiver-2.8.1.txt").read_text()


def test_a_report() -> None:
    """The flow has 500 packets of 512 bytes in a second."""
    seen = parse(RECEIVED, "the log")
    total = dict(
        line.split("=", 1) for line in RECEIVED.partition("TOTAL")[2].splitlines() if "=" in line
    )
    figures = {name.strip(): float(text.split()[0]) for name, text in total.items()}
    assert seen.packets == figures["Total packets"] > 400
    assert seen.delay_us == pytest.approx(figures["Average delay"] * 1e6)
    assert 0 < seen.delay_min_us <= seen.delay_us <= seen.delay_max_us < 1e5
    assert seen.delay_stdev_us == pytest.approx(figures["Delay standard deviation"] * 1e6)
    assert seen.jitter_us == pytest.approx(figures["Average jitter"] * 1e6)
    bits = figures["Bytes received"] * 8
    assert seen.rate_bps == pytest.approx(bits / figures["Total time"], rel=1e-5)
    assert seen.dropped == 0
    lossy = RECEIVED.replace("          0 (0.00 %)", "         25 (4.90 %)")
    assert parse(lossy, "the log").dropped == 25


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no totals"),
        ((GOLDEN / "ditg-empty-2.8.1.txt").read_text(), "the log has no packet"),
        (RECEIVED.replace("Average jitter", "Mean jitter"), "line of jitter 0 times"),
        (RECEIVED.replace("=             0\n---", "=             7\n---"), "damaged: 7 errors"),
    ],
)
def test_what_is_no_sound_report_is_refused(text: str, said: str) -> None:
    with pytest.raises(MeasurementError, match=said):
        parse(text, "the log")
