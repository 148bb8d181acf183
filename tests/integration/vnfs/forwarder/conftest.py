"""A forwarder behind a veth, ready to be sent frames."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from support.needs import compiled
from support.network.wires import Lab
from support.vnfs.attached import started_behind_sff
from support.vnfs.forwarder_bench import Bench

from sfcperf.vnfs.forwarder.function import BINARY, Forwarder


@pytest.fixture
def forwarder_binary() -> str:
    return compiled(BINARY)


@pytest.fixture
def make_bench(lab: Lab, forwarder_binary: str) -> Callable[..., Bench]:
    """Start a forwarder; `vcpus` are for engine `userspace`."""

    def make(engine: str, vcpus: tuple[int, ...] | None = None) -> Bench:
        if vcpus is None:
            vcpus = (min(os.sched_getaffinity(0)),)
        return started_behind_sff(lab, Forwarder, "fwd-1", {"engine": engine}, vcpus=vcpus)

    return make


@pytest.fixture(params=["xdp", "userspace"])
def bench(request: pytest.FixtureRequest, make_bench: Callable[..., Bench]) -> Bench:
    """A forwarder of each engine, with one worker, so that the sentinel comes last."""
    return make_bench(request.param)
