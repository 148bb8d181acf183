"""What the report says of a run as a whole."""

from __future__ import annotations

from sfcperf.report.run_facts import dear_monitors, monitors


def test_what_a_monitor_used_while_probes_measured() -> None:
    manifest = {"monitors": [{"monitor": "pptmon", "cost": "little", "cpu_s": None}]}
    rows = monitors(manifest, [], {"pptmon": 4.0, "top": 1.0}, {"pptmon": 0.004})
    assert rows == [
        ("pptmon", "little", "4 s of CPU time, 0.4 % of one CPU while probes measured"),
        ("top", "not stated", "1 s of CPU time"),
    ]


def test_only_a_monitor_that_uses_much_is_warned_about() -> None:
    assert dear_monitors({"pptmon": 0.05}) == []
    (said,) = dear_monitors({"pptmon": 0.062, "other": 0.001})
    assert said.startswith("The monitor pptmon used 6.2 % of one CPU while probes measured")
