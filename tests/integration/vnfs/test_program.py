"""How a program ends on a host that stays: as it is asked to or by force, with its children."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.network.wires import Lab, eventually
from support.vnfs.attached import started_behind_sff
from support.vnfs.kernel_lab import Between
from support.vnfs.nsh_programs import hop

from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.vnfs.program.function import AnyProgram

pytestmark = pytest.mark.root


def test_it_gets_its_signal_then_its_teardown(lab: Lab) -> None:
    script = "trap 'echo bye; exit 0' INT; echo up; while :; do sleep 0.05; done"
    between = Between(
        lab,
        AnyProgram,
        {
            "command": ["sh", "-c", script],
            "ready": {"output": "^up$"},
            "stop_signal": "SIGINT",
            "teardown": [["false"], ["ip", "link", "set", "lo", "mtu", "1234"]],
        },
    )
    between.function.stop()
    assert _output(lab, "out") == "up\nbye\n"
    assert "mtu 1234" in between.host.run(["ip", "link", "show", "lo"], timeout_s=10).text
    assert not list(between.host.workdir.glob("program-*"))


def test_one_that_ignores_its_signal_is_killed_and_its_output_says_so(lab: Lab) -> None:
    script = "trap '' TERM; echo up; while :; do sleep 0.05; done"
    between = Between(
        lab,
        AnyProgram,
        {"command": ["sh", "-c", script], "ready": {"output": "up"}, "stop_timeout_s": 0.2},
    )
    between.function.stop()
    assert _output(lab, "err") == (
        "sfcperf: it did not end within 0.2 s of SIGTERM, and was killed\n"
    )
    assert between.function.pids() == ()


def test_its_children_end_with_it(lab: Lab) -> None:
    """Also one that ignores signals, and one that has left its session."""
    script = "(trap '' TERM; sleep 1000) & setsid sleep 1000 & echo up; wait"
    between = Between(lab, AnyProgram, {"command": ["sh", "-c", script], "ready": {"output": "up"}})
    assert eventually(lambda: len(between.function.pids()) >= 3)
    pids = between.function.pids()
    between.function.stop()
    assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


def test_output_without_end_ends_it_before_the_disk_is_full(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfcperf.vnfs.program.program.MAX_FILE_BYTES", 64 << 10)
    with pytest.raises(DeploymentError, match=r"ended by SIGXFSZ; it printed: .*y; y"):
        Between(lab, AnyProgram, {"command": ["yes"], "ready": {"port": 99}})
    assert len(_output(lab, "out")) == 64 << 10


def test_what_it_finds_around_it(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "own.sh").write_text("#!/bin/sh\npwd; cat a.txt; echo $LEVEL; exec sleep 1000\n")
    (tmp_path / "own.sh").chmod(0o755)
    between = Between(
        lab,
        AnyProgram,
        {
            "command": [str(tmp_path / "own.sh"), 1.5],
            "files": {"a.txt": ["{{client}} {{server}} {{mtu}} {{ingress}} ${x} {{level}}"]},
            "env": {"LEVEL": "{{level}}"},
            "schema": {"level": {"type": "boolean"}},
            "values": {"level": True},
            "ready": {"output": "^true$"},
        },
    )
    folder = between.host.workdir / "program-vnf-1"
    assert _output(lab, "out") == f"{folder}\n198.18.0.1 198.18.1.1 1500 in0 ${{x}} true\ntrue\n"
    assert between.function.facts() == {"command": [str(tmp_path / "own.sh"), "1.5"]}


def test_a_counters_command_that_fails_is_told(lab: Lab) -> None:
    counting = ["sh", "-c", "echo no socket >&2; exit 4"]
    between = Between(lab, AnyProgram, {"setup": [["true"]], "counters": counting})
    with pytest.raises(MeasurementError) as told:
        between.function.counters()
    assert str(told.value).endswith("exit 4`, ended with 4; it printed: no socket")


@pytest.mark.parametrize("listen", ["TCP4-LISTEN", "TCP6-LISTEN", "UDP4-LISTEN", "UDP6-LISTEN"])
def test_a_port_is_open_by_any_protocol(lab: Lab, listen: str) -> None:
    command = ["socat", f"{listen}:{{{{port}}}}", "STDOUT"]
    own = {"schema": {"port": {"type": "integer"}}, "values": {"port": 4711}}
    between = Between(lab, AnyProgram, {"command": command, "ready": {"port": 4711}, **own})
    assert between.function.facts()["command"][1] == f"{listen}:4711"
    assert between.function.problem() is None


def test_an_sff_that_has_no_one_address_is_told(lab: Lab) -> None:
    """As where two ports of a cloud lead to the function."""
    with pytest.raises(DeploymentError, match=r"\{\{sff_mac\}\} stands for nothing here"):
        started_behind_sff(lab, AnyProgram, "vnf-1", hop("nsh-eth"))


def _output(lab: Lab, kind: str) -> str:
    [file] = lab.outputs.glob(f"vnf-1-*.{kind}")
    return file.read_text()
