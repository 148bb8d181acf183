"""A forwarder behind a veth, ready to be sent frames."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from support.needs import compiled
from support.network.wires import Lab
from support.vnfs.attached import behind_sff, veth_to_sff
from support.vnfs.forwarder_bench import Bench

from sfcperf.vnfs.forwarder.function import BINARY, Forwarder, attach_pass


@pytest.fixture
def forwarder_binary() -> str:
    return compiled(BINARY)


@pytest.fixture
def make_bench(lab: Lab, forwarder_binary: str) -> Callable[..., Bench]:
    """Start a forwarder; `vcpus` are for engine `userspace`."""

    def make(engine: str, vcpus: tuple[int, ...] | None = None) -> Bench:
        sff, sf = veth_to_sff(lab)
        if vcpus is None:
            vcpus = (min(os.sched_getaffinity(0)),)
        attachment = behind_sff("fwd-1", sf, lab.outputs, vcpus=vcpus)
        knobs = {"engine": engine}
        if Forwarder.peer_needs_xdp(knobs):
            attach_pass(sff.host, [sff.interface])
        function = Forwarder.start(sf.host, attachment, knobs)
        lab.at_end(function.stop)
        wire = sff.wire()
        lab.at_end(wire.close)
        return Bench(function, wire, sff, sf)

    return make


@pytest.fixture(params=["xdp", "userspace"])
def bench(request: pytest.FixtureRequest, make_bench: Callable[..., Bench]) -> Bench:
    """A forwarder of each engine, with one worker, so that the sentinel comes last."""
    return make_bench(request.param)
