"""Features: what a model sees of a flow record.

Addresses are left out: a model would learn who attacked in its training, not what an attack is.
Ports are left out too: an attacker chooses the ports that he comes from, and which service he
attacks says nothing about how.
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
"""Name of the feature that is 1 for a record of a flow's first packets, 0 for one of a window; also
the `kind` of the former."""
PLACES = tuple(place for place, name in enumerate(NAMES) if name not in UNSEEN)
"""Places in a record's `features` of the columns that a model sees."""
FEATURES = (EARLY, *(NAMES[place] for place in PLACES))
"""Names of what a model sees, in order. All values are whole numbers from 0 to 2**63 - 1."""
SCHEMA_HASH = sha256(json.dumps(FEATURES).encode()).hexdigest()[:16]
"""Hash of the features' names: a model that was trained with others is refused."""


def seen(kind: str, columns: Sequence[Any]) -> list[int]:
    """The features of a record, in the order of FEATURES."""
    return [int(kind == EARLY), *(columns[place] for place in PLACES)]
