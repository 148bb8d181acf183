"""Reports of tools in which something else stands in place of a number: an error, never a value."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.active.ab import output as ab
from sfcperf.active.ditg import output as ditg
from sfcperf.active.dns import output as dnsperf
from sfcperf.active.httperf import output as httperf
from sfcperf.active.ping import output as ping
from sfcperf.errors import MeasurementError

GOLDEN = Path(__file__).parent / "golden"
Parse = Callable[[str], Any]
PARSERS: dict[str, Parse] = {
    "ab": ab.parse,
    "ab-percentiles": ab.parse_percentiles,
    "ditg": lambda text: ditg.parse(text, "the log"),
    "dnsperf": dnsperf.parse,
    "httperf": httperf.parse,
    "ping": ping.parse,
}
NUMBER = re.compile(r"(?<![\w-])\d+(?:\.\d+)?")


def reports() -> list[tuple[Parse, str]]:
    found = []
    for path in sorted(GOLDEN.iterdir()):
        name = max((name for name in PARSERS if path.name.startswith(f"{name}-")), default=None)
        if name is None:
            continue
        text = path.read_text()
        try:
            PARSERS[name](text)
        except MeasurementError:
            continue
        found.append((PARSERS[name], text))
    return found


REPORTS = reports()


@given(st.sampled_from(REPORTS), st.sampled_from(["-nan", "inf", "-1", "1e9", "", "x"]), st.data())
def test_what_is_no_number_is_not_taken_for_a_value(
    report: tuple[Parse, str], instead: str, data: st.DataObject
) -> None:
    parse, text = report
    place = data.draw(st.sampled_from(list(NUMBER.finditer(text))))
    mutated = text[: place.start()] + instead + text[place.end() :]
    try:
        seen = parse(mutated)
    except MeasurementError:
        return
    assert seen == parse(text)


@pytest.mark.parametrize("name", ["ab", "ab-percentiles", "ditg", "dnsperf", "httperf", "ping"])
def test_only_plain_numbers_are_numbers_and_the_line_is_named(name: str) -> None:
    number = {"ab": "Requests per second", "ab-percentiles": "50,", "ditg": "Average bitrate"}
    number |= {"dnsperf": "Queries per second"}
    number |= {"httperf": "Connection rate:", "ping": "rtt min"}
    parse, text = next(report for report in REPORTS if report[0] is PARSERS[name])
    line = next(one for one in text.splitlines() if one.strip().startswith(number[name]))
    head, _, tail = text.rpartition(line)
    for value in ("nan", "-nan", "inf", "-1.0", "1e999", "9" * 400, "٣.0", ""):
        wrong = line[:3] + NUMBER.sub(value, line[3:])
        with pytest.raises(MeasurementError) as caught:
            parse(head + wrong + tail)
        if value == "-nan" and name != "ab-percentiles":
            assert wrong.strip() in caught.value.message
