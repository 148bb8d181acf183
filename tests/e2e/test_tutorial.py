"""Tutorials of docs/tutorial: every command of a page, in order, on real chains."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import SFCPERF
from support.local import left_by

pytestmark = pytest.mark.root

TREE = Path(__file__).parents[2]
PAGE = TREE / "docs" / "tutorial" / "paper-figure.md"
VNF_PAGE = TREE / "docs" / "tutorial" / "benchmark-your-vnf.md"
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ECHOES = 20
"""Of a trial of ping: among so many, a short pause of a busy machine raises no doubt."""


def blocks(language: str, page: Path = PAGE) -> list[str]:
    """Fenced blocks of the page, in order."""
    return [text for found, text in FENCED.findall(page.read_text()) if found == language]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder with the page's workflow, made shorter: what is run is the page's, how much
    of it is the test's."""
    (workflow,) = (json.loads(text) for text in blocks("json"))
    ping, tcp = workflow["probes"]
    ping["count"] = ECHOES
    tcp["duration_s"] = 1
    workflow["factors"]["chain_length"] = [1]
    workflow["design"] |= {"rounds": 2, "warmup_rounds": 0}
    (tmp_path / "encap.json").write_text(json.dumps(workflow))
    return tmp_path


def output_of(command: str, folder: Path) -> str:
    """What a command of a page prints."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "160",
    }
    environment.pop("SFCPERF_RESULTS", None)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.exhaustive
def test_every_command(folder: Path) -> None:
    said = {
        block: output_of(block.replace("design.rounds=8", "design.rounds=6"), folder)
        for block in blocks("bash")
    }
    for run in (*folder.glob("pilot/*"), *folder.glob("final/*")):
        assert left_by(run) == []

    figures = folder / "paper" / "figures"
    names = {path.name for path in figures.iterdir()}
    listed = next(text for text in blocks("text") if text.startswith("paper/figures/"))
    assert {Path(line).name for line in listed.split()} <= names
    assert {"tcp-rate_bps-box.pdf", "ping-rtt_us-ecdf.pdf"} <= names
    assert list((folder / "talk").glob("*.png"))
    for name in ("runs.html", "encap.html", "encap.csv", "encap.zip"):
        assert (folder / name).stat().st_size > 100, name

    series = {row["series"] for row in csv.DictReader((figures / "rtt.csv").open())}
    assert series == {"ethernet", "vxlan-gpe"}
    # "the distribution of all round-trip times": of each echo, and so says the figure.
    echoes = list(csv.DictReader((figures / "ping-rtt_us-ecdf.samples.csv").open()))
    assert len(echoes) == 2 * 6 * ECHOES
    caption = (figures / "ping-rtt_us-ecdf.tex").read_text()
    samples = f"distribution of all samples of the valid trials (n = 6 trials of {ECHOES} samples)"
    assert samples in caption
    # The caption that is shown on the page, but for n.
    shown = next(text for text in blocks("text") if "\\includegraphics" in text)
    assert (figures / "rtt.tex").read_text() == shown.replace("n = 8", "n = 6")
    verified = [text for block, text in said.items() if "verify" in block][-1]
    assert re.search(r"summaries: +ok", verified)
    assert re.search(r"figures: +ok", verified)


def test_latex_takes_the_figure(folder: Path) -> None:
    """Where there is a TeX: what `figures` writes is what it understands."""
    tex = shutil.which("pdflatex")
    if tex is None:
        pytest.skip("needs pdflatex (texlive-latex-base)")
    from support.records.runs import build_run

    store = build_run(folder / "run")
    verb = [SFCPERF, "figures", store.folder, "-o", folder]
    subprocess.run(verb, check=True, capture_output=True)
    (folder / "main.tex").write_text(
        "\\documentclass{article}\\usepackage{graphicx}\n"
        "\\begin{document}\\input{fig8b}\\input{fig8c}\\end{document}\n"
    )
    command = [tex, "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


SCRIPTS = ("block-v1.sh", "block-v2.sh")


@pytest.mark.exhaustive
def test_every_command_for_a_vnf(tmp_path: Path) -> None:
    """In an empty folder; with fewer numbers of rules and rounds than on the page."""
    for name, text in zip(SCRIPTS, blocks("sh", VNF_PAGE), strict=True):
        (tmp_path / name).write_text(text)
    (workflow,) = map(json.loads, blocks("json", VNF_PAGE))
    workflow["factors"]["rules"] = [1000]
    workflow["design"] |= {"rounds": 2, "warmup_rounds": 0}
    (tmp_path / "blocklist.json").write_text(json.dumps(workflow))
    said = [output_of(block, tmp_path) for block in blocks("bash", VNF_PAGE)]
    (run,) = (tmp_path / "results").iterdir()
    assert left_by(run) == []
    assert len((run / "trials.jsonl").read_text().splitlines()) == 4
    last = said[-1].splitlines()[-1]
    assert last.startswith("verdict: ")
    assert "v2" in last and "at rules 1000" in last


def test_the_page_and_the_example_are_the_same() -> None:
    folder = TREE / "examples" / "blocklist"
    for name, text in zip(SCRIPTS, blocks("sh", VNF_PAGE), strict=True):
        assert text == (folder / name).read_text()
        assert os.access(folder / name, os.X_OK)
    assert blocks("json", VNF_PAGE) == [(folder / "blocklist.json").read_text()]


@pytest.mark.parametrize("rules", [1, 256, 1000])
def test_both_versions_block_the_same_addresses(rules: int) -> None:
    """nft lists what they loaded into a network namespace of the test."""
    found = []
    for script in SCRIPTS:
        command = [str(TREE / "examples" / "blocklist" / script), str(rules)]
        shell = '"$@" && nft list table ip own'
        done = subprocess.run(
            ["unshare", "--net", "sh", "-c", shell, "sh", *command],
            check=True, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        found.append(set(re.findall(r"203\.0\.\d+\.\d+", done.stdout)))
    assert found[0] == found[1]
    assert len(found[0]) == rules
