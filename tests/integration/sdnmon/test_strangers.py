"""The controller and whoever reaches its port: whatever they send, switches are listed
afterwards, and nothing of the strangers is left."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.command import spawn
from support.network.wires import eventually
from support.sdnmon.controller import Controller
from support.sdnmon.stand_in import StandIn
from support.sdnmon.strangers import STAGES, VERSIONS, send, sent_by_strangers

_AT_ONCE = 16


@pytest.fixture(scope="module", params=[4, *(v for v in VERSIONS if v != 4)])
def version(request: pytest.FixtureRequest) -> int:
    """Of OpenFlow, on the wire."""
    number: int = request.param
    return number


@pytest.fixture(scope="module")
def controller(version: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    """One for each version: nobody reads its log, which has room for so much."""
    made = Controller(tmp_path_factory.mktemp("controller"))
    yield made
    assert made.process.poll() is None
    code, said = made.end()
    assert (code, "Traceback" in said, "has ended" in said) == (0, False, False), said


@pytest.mark.gate_runs(len(STAGES))
@pytest.mark.parametrize("stage", STAGES)
def test_any_message_at_any_stage(controller: Controller, version: int, stage: str) -> None:
    threads = Path(f"/proc/{controller.process.pid}/task")
    with StandIn(controller.openflow, 6):
        controller.await_switches(6)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(
                lambda data: send(controller.openflow, data), sent_by_strangers(version, stage, 1)
            ):
                pass
        with StandIn(controller.openflow, 7):
            controller.await_switches(6, 7)
    controller.await_switches()
    assert eventually(lambda: len(list(threads.iterdir())) < 60)


def test_an_application_whose_thread_ends_ends_the_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever supervises it starts it again; nobody would notice otherwise."""
    (tmp_path / "short_app.py").write_text(
        "from os_ken.base.app_manager import OSKenApp\n"
        "from os_ken.lib import hub\n"
        "class Short(OSKenApp):\n"
        "    def start(self):\n"
        "        super().start()\n"
        "        self.threads.append(hub.spawn(lambda: None))\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text("x" * 32)
    ports = ("--listen", "127.0.0.1:0", "--rest", "127.0.0.1:0")
    process = spawn("sdnmon", "controller", "--token-file", token, *ports, "--app", "short_app")
    _, said = process.communicate(timeout=60)
    assert (process.returncode, "os-ken has ended" in said) == (4, True), said


def test_a_handler_that_fails_ends_no_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an application: the next switch has its events."""
    log = tmp_path / "log"
    (tmp_path / "failing_app.py").write_text(
        "from os_ken.base.app_manager import OSKenApp\n"
        "from os_ken.controller import ofp_event\n"
        "from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls\n"
        "class Failing(OSKenApp):\n"
        "    @set_ev_cls(ofp_event.EventOFPStateChange, MAIN_DISPATCHER)\n"
        "    def changed(self, event):\n"
        f"        open({str(log)!r}, 'a').write(f'{{event.datapath.id}}\\n')\n"
        "        raise ValueError('as bad code does')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    controller = Controller(tmp_path, "--app", "failing_app")
    with StandIn(controller.openflow, 1), StandIn(controller.openflow, 2):
        controller.await_switches(1, 2)
        assert eventually(lambda: sorted(log.read_text().split()) == ["1", "2"])
    code, said = controller.end()
    assert (code, "as bad code does" in said, "Traceback" in said) == (0, True, False)
