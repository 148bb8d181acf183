"""`sfcperf figures`: what is drawn, how it is set, and that it is always the same."""

from __future__ import annotations

import csv
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command import SFCPERF
from support.records.runs import RunOptions, build_run
from typer.testing import CliRunner

from sfcperf.cli.app import app
from sfcperf.errors import InputError
from sfcperf.figures.distribution import steps, thinned
from sfcperf.figures.figure_files import write_figures
from sfcperf.figures.latex import escape
from sfcperf.figures.layout import STYLES, FigureLayout
from sfcperf.figures.run_data import RunData, label_runs, letter_of, side_by_side
from sfcperf.figures.selection import FigureRequest, chosen_figures
from sfcperf.results.store import RunStore

Command = Callable[..., int]
Capture = pytest.CaptureFixture[str]
BOX = {
    "name": "boxes", "probe": "ping", "metric": "rtt_us", "x": "chain_length",
    "series": "topology", "y_label": "RTT [us]", "kind": "box",
}  # fmt: skip
ECDF = {**BOX, "name": "distribution", "kind": "ecdf"}


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """A longer run of the same kind, with boxes and distributions."""
    options = RunOptions(name="later", rounds=6, chain_lengths=(0, 1, 4), figures=(BOX, ECDF))
    return build_run(tmp_path_factory.mktemp("runs") / "later", options)


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def words(svg: Path) -> str:
    """Strings of a figure: matplotlib leaves each as a comment beside its letters."""
    return " ".join(re.findall(r"<!-- (.*?) -->", svg.read_text()))


@pytest.mark.exhaustive
def test_the_same_bytes_elsewhere_and_another_day(run: RunStore, tmp_path: Path) -> None:
    """In another folder with a `matplotlibrc` of its own, for another user, with other hashes, an
    hour that is not ours, and a copy of the run under another path."""
    here, there = tmp_path / "here", tmp_path / "there"
    options = ["--format", "svg,pdf,png"]
    subprocess.run(
        [SFCPERF, "figures", run.folder, "-o", here, *options], check=True, capture_output=True
    )
    copy = shutil.copytree(run.folder, tmp_path / "elsewhere" / run.folder.name)
    home = tmp_path / "home"
    home.mkdir()
    (home / "matplotlibrc").write_text("axes.facecolor: red\nlines.linewidth: 7\nfont.size: 30\n")
    env = {
        "PATH": os.environ["PATH"], "HOME": str(home), "PYTHONHASHSEED": "4711", "USER": "nobody",
        "LC_ALL": "C", "TZ": "Asia/Tokyo", "SOURCE_DATE_EPOCH": "1", "MPLCONFIGDIR": str(home),
    }  # fmt: skip
    subprocess.run(
        [SFCPERF, "figures", copy, "-o", there, *options],
        check=True, capture_output=True, cwd=home, env=env,
    )  # fmt: skip
    names = sorted(path.name for path in here.iterdir())
    assert names == sorted(path.name for path in there.iterdir())
    assert len(names) == 2 * 6
    for name in names:
        assert (here / name).read_bytes() == (there / name).read_bytes(), name


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("width", ["column", "page", "120"])
def test_width(run: RunStore, tmp_path: Path, style: str, width: str) -> None:
    look = STYLES[style]
    layout = FigureLayout(look, look.width_mm(width), ("png", "svg"))
    write_figures([RunData(run, "a")], FigureRequest(("fig8b",)), layout, tmp_path)
    wanted_mm = {"column": look.column_mm, "page": look.page_mm, "120": 120.0}[width]
    pixels = struct.unpack(">I", (tmp_path / "fig8b.png").read_bytes()[16:20])[0]
    assert pixels == pytest.approx(wanted_mm / 25.4 * look.png_dpi, abs=1)
    root = ElementTree.parse(tmp_path / "fig8b.svg").getroot()
    points = float(root.attrib["width"].removesuffix("pt"))
    assert points == pytest.approx(wanted_mm / 25.4 * 72, abs=0.01)


def test_a_width_that_is_none() -> None:
    for width in ("0", "-5", "nan", "inf", "1e9", "wide"):
        with pytest.raises(InputError, match="is not a width"):
            STYLES["paper"].width_mm(width)


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("kind", ["line", "bar", "box", "ecdf"])
def test_fonts_are_embedded_as_truetype(run: RunStore, tmp_path: Path, kind: str) -> None:
    request = FigureRequest(("fig8b",), kind=kind)
    write_figures([RunData(run, "a")], request, FigureLayout(formats=("pdf",)), tmp_path)
    content = (tmp_path / f"fig8b-{kind}.pdf").read_bytes()
    assert b"/FontFile2" in content
    assert b"/Type3" not in content
    assert b"CreationDate" not in content


def test_every_trial_is_beside_the_figure(run: RunStore, tmp_path: Path) -> None:
    request, layout = FigureRequest(("fig8b", "fig8c")), FigureLayout(formats=("svg",))
    write_figures([RunData(run, "a")], request, layout, tmp_path)
    for name, probe, metric in (("fig8b", "ping", "rtt_us"), ("fig8c", "iperf3-udp", "rate_pps")):
        found = {row["trial"]: row for row in rows(tmp_path / f"{name}.trials.csv")}
        records = [r for r in run.trials() if r.label == probe]
        assert set(found) == {r.trial_id for r in records}
        for record in records:
            values = [s["value"] for s in record.samples if s["metric"] == metric]
            row = found[record.trial_id]
            assert float(row["value"]) == pytest.approx(fmean(values), rel=1e-12)
            assert int(row["samples"]) == len(values)
            assert row["status"] == record.status
    # The means follow from the trials that count.
    for row in rows(tmp_path / "fig8c.csv"):
        valid = [
            float(t["value"])
            for t in rows(tmp_path / "fig8c.trials.csv")
            if all(t[f] == row[f] for f in ("topology", "chain_length")) and t["status"] == "valid"
        ]
        assert float(row["mean"]) == pytest.approx(fmean(valid), rel=1e-12)
        assert int(row["n"]) == len(valid)


def test_boxes_and_distributions_are_named(later: RunStore, run: RunStore, tmp_path: Path) -> None:
    layout, request = FigureLayout(formats=("svg",)), FigureRequest(("distribution", "boxes"))
    write_figures([RunData(later, "a")], request, layout, tmp_path)
    assert len(rows(tmp_path / "distribution.samples.csv")) == 6 * 6 * 20
    assert "distribution of all samples" in words(tmp_path / "distribution.svg")
    text = words(tmp_path / "boxes.svg")
    assert "95 % confidence interval" in text and "quartiles and median" in text
    assert "no box for fewer" not in text
    write_figures([RunData(run, "a")], FigureRequest(("fig8b",), kind="box"), layout, tmp_path)
    assert "no box for fewer than 5" in words(tmp_path / "fig8b-box.svg")


def test_runs_are_series_with_own_fitted_lines(
    run: RunStore, later: RunStore, tmp_path: Path
) -> None:
    runs = label_runs([run, later], {"A": "before", "later": "after"})
    request = FigureRequest(("ping-rtt_us", "fig8b"))
    write_figures(runs, request, FigureLayout(formats=("svg",)), tmp_path)
    found = rows(tmp_path / "ping-rtt_us.csv")
    assert {row["run"] for row in found} == {"before", "after"}
    series = {f"{run}, topology {t}" for run in ("before", "after") for t in ("T1", "T3")}
    assert {row["series"] for row in found} == series
    fitted = re.findall(r"(\w+, topology \w+) \(R² = 0\.9", words(tmp_path / "fig8b.svg"))
    assert set(fitted) == series
    # A scenario that a run did not plan is not missing from it.
    assert {row["chain_length"] for row in found if row["run"] == "after"} == {"0", "1", "4"}
    assert not [row for row in found if row["state"] == "missing"]


def test_runs_stand_on_the_axis_when_they_alone_differ(tmp_path: Path) -> None:
    options = RunOptions(topologies=("T1",), chain_lengths=(1,), telemetry=False, figures=())
    stores = [build_run(tmp_path / name, replace(options, name=name)) for name in ("mon", "tue")]
    runs = label_runs(stores, {})
    assert [letter_of(n) for n in (0, 25, 26, 27, 701, 702)] == ["A", "Z", "AA", "AB", "ZZ", "AAA"]
    results = side_by_side(runs)
    figures = chosen_figures(runs, results, FigureRequest())
    assert {figure.x for figure in figures} == {"run"}
    assert {figure.series for figure in figures} == {None}


@pytest.mark.parametrize(("arguments", "said"), [
    ("--figure fig9", "fig8b"),
    ("--metric rtt", "rtt_us"),
    ("--metric rate_bps", "iperf3-tcp, iperf3-udp"),
    ("--probe pong", "ping"),
    ("--metric rtt_us --x length", "chain_length"),
    ("--style poster", "paper, acm, slides"),
    ("--format svg,gif", "svg, pdf, png"),
    ("--format=", "svg, pdf, png"),
    ("--width 3in", "millimetres"),
    ("--label A=", "A=text"),
    ("--label C=before", "A ("),
])  # fmt: skip
def test_mistakes_are_told_with_what_there_is(
    sfcperf: Command, capsys: Capture, run: RunStore, tmp_path: Path, arguments: str, said: str
) -> None:
    target = tmp_path / "out"
    assert sfcperf("figures", run.folder, "-o", target, *arguments.split()) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert "Traceback" not in printed
    assert not target.exists()


def test_one_metric_without_touching_the_workflow(new_run: RunStore, tmp_path: Path) -> None:
    arguments = ["figures", str(new_run.folder), "-o", str(tmp_path / "f"), "--format", "svg"]
    request = ["--probe", "ping", "--x", "topology", "--series", "chain_length", "--kind", "bar"]
    done = CliRunner().invoke(app, [*arguments, *request], catch_exceptions=False)
    assert done.exit_code == 0
    name = "ping-rtt_us-bar-by-topology-per-chain_length"
    files = {Path(line).name for line in done.stdout.split()}
    assert files == {f"{name}.{ending}" for ending in ("svg", "csv", "trials.csv", "tex")}
    found = {row["series"] for row in rows(tmp_path / "f" / f"{name}.csv")}
    assert found == {f"chain length {n}" for n in (0, 1)}
    assert "(µs)" in words(tmp_path / "f" / f"{name}.svg")
    # In another style, figures do not replace the run's own.
    arguments = ["figures", str(new_run.folder), "--format", "svg", "--figure", "fig8b"]
    CliRunner().invoke(app, arguments, catch_exceptions=False)
    own = (new_run.figures / "fig8b.svg").read_bytes()
    CliRunner().invoke(app, [*arguments, "--style", "slides"], catch_exceptions=False)
    assert (new_run.figures / "fig8b.svg").read_bytes() == own
    assert (new_run.figures / "slides-160mm" / "fig8b.svg").is_file()


def test_a_folder_that_cannot_be_made(run: RunStore, tmp_path: Path) -> None:
    (file := tmp_path / "file").write_text("mine")
    done = CliRunner().invoke(app, ["figures", str(run.folder), "-o", str(file)])
    assert isinstance(done.exception, InputError)
    assert file.read_text() == "mine"


def test_without_results(tmp_path: Path) -> None:
    store = build_run(tmp_path / "run", RunOptions(status="interrupted", trials=0, summaries=False))
    done = CliRunner().invoke(app, ["figures", str(store.folder)])
    assert isinstance(done.exception, InputError)
    assert "sfcperf report" in str(done.exception)


def test_latex_compiles_in_the_mind_of_tex(tmp_path: Path) -> None:
    figure = {**BOX, "name": "fig8c", "title": "50 % & more_", "kind": "line"}
    run = build_run(tmp_path / "run", RunOptions(rounds=3, figures=(figure,)))
    request = FigureRequest(("fig8c",))
    write_figures([RunData(run, "a")], request, FigureLayout(), tmp_path)
    text = (tmp_path / "fig8c.tex").read_text()
    assert "{50\\,\\% \\& more\\_. Means. Error bars: 95\\,\\% confidence interval" in text
    assert "\\includegraphics[width=88.9mm]{fig8c.pdf}" in text
    layout = FigureLayout(STYLES["acm"], STYLES["acm"].page_mm, ("png",), with_note=False)
    write_figures([RunData(run, "a")], request, layout, tmp_path)
    text = (tmp_path / "fig8c.tex").read_text()
    assert "\\begin{figure*}" in text and "{fig8c.png}" in text


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60))
def test_steps_are_the_share_of_values_not_above(values: list[float]) -> None:
    x, y = steps(values)
    assert y[0] == 0
    for at, share in zip(x[1:], y[1:], strict=True):
        below = sum(value <= at for value in values) / len(values)
        assert share <= below + 1e-12
    assert y[-1] == 1
    assert x == sorted(x)


@given(st.lists(st.floats(-1e9, 1e9), max_size=200), st.integers(2, 50))
def test_thinning_keeps_the_ends_and_the_shape(values: list[float], most: int) -> None:
    kept = thinned(values, most)
    assert len(kept) == min(len(values), most)
    if values:
        assert (kept[0], kept[-1]) == (min(values), max(values))
        for value in kept:
            whole = sum(v <= value for v in values) / len(values)
            thin = sum(v <= value for v in kept) / len(kept)
            assert abs(whole - thin) <= 1 / (len(kept) - 1 or 1) + 1e-9


def test_labels_of_many_runs(tmp_path: Path) -> None:
    options = RunOptions(topologies=("T1",), rounds=1, telemetry=False, trials=4)
    stores = [build_run(tmp_path / name, options) for name in ("one", "two")]
    assert [run.label for run in label_runs(stores, {})] == ["one", "two"]
    manifest = stores[1].manifest()
    stores[1].write_manifest({**manifest, "started_at": "2026-01-02T03:04:05.000000+00:00"})
    assert label_runs(stores, {})[1].label == "fig8-short 2026-01-02 03:04"
    with pytest.raises(InputError, match="the label 'x'"):
        label_runs(stores, {"A": "x", "B": "x"})
    assert label_runs(stores, {"two": "y"})[1].label == "y"


MACROS = {
    "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textless": "<",
    "textgreater": ">", "textquotedbl": '"', "textbar": "|", "ldots": "…",
}  # fmt: skip
_TOKEN = re.compile(
    r"\\(?P<macro>[a-z]+)\{\}|\\(?P<symbol>[{}$&#_%])|\\,(?=\\%)|(?P<plain>[^\\{}$&#_%~^\"<>|])"
)


def printed(source: str) -> str | None:
    """What LaTeX prints, by a reading of our own; None for anything that is not only text."""
    text, at = "", 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None or (match["macro"] and match["macro"] not in MACROS):
            return None
        at = match.end()
        macro = MACROS[match["macro"]] if match["macro"] else " "
        text += match["symbol"] or match["plain"] or macro
    return text


@given(st.text(st.one_of(st.sampled_from('\\{}$&#_%~^<>"|\x1b\n ab1'), st.characters())))
def test_text_is_printed_as_it_is(text: str) -> None:
    # These are set in mathematics or as ligatures.
    plain = re.sub("[×µ²±≤≥–]", "", text)
    wanted = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in plain)
    assert printed(escape(plain)) == wanted
