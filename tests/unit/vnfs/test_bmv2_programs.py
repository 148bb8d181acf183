"""The compiled P4 programs: are they those of the sources?"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from support.needs import skip_unless

from sfcperf.vnfs.sfcmon.bmv2 import compile as compiling
from sfcperf.vnfs.sfcmon.bmv2 import programs
from sfcperf.vnfs.sfcmon.bmv2.programs import Program


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources and compiled programs that a test may change."""
    folder = tmp_path / "p4"
    shutil.copytree(programs.FOLDER, folder)
    monkeypatch.setattr(programs, "FOLDER", folder)
    monkeypatch.setattr(programs, "COMPILED", folder / "compiled")
    return folder


def test_the_compiled_programs_are_those_of_the_sources() -> None:
    assert programs.changed_sources() == [], "run `make p4`: these have changed since"
    assert re.fullmatch(r"[0-9]+(\.[0-9]+)+", programs.compiled_by())


def test_changed_added_and_removed_sources_are_noticed(copied: Path) -> None:
    (copied / "sff.p4").write_text("// another\n")
    assert programs.changed_sources() == ["sff.p4"]
    (copied / "murmur3.p4").rename(copied / "another.p4")
    assert programs.changed_sources() == ["another.p4", "murmur3.p4", "sff.p4"]
    programs.note_sources("1.2.3")
    assert programs.changed_sources() == []
    assert programs.compiled_by() == "1.2.3"


def test_what_is_compiled() -> None:
    """Nothing of a machine is in it, and no register is wider than Thrift can read."""
    for program in Program:
        text = program.json.read_text()
        assert "source_info" not in text
        for of_machine in ("p4include", "/usr"):
            assert of_machine not in text + program.p4info.read_text()
        for array in json.loads(text)["register_arrays"]:
            assert array["bitwidth"] < 64, array["name"]


def test_rows_are_as_many_as_the_client_thinks() -> None:
    """What banks.py knows of the program, by the program's registers."""
    from sfcperf.vnfs.sfcmon.bmv2 import banks

    cells = programs.registers(Program.SKETCHES)
    assert cells["Switch.monitor.cms_bank0.cms"] == banks.CMS_ROWS * banks.most_sizes()["columns"]
    assert cells["Switch.monitor.unparsed"] == 2 * banks.UNPARSED_REASONS
    keys = [name for name in cells if name.startswith("Switch.monitor.flow_bank1.iblt_key")]
    assert len(keys) == banks.KEY_WORDS


@pytest.mark.exhaustive  # a minute
@pytest.mark.parametrize("program", Program)
def test_compiled_again_they_are_the_same(program: Program, tmp_path: Path) -> None:
    skip_unless(compiling.requirement())
    if (version := compiling.version()) != (noted := programs.compiled_by()):
        pytest.skip(
            f"p4c {version} is here; they were compiled by {noted}, which names differently"
        )
    compiled, p4info = compiling.compile_program(program, tmp_path)
    assert json.loads(compiled.read_text()) == json.loads(program.json.read_text())
    assert p4info.read_text() == program.p4info.read_text()
