"""Hostile inputs under strace: no network call, and no file that is nobody's business."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.attacks import Attack
from support.attacks.corpus import ATTACKS
from support.attacks.traced import faults

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace"),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_what_a_hostile_input_makes_it_open(attack: Attack, tmp_path: Path) -> None:
    assert faults(attack, tmp_path / "a") == []
