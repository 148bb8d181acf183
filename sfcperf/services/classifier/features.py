"""What a model sees of a flow record.

Addresses are not among it: a model would learn who attacked in its training, not what an attack
is. Nor are ports: an attacker chooses those that he comes from, and which service he attacks says
nothing about how.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from sfcperf.vnfs.ids.features import NAMES

UNSEEN = frozenset({"srcip", "srcport", "dstip", "dstport", "class"})
"""Columns of a record that no model sees."""
EARLY = "early"
"""1 for a record of a flow's first packets, 0 for one of a window."""
PLACES = tuple(place for place, name in enumerate(NAMES) if name not in UNSEEN)
"""Where the others are in `features` of a record."""
FEATURES = (EARLY, *(NAMES[place] for place in PLACES))
"""What a model sees, in order: whole numbers from 0 to 2**63 - 1."""
SCHEMA_HASH = sha256(json.dumps(FEATURES).encode()).hexdigest()[:16]
"""Of the features: a model that was trained with others is refused."""


def seen(kind: str, columns: Sequence[Any]) -> list[int]:
    """The features of a record, from its `kind` and its columns."""
    return [int(kind == EARLY), *(columns[place] for place in PLACES)]
