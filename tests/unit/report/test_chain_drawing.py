from __future__ import annotations

from itertools import pairwise

import pytest
from support.records.runs import RunOptions, build_run, workflow_document

from sfcperf.report.chain_drawing import Drawing, draw, drawings
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Scenario


def scenarios(tmp_path, topology: str, *lengths: int) -> tuple[Scenario, ...]:
    options = RunOptions(topologies=(topology,), chain_lengths=lengths, figures=())
    return load_document(workflow_document(options), tmp_path).scenarios


def titles(drawing: Drawing) -> dict[str, list[str]]:
    return {node.name: [box.title for box in node.boxes] for node in drawing.nodes}


def test_the_longest_chain_of_each_topology(tmp_path) -> None:
    planned = scenarios(tmp_path, "T1", 0, 2, 1)
    (drawing,) = drawings(planned, [])
    assert list(titles(drawing).values()) == [["client", "fwd-1", "fwd-2", "server"]]
    assert f"encapsulation {planned[1].chain.encapsulation};" in drawing.note
    # That which was built, as the trials say, and not `auto`.
    run = build_run(tmp_path / "run", RunOptions(topologies=("T1",), chain_lengths=(0, 1)))
    [drawing] = drawings(load_document(*run.workflow()).scenarios, run.trials())
    assert "encapsulation nsh-eth;" in drawing.note


def test_nodes_as_the_path_meets_them(tmp_path) -> None:
    drawing = draw(scenarios(tmp_path, "T3", 2)[0], "nsh-eth", 42)
    assert list(titles(drawing).values()) == [["client"], ["fwd-1", "fwd-2"], ["server"]]
    assert drawing.wires
    details = [box.detail for node in drawing.nodes for box in node.boxes]
    assert details[1:3] == ["SI 255 → 254", "SI 254 → 253"]
    drawing = draw(scenarios(tmp_path, "T2", 1)[0], "nsh-eth", 42)
    assert list(titles(drawing).values()) == [["client", "server"], ["fwd-1"]]


def test_spi_and_si_are_those_of_chains_with_nsh(tmp_path) -> None:
    """The SPI is that which the infrastructure chose."""
    (scenario,) = scenarios(tmp_path, "T1", 1)
    assert "SPI 9, initial SI 255, encapsulation nsh-eth" in draw(scenario, "nsh-eth", 9).note
    drawing = draw(scenario, "mpls", 9)
    assert drawing.note.startswith("1 SF, encapsulation mpls;")
    assert drawing.nodes[0].boxes[1].detail == "forwarder"


def test_a_long_chain_is_abridged(tmp_path) -> None:
    boxes = draw(scenarios(tmp_path, "T1", 32)[0], "nsh-eth", 42).nodes[0].boxes
    assert [box.title for box in boxes][6] == "25 more"
    assert boxes[6].detail == "fwd-6 to fwd-30"
    assert boxes[-2].detail == "SI 224 → 223"


@pytest.mark.parametrize("topology", ["T1", "T2", "T3"])
def test_nothing_overlaps_or_sticks_out(tmp_path, topology: str) -> None:
    for scenario in scenarios(tmp_path, topology, 0, 1, 9):
        drawing = draw(scenario, "nsh-eth", 42)
        for left, right in pairwise(drawing.nodes):
            assert left.x + left.width < right.x
        for node in drawing.nodes:
            assert node.x + node.width <= drawing.width
            edges = [(box.x, box.x + drawing.box_width) for box in node.boxes]
            assert all(a[1] < b[0] for a, b in pairwise(edges))
            assert edges[0][0] >= node.x
            assert edges[-1][1] <= node.x + node.width
