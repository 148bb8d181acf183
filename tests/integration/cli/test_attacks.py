"""Hostile inputs (tests/support/attacks), each through the command line.

Under strace, where that is installed: no network call, and no file that is nobody's business.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.attacks import Attack, traced
from support.attacks.corpus import ATTACKS
from support.attacks.judge import behaviour, faults


@pytest.mark.gate_runs("every 60th")
@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_a_hostile_input_is_refused(attack: Attack, tmp_path: Path) -> None:
    found = behaviour(attack, tmp_path)
    assert faults(attack, found) == [], found.output[:2000]
    assert traced.faults(tmp_path) == []
