"""Hostile inputs (tests/support/attacks), each through the command line.

The gate runs a tenth of them, `make test-all` all.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.attacks import Attack
from support.attacks.corpus import ATTACKS
from support.attacks.judge import behaviour, faults


@pytest.mark.gate_runs("every 60th")
@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_a_hostile_input_is_refused(attack: Attack, tmp_path: Path) -> None:
    found = behaviour(attack, tmp_path)
    assert faults(attack, found) == [], found.output[:2000]
