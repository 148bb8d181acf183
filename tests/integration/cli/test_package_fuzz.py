"""Documents of a package changed at random, with hashes that fit: verify ends in order."""

from __future__ import annotations

import copy
import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.attacks.packages import RUN, honest
from support.records.packages import forged, write_zip

from sfcperf.errors import SfcperfError
from sfcperf.package.verify import verify

DOCUMENTS = (
    "package.json",
    "ro-crate-metadata.json",
    *(
        f"{RUN}/{name}"
        for name in (
            "run.json",
            "plan.json",
            "workflow.json",
            "workflow.applied.json",
            "workflow-base.json",
            "summary.json",
            "trials.jsonl",
        )
    ),
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=20),
    st.sampled_from([10**18, 1e308, -1, "", "../../etc/passwd", "s000", [], {}, [None], "\n", "$"]),
    st.lists(st.none(), max_size=3),
)
SECONDS = 60
MAX_CPU_S = 5


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all values in a document."""
    keys = value if isinstance(value, dict) else range(len(value)) if type(value) is list else ()
    return [path, *(found for key in keys for found in places(value[key], (*path, key)))]


def changed(document: Any, path: tuple[Any, ...], action: str, new: Any) -> Any:
    """A document with the value at a path replaced, removed or doubled."""
    if not path:
        return new
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    if action == "replace":
        holder[path[-1]] = new
    elif action == "remove":
        del holder[path[-1]]
    elif isinstance(holder, list):
        holder.append(holder[path[-1]])
    else:
        holder[f"{path[-1]}2"] = holder[path[-1]]
    return document


@pytest.mark.exhaustive
def test_no_change_of_a_document_ends_in_disorder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, where an example takes a fifth of the time; the limits of memory are those
    of the attacks. Bounded by time: what hypothesis tries differs from run to run."""
    monkeypatch.setenv("SFCPERF_STATE_DIR", str(tmp_path / "state"))
    path = tmp_path / "p.zip"
    end = time.monotonic() + SECONDS

    @settings(
        max_examples=1000, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.data())
    def fuzz(data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(DOCUMENTS))
        lines = honest()[name].splitlines() if name.endswith("l") else [honest()[name]]
        document = json.loads(lines[0])
        for _ in range(data.draw(st.integers(1, 3))):
            place = data.draw(st.sampled_from(places(document)))
            action = data.draw(st.sampled_from(["replace", "remove", "double"]))
            new = copy.deepcopy(data.draw(VALUES))  # not put into itself
            document = changed(document, place, action, new)
        content = b"\n".join([json.dumps(document).encode(), *lines[1:]]) + b"\n"
        # Only now: hypothesis wants the same draws each time.
        if time.monotonic() > end:
            return
        write_zip(path, {**forged(honest(), {name: content})})
        began = time.process_time()
        with suppress(SfcperfError):
            verify(path)
        assert time.process_time() - began < MAX_CPU_S

    fuzz()
    assert list((tmp_path / "state").iterdir()) == []
