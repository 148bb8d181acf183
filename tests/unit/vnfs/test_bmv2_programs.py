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


def test_which_compiler_it_was_is_noted() -> None:
    assert re.fullmatch(r"[0-9]+(\.[0-9]+)+", programs.compiled_by())


def test_a_changed_source_is_noticed(copied: Path) -> None:
    with (copied / "sff.p4").open("a") as file:
        file.write("// changed\n")
    assert programs.changed_sources() == ["sff.p4"]


def test_added_and_removed_sources_are_noticed(copied: Path) -> None:
    (copied / "murmur3.p4").rename(copied / "another.p4")
    assert programs.changed_sources() == ["another.p4", "murmur3.p4"]


def test_what_is_noted_is_unchanged(copied: Path) -> None:
    (copied / "sff.p4").write_text("// another\n")
    programs.note_sources("1.2.3")
    assert programs.changed_sources() == []
    assert programs.compiled_by() == "1.2.3"


@pytest.mark.parametrize("program", Program)
def test_nothing_of_a_machine_is_in_the_compiled_programs(program: Program) -> None:
    for path in (program.json, program.p4info):
        text = path.read_text()
        assert "p4include" not in text
        assert "/usr" not in text
    assert "source_info" not in program.json.read_text()


def test_rows_are_as_many_as_the_client_thinks() -> None:
    """What banks.py knows of the program, by the program's registers."""
    from sfcperf.vnfs.sfcmon.bmv2 import banks

    cells = programs.registers(Program.SKETCHES)
    assert cells["Switch.monitor.cms_bank0.cms"] == banks.CMS_ROWS * banks.most_sizes()["columns"]
    assert cells["Switch.monitor.unparsed"] == 2 * banks.UNPARSED_REASONS
    keys = [name for name in cells if name.startswith("Switch.monitor.flow_bank1.iblt_key")]
    assert len(keys) == banks.KEY_WORDS


def test_no_register_is_wider_than_thrift_can_read() -> None:
    for program in Program:
        for array in json.loads(program.json.read_text())["register_arrays"]:
            assert array["bitwidth"] < 64, array["name"]


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
