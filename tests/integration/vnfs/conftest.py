"""A forwarder behind a veth, ready to be sent frames."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kernel_log import without_complaints
from pptmon_bench import Chain, build
from pptmon_process import BINARY as PPTMON
from pptmon_routers import RoutedPath
from pptmon_routers import build as build_routers
from vnf_bench import SF_ADDRESS, Bench
from vnf_wires import Lab, ip, space

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
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path) as made:
        yield made


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


@pytest.fixture
def chain_of(lab: Lab, tmp_path: Path) -> Iterator[Callable[..., Chain]]:
    """Build a chain of so many bridges for pptmon."""
    found = binaries.requirement(PPTMON)
    if not found.met:
        pytest.skip(f"{PPTMON}: {found.detail}; {found.remedy}")
    with without_complaints():
        yield lambda count, **options: build(lab, tmp_path / "pptmon", count, **options)


@pytest.fixture
def routers(lab: Lab, tmp_path: Path) -> Iterator[Callable[[int], RoutedPath]]:
    """Build a path over so many routers for pptmon."""
    found = binaries.requirement(PPTMON)
    if not found.met:
        pytest.skip(f"{PPTMON}: {found.detail}; {found.remedy}")
    with without_complaints():
        yield lambda count: build_routers(lab, tmp_path / "pptmon", count)
