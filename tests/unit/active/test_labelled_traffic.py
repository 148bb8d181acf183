"""Parameters of labelled traffic, and the names of what it reports of each kind."""

from __future__ import annotations

from typing import Any

import pytest
from support.probing import made

from sfcperf.active.labelled_traffic import LabelledTraffic
from sfcperf.errors import InputError
from sfcperf.results.kinds import PROBE, kind_of, of_kind


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"pcap": "/data/day.pcap"}, "pcap"),
        ({"labels": "/data/day.csv"}, "labels"),
        ({"pcap": "day.pcap", "labels": "/data/day.csv"}, "pcap"),
        ({"pcap": "/data/day.pcap", "labels": "day.csv"}, "labels"),
    ],
)
def test_a_capture_has_labels_and_absolute_paths(given: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError) as caught:
        LabelledTraffic.check(given)
    assert caught.value.where == where


def test_it_takes_as_long_as_the_trace() -> None:
    parameters = made(LabelledTraffic, duration_s=30, speed=2).parameters
    LabelledTraffic.check(parameters)
    assert LabelledTraffic.duration_s(parameters) == 15


def test_kinds_are_any_text_and_metrics_of_other_probes_have_none() -> None:
    sample = of_kind("Flut, große 1.0", "recall", "1", 1)
    assert kind_of(PROBE, sample.metric) == ("Flut--gro-e-1-0", "recall")
    assert kind_of(PROBE, "recall") is None
    assert kind_of("other", sample.metric) is None
