"""A forwarder behind a veth, ready to be sent frames."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.network.wires import Lab, ip, space
from support.vnfs.forwarder_bench import SF_ADDRESS, Bench

from sfcperf.vnfs import binaries
from sfcperf.vnfs.base import Attachment
from sfcperf.vnfs.forwarder.function import BINARY, Forwarder, attach_pass

_NOBODY = ("", "")


@pytest.fixture
def forwarder_binary() -> Path:
    found = binaries.requirement(BINARY)
    if not found.met:
        pytest.skip(f"{BINARY}: {found.detail}; {found.remedy}")
    return Path(found.detail)


@pytest.fixture
def make_bench(lab: Lab, forwarder_binary: Path) -> Callable[..., Bench]:
    """Start a forwarder; `vcpus` are for engine `userspace`."""

    def make(engine: str, vcpus: tuple[int, ...] | None = None) -> Bench:
        sff, sf = lab.join((lab.host("sff"), "sff0"), (lab.host("sf"), "sf0"))
        ip("-n", space(sf.host), "address", "add", f"{SF_ADDRESS}/24", "dev", sf.interface)
        if vcpus is None:
            vcpus = (min(os.sched_getaffinity(0)),)
        attachment = Attachment(
            name="fwd-1",
            interfaces=(sf.interface,),
            macs=(sf.mac,),
            encapsulation="nsh-eth",
            address=None,
            client=_NOBODY,
            server=_NOBODY,
            vcpus=vcpus,
            mtu=1500,
            outputs=lab.outputs,
        )
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
