"""Runs of the `sfcperf` command on a cloud: started, killed, resumed, judged by their records."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf.cli.shipped import shipped
from sfcperf.workflow.profile import read_profile
from support.command import SFCPERF

LONGEST_S = 600.0
"""After that a command hangs, and its test fails."""
CONFIG = read_profile(shipped("profiles")["openstack"]).config


def workflow(cloud: str, **config: Any) -> dict[str, Any]:
    """Three machines, two scenarios that share them (so that the chain is changed), two trials of
    a few packets; `config` beside the shipped profile's. A graph of Tacker cannot ask for NSH."""
    return {
        "sfcperf": 1,
        "name": "cloud",
        "infrastructure": {"driver": "openstack", "config": {**CONFIG, "cloud": cloud, **config}},
        "topology": "T1",
        "vnfs": {"fwd": {"type": "forwarder"}},
        "chain": {
            "functions": [{"vnf": "fwd"}],
            "classifier": {"match": {"ip_proto": "${protocol}"}},
            "encapsulation": "mpls" if config.get("lifecycle") == "tacker" else "auto",
        },
        "factors": {"protocol": ["any", "icmp"]},
        "probes": [{"probe": "ping", "count": 5, "interval_s": 0.2}],
        "design": {"rounds": 1, "warmup_rounds": 0},
        "publish": [],
    }


PLANNED = ["r001-s000-ping", "r001-s001-ping"]
"""Ids of the trials of `workflow`."""


@dataclass
class CloudLab:
    """A workflow, and the folder of its results; what `sfcperf` says is kept."""

    folder: Path
    workflow: Mapping[str, Any]

    def __post_init__(self) -> None:
        self._file = self.folder / "workflow.json"
        self._file.write_text(json.dumps(self.workflow))
        self._results = self.folder / "results"
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """A command in a process group of its own, by default `run`."""
        run = ("run", str(self._file), "--results", str(self._results))
        with (self.folder / "said").open("ab") as output:
            command = subprocess.Popen(
                [SFCPERF, *(arguments or run)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._started.append(command)
        return command

    def run(self, *arguments: str) -> int:
        """The same, to its end; gives the exit code."""
        return self.start(*arguments).wait(timeout=LONGEST_S)

    def wait_until(self, reached: Callable[[], object], command: subprocess.Popen[bytes]) -> None:
        """Until it is so; a command that has ended before will not get there any more."""
        end = time.monotonic() + LONGEST_S
        while not reached():
            assert command.poll() is None, f"ended with {command.returncode} before:\n{self.said}"
            assert time.monotonic() < end, f"not after {LONGEST_S} s:\n{self.said}"
            time.sleep(0.05)

    def close(self) -> None:
        """End what a test that failed has left, and remove what that has made."""
        for command in self._started:
            command.kill()
            command.wait()
        self.run("clean")

    @property
    def resume(self) -> tuple[str, str]:
        """The command that goes on with the one run that there is."""
        return ("resume", str(self.run_folder))

    @property
    def said(self) -> str:
        """What the commands have told their user, and the log of the run."""
        texts = [self.folder / "said", *self._results.glob("*/run.log")]
        return "\n".join(text.read_text() for text in texts if text.exists())

    @property
    def run_folder(self) -> Path:
        """Of the one run that there is."""
        (manifest,) = self._results.glob("*/run.json")
        return manifest.parent

    @property
    def manifest(self) -> dict[str, Any]:
        """Empty while there is none."""
        found = list(self._results.glob("*/run.json"))
        document: dict[str, Any] = json.loads(found[0].read_text()) if found else {}
        return document

    @property
    def trials(self) -> list[tuple[str, str]]:
        """Id and status of all trials on record, sorted; none while there is no run."""
        lines = [line for file in self._results.glob("*/trials.jsonl") for line in file.open()]
        records = [json.loads(line) for line in lines]
        return sorted((record["trial_id"], record["status"]) for record in records)
