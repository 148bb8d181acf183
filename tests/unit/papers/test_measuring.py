"""`make papers`: what it measures, keeps, resumes and leaves, on the fakes."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.engine import SMALL, Bench, Observer, die, in_child
from support.records.packages import contents, sealed

from sfcperf.control import run as engine
from sfcperf.control.interrupts import SIGNALS
from sfcperf.package.verify import verify
from sfcperf.playbooks.papers import kept
from sfcperf.playbooks.papers.__main__ import main
from sfcperf.playbooks.papers.pages import BEGIN, END
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document

RTT = {"probe": "a", "metric": "rtt_us", "at": {"chain_length": 2}}
CLAIMS = [
    {
        "id": f"sfcperf-{name}",
        "text": f"It is {name} | <that>.",
        "source": "Sec. 1",
        "published": 100,
        "quantity": {"of": RTT},
        "unit": "us",
        **end,
    }
    for name, end in {"quick": {"below": 1000}, "slow": {"above": 1000}}.items()
]
SETTING = {**SMALL, "design": {"rounds": 7}, "claims": CLAIMS, "publish": [{"to": "report"}]}
"""Seven rounds are enough for verdicts on two claims."""


@dataclass
class Papers:
    """The folders that `make papers` works on, for one paper."""

    bench: Bench
    top: Path

    def write(self, name: str = "tiny", **changes: Any) -> dict[str, Any]:
        document = self.bench.document(**{**SETTING, **changes})
        (self.top / "workflows" / f"{name}.json").write_text(json.dumps(document))
        return document

    def __call__(self, *arguments: str) -> int:
        named = ("workflows", "kept", "work", "docs")
        folders = [word for name in named for word in (f"--{name}", str(self.top / name))]
        return main([*folders, *arguments])

    def package(self, name: str = "tiny") -> Path:
        return self.top / "kept" / f"{name}.zip"

    def runs(self, name: str = "tiny") -> list[RunStore]:
        folder = self.top / "work" / name
        return [RunStore.open(run) for run in folder.iterdir()] if folder.is_dir() else []

    def readme(self) -> str:
        return (self.top / "docs" / "README.md").read_text()

    def page(self) -> str:
        return (self.top / "docs" / "docs" / "papers" / "sfcperf.md").read_text()


@pytest.fixture
def papers(bench: Bench, tmp_path: Path) -> Iterator[Papers]:
    for page in ("README.md", "docs/papers/sfcperf.md"):
        path = tmp_path / "docs" / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"before\n{BEGIN}old\n{END}after\n")
    (tmp_path / "workflows").mkdir()
    before = {number: signal.signal(number, signal.SIG_DFL) for number in SIGNALS}
    yield Papers(bench, tmp_path)
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_run_is_kept_without_raw_output_and_shown(papers: Papers) -> None:
    papers.write()
    papers.write("other", claims=[])
    assert papers("run") == 0
    verification = verify(papers.package())
    assert verification.holds, verification
    names = contents(papers.package())
    assert not [name for name in names if "/raw/" in name or name.endswith("report.html")]
    page = papers.page()
    assert page.startswith(f"before\n{BEGIN}")
    assert page.endswith(f"{END}after\n")
    rows = {line.split("|")[1].strip(): line for line in page.splitlines() if line[:1] == "|"}
    assert "✓ agrees" in rows["`sfcperf-quick`"]
    assert "✕ contradicts" in rows["`sfcperf-slow`"]
    assert "7 rounds, 14 of 14 trials valid" in page
    (row,) = [line for line in papers.readme().splitlines() if "SFCPerf" in line]
    assert [cell.strip() for cell in row.split("|")[2:8]] == ["2", "1", "1", "", "", ""]
    assert not papers.package("other").exists()


def test_what_is_kept_is_not_measured_again_unless_it_changed(papers: Papers) -> None:
    papers.write()
    assert papers("run") == 0
    first = papers.package().read_bytes()
    assert papers("run") == 0
    assert papers.package().read_bytes() == first
    assert len(papers.runs()) == 1
    assert papers("run", "--force") == 0
    assert len(papers.runs()) == 2
    # A package that was lost is made again from the run.
    papers.package().unlink()
    assert papers("run") == 0
    assert len(papers.runs()) == 2
    papers.write(design={"rounds": 8})
    assert papers("docs") == 0
    assert "changed after this run" in papers.page()
    assert papers("run") == 0
    assert "8 rounds" in papers.page()


def test_an_unfinished_run_is_resumed(papers: Papers) -> None:
    workflow = load_document(papers.write(), papers.top / "workflows")
    observer = Observer(lambda recorded: die() if recorded == 5 else None)

    def killed() -> None:
        engine.start(
            workflow,
            papers.top / "work" / "tiny",
            command=["sfcperf", "run", "tiny"],
            listener=observer,
            source=workflow.document,
        )

    assert in_child(killed) == -signal.SIGKILL
    assert papers("run") == 0
    (run,) = papers.runs()
    # The second command has no path of this machine either.
    _, second = run.manifest()["sessions"]
    assert second["command"] == ["sfcperf", "resume", run.run_id]
    assert verify(papers.package()).holds


def test_trials_that_do_not_count_are_kept_and_options_are_recorded(papers: Papers) -> None:
    script = {"r001-s001-a/attempt-1": "untrusted"}
    papers.write(probes=[{"probe": "fake", "name": "a", "script": script}])
    assert papers("run", "--set", "design.rounds=8") == 0
    assert "15 of 16 trials valid" in papers.page()
    assert "--set design.rounds=8" in papers.page()
    assert verify(papers.package()).holds
    # It is of this workflow, whatever its options.
    assert papers("run") == 0
    assert len(papers.runs()) == 1


def test_others_are_measured_when_one_cannot_be(papers: Papers) -> None:
    config = {"folder": str(papers.bench.resources), "missing": True}
    papers.write("a", infrastructure={"driver": "fake", "config": config})
    papers.write("b")
    assert papers("run") == 1
    assert not papers.package("a").exists()
    assert papers.package("b").exists()
    assert "Not run yet" in papers.page()


def test_an_interrupt_ends_all(papers: Papers) -> None:
    script = {"r002-s001-a/attempt-1": "terminate"}
    papers.write("a", probes=[{"probe": "fake", "name": "a", "script": script}])
    papers.write("b")
    assert papers("run") == 130
    assert not (papers.top / "kept").exists()
    assert papers.runs("b") == []


def test_what_does_not_fit_into_the_time_or_is_not_chosen_is_not_begun(papers: Papers) -> None:
    papers.write("a")
    papers.write("b")
    assert papers("run", "--minutes", "0.0001") == 0
    assert papers("run", "--only", "c") == 2
    assert papers.runs("a") == papers.runs("b") == []
    assert papers("run", "--only", "b", "--minutes", "9") == 0
    assert papers.runs("a") == []
    assert papers.package("b").exists()


def test_a_kept_run_is_packed_again_after_a_change_of_sfcperf(papers: Papers) -> None:
    papers.write()
    assert papers("run") == 0
    before = contents(papers.package())
    old = sealed(papers.package(), papers.top / "old.zip", "README.md", b"as it was once")
    old.replace(papers.package())
    assert not verify(papers.package()).holds
    assert papers("repack") == 0
    verification = verify(papers.package())
    assert verification.holds, verification
    after = contents(papers.package())
    assert after.keys() == before.keys()
    runs = [json.loads(files["package.json"])["runs"][0] for files in (before, after)]
    first, second = ({each["file"]: each for each in run["left_out"]} for run in runs)
    assert first == second
    assert papers("run") == 0
    assert len(papers.runs()) == 1


@pytest.mark.parametrize("is_read", [False, True])
def test_telemetry_of_a_large_run_is_kept_only_if_something_is_made_from_it(
    papers: Papers, monkeypatch: pytest.MonkeyPatch, is_read: bool
) -> None:
    monkeypatch.setattr(kept, "MAX_BYTES", 1)
    operand = {**RTT, "monitor": "node1", "metric": "load"}
    more = {**CLAIMS[0], "id": "sfcperf-load", "quantity": {"of": operand}, "unit": "1"}
    papers.write(monitors=[{"monitor": "fake"}], claims=[*CLAIMS, more] if is_read else CLAIMS)
    papers("run")
    names = {name.rpartition("/")[2] for name in contents(papers.package())}
    assert ("telemetry.parquet" in names) is is_read
    verification = verify(papers.package())
    assert verification.holds, verification


def test_a_page_without_a_place_or_none_is_an_error(papers: Papers) -> None:
    papers.write()
    readme = papers.top / "docs" / "README.md"
    readme.write_text("text\n")
    assert papers("docs") == 2
    readme.unlink()
    assert papers("docs") == 2
    assert "old" in papers.page()
