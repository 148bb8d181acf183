"""A switch with the agent, and the channel of a controller to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sdnmon import openflow as of
from support.sdnmon.five_tuple import FIVE
from support.sdnmon.openflow import Connection
from support.sdnmon.switch import Bench, bench


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Bench, Connection]]:
    with bench(tmp_path_factory.mktemp("switch")) as made:
        made.connect()
        yield made, made.accepted()


@pytest.fixture
def off(shared: tuple[Bench, Connection]) -> tuple[Bench, Connection]:
    """A channel of a switch that is not monitored."""
    if shared[1].status().on:
        shared[1].ask(of.MODE_OFF)
    return shared


@pytest.fixture
def on(off: tuple[Bench, Connection]) -> tuple[Bench, Connection]:
    """The same, monitored by 5-tuples."""
    off[1].ask(of.MODE_ON, FIVE.packed)
    return off


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as made:
        yield made
