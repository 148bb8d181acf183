from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.records.page import Page
from support.records.runs import RunOptions, build_run

from sfcperf.presentation import pages
from sfcperf.report import run_page as report
from sfcperf.report.publisher import ReportPublisher
from sfcperf.results.store import RunStore

HOSTILE = "</script><img src=x onerror=alert(1)>'\"&{{7*7}}<!--"


def publish(run: RunStore, *formats: str) -> Page:
    ReportPublisher({"formats": formats}).publish(run)
    return Page(run.report.read_text())


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    run = build_run(tmp_path_factory.mktemp("runs") / "run")
    publish(run, "svg")
    return run


@pytest.fixture(scope="module")
def page(published: RunStore) -> Page:
    return Page(published.report.read_text())


def test_verdict_and_results(page: Page) -> None:
    assert "Read with care: 70 of 72 trials are valid" in page.text
    assert "the sender reached 412.1 of 500 Mbit/s" in page.text
    assert "95 % CI" in page.text
    assert "skewness-corrected t (mean)" in page.text
    assert re.search(r"R² = 0\.9\d+", page.text)
    assert "fwd-1 (SI 255→254, 10 packets), fwd-2 (SI 254→253, 10 packets)" in page.text
    assert "Constant: rx drops total" in page.text
    assert "`" not in page.text


def test_sections_of_what_was_not_measured_are_not_there(page: Page) -> None:
    anchors = set(page.all("id"))
    assert {"verdict", "results"} <= anchors
    others = {"attribution", "vnf-costs", "correlations", "throughput", "blocking", "noise"}
    assert not others & anchors


def test_chains_without_nsh_are_shown_by_the_ttl(new_run: RunStore) -> None:
    """On an infrastructure that chains by itself there is neither SPI nor SI."""
    for file in (new_run.folder / "raw" / "traversal").iterdir():
        document = json.loads(file.read_text())
        for number, hop in enumerate(document["forward"]):
            hop.update(spi=None, si=None, si_after=None, ttl=64 - number, ttl_after=63 - number)
        for hop in document["reverse"]:
            hop.update(spi=None, si=None, si_after=None)
        file.write_text(json.dumps(document))
    trials = new_run.folder / "trials.jsonl"
    trials.write_text(re.sub(r'"spi": ?10\b', '"spi": null', trials.read_text()))
    assert {record.deployment["spi"] for record in new_run.trials()} == {None}
    text = publish(new_run).text
    assert re.search(r"forward fwd-1 \(TTL 64→63, 10 packets\)", text)
    assert re.search(r"reverse fwd-. \(10 packets\)", text)
    assert "SI None" not in text
    assert ", SPI" not in text.rpartition("decrease from SF to SF.")[2]


def test_every_link_leads_somewhere_in_the_page_or_the_run(page: Page, published: RunStore) -> None:
    anchors = set(page.all("id"))
    assert len(anchors) == len(page.all("id"))
    links = set(page.all("href"))
    assert {link[1:] for link in links if link.startswith("#")} <= anchors
    files = {link for link in links if not link.startswith("#")}
    assert all(link.startswith("./") for link in files)
    assert [link for link in files if not (published.folder / link).exists()] == []
    assert "./raw/r001-s000-ping/" in files


def test_every_trial_is_a_point_that_leads_to_its_row(page: Page) -> None:
    charts = [chart for chart in page.data.values() if chart["kind"] != "time"]
    anchors = {t["anchor"] for c in charts for s in c["series"] for t in s["trials"]}
    rows = {a["id"] for tag, a in page.elements if tag == "tr" and "data-status" in a}
    # A failed trial has no value: it is named under its charts instead.
    assert rows - anchors == {"trial-r003-s004-httperf"}
    assert anchors <= rows
    assert "Trials without a value: r003-s004-httperf" in page.text
    statuses = [t["status"] for c in charts for s in c["series"] for t in s["trials"]]
    assert statuses.count("untrusted") == 3


def test_every_chart_has_its_numbers_as_a_table(page: Page) -> None:
    """For those who cannot see it: as many rows as there are points."""
    charts = [chart for chart in page.data.values() if chart["kind"] != "time"]
    captions = re.findall(r'<table class="small">\s*<caption', page.html)
    assert len(captions) == len(charts)
    tables = re.findall(r'<caption class="sr">.*?</table>', page.html, re.DOTALL)
    for chart in page.data.values():
        assert re.search(r"[\[(].+[\])]", chart["yLabel"]), "units"
    for chart, table in zip(charts, tables, strict=True):
        head, body = table.split("<tbody>")
        assert re.search(r"[\[(].+[\])]", head), "units"
        assert body.count("<tr>") == len(chart["ticks"]) * len(chart["series"])


def test_many_trials_are_compressed_and_come_in_batches(
    new_run: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every trial has its row still; only those of trials that do not count have details."""
    whole = publish(new_run)
    assert publish(new_run).html == whole.html, "the same run has the same report"
    monkeypatch.setattr(pages, "LONGEST_PLAIN", 1000)
    monkeypatch.setattr(report, "MOST_ROWS_AT_ONCE", 5)
    monkeypatch.setattr(report, "ROWS_PER_BATCH", 7)
    brief = publish(new_run)
    [kind] = [a["type"] for _, a in brief.elements if a.get("id") == "report-data"]
    assert kind == "application/gzip"
    assert brief.data == whole.data
    assert len(brief.content["script"][0]) < len(whole.content["script"][0]) / 3
    rows = [a["id"] for tag, a in brief.elements if tag == "tr" and "data-status" in a]
    assert len(rows) == len(set(rows)) == len(new_run.trials()) == 24
    parts = [a for _, a in brief.elements if "batch" in (a.get("class") or "").split()]
    assert [part["aria-label"][-11:] for part in parts] == [f"part {n} of 4" for n in (1, 2, 3, 4)]
    assert "trials.jsonl has them for all" in brief.text
    assert "trials.jsonl has them for all" not in whole.text
    # Deployments of the same chain have the same facts: they stand once, the others lead there.
    deployments = {record.deployment["id"] for record in new_run.trials()}
    same = re.findall(r'Same facts as <a href="#proof-trial-([^"]+)">', brief.html)
    assert len(same) == len(deployments) - 2
    assert set(same) == {"r001-s000", "r001-s001"}
    assert "Same facts as" not in whole.html


def test_many_trials_without_a_value_are_folded(tmp_path: Path) -> None:
    options = RunOptions(topologies=("T1",), rounds=5)
    ids = [f"r{r:03d}-s{s:03d}-ping" for r in range(1, 6) for s in range(3)]
    page = publish(build_run(tmp_path / "run", replace(options, failed=frozenset(ids))))
    assert "15 trials without a value" in page.text
    assert all(page.html.count(f'<a href="#trial-{trial}">') >= 2 for trial in ids)
    # The page draws nothing where there is no number, so that it explains no cross.
    assert "No mark: no valid trial (3 points)." in page.text
    assert "×: no valid trial" not in page.text


def test_a_trial_shows_its_primary_values_and_folds_the_others(page: Page) -> None:
    (row,) = re.findall(r'<tr id="trial-r001-s000-ping".*?</tr>', page.html, re.S)
    shown, _, folded = row.partition("<details>")
    assert re.search(r'<div class="values">rtt [\d.]+ µs \(mean of 20\)</div>', shown)
    assert shown.count('class="values"') == 1
    assert 'class="values">loss' in folded


def test_nothing_is_fetched(page: Page) -> None:
    assert page.all("src") == []
    assert not any(tag in ("link", "iframe", "object", "embed", "base") for tag, _ in page.elements)
    assert not any("://" in link for link in page.all("href"))
    assert "default-src 'none'" in page.all("content")[-1]
    assert len(page.html) < 4e6, "it can be mailed"


def test_the_policy_allows_the_pages_own_scripts_alone(page: Page) -> None:
    (policy,) = [content for content in page.all("content") if "script-src" in content]
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    own = page.content["script"][-1]
    assert base64.b64encode(hashlib.sha256(own.encode()).digest()).decode() == allowed[0]
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    options = RunOptions(
        description=HOSTILE,
        reason=HOSTILE,
        topologies=("T1",),
        figures=[{"name": "f", "title": HOSTILE, "probe": "ping", "metric": "rtt_us",
                  "x": "chain_length", "x_label": HOSTILE, "y_label": HOSTILE + "[ms]"}],
    )  # fmt: skip
    run = build_run(tmp_path / "run", options)
    manifest = run.manifest()
    versions = {**manifest["versions"], "tools": {HOSTILE: HOSTILE}, "packages": {HOSTILE: HOSTILE}}
    run.write_manifest({**manifest, "versions": versions, "problems": [HOSTILE], "name": HOSTILE})
    page = publish(run)
    assert not any(tag == "img" for tag, _ in page.elements)
    assert not any("onerror" in attributes for _, attributes in page.elements)
    assert len(page.content["script"]) == 3
    assert "".join(page.content["text"]).count("{{7*7}}") >= 6
    figure = page.data["figure-0"]
    assert figure["xLabel"] == HOSTILE
    # plotly renders a subset of HTML in hover texts.
    texts = [t["text"] for s in figure["series"] for t in s["trials"]]
    assert not any("<img" in text for text in texts)


def test_a_link_cannot_leave_the_run(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", RunOptions(topologies=("T1",), chain_lengths=(0,)))
    lines = [json.loads(line) for line in (run.folder / "trials.jsonl").read_text().splitlines()]
    (tmp_path / "secret.json").write_text('{"forward": [{"function": "secret"}]}')
    lines[0]["raw"] = "javascript:alert(1)"
    lines[1]["deployment"]["traversal"]["evidence"] = "../secret.json"
    lines[1]["deployment"]["id"] = "other"
    (run.folder / "javascript:alert(1)").mkdir()
    (run.folder / "trials.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    page = publish(run)
    assert "./javascript%3Aalert%281%29/" in page.all("href")
    assert not any(link.startswith("javascript") for link in page.all("href"))
    assert "secret (SI" not in page.text


@pytest.mark.parametrize(("status", "trials"), [("failed", 0), ("interrupted", 7)])
def test_a_run_that_did_not_complete(tmp_path: Path, status: str, trials: int) -> None:
    run = build_run(tmp_path / "run", RunOptions(status=status, trials=trials))
    page = publish(run)
    assert f"{72 - trials} planned trials were not run." in page.text
    assert "No result for: " in page.text
    rows = [a for tag, a in page.elements if tag == "tr" and "data-status" in a]
    assert len(rows) == trials


def test_without_telemetry_and_summaries(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", RunOptions(telemetry=False, summaries=False))
    page = publish(run)
    assert "No telemetry was recorded" in page.text
    assert "The run was not analysed" in page.text


def test_a_workflow_that_cannot_be_loaded_here_and_a_withheld_interval(new_run: RunStore) -> None:
    document, base = new_run.workflow()
    document["probes"].append({"probe": "from-elsewhere"})
    new_run.write_workflow(document, base)
    first, *others = new_run.summaries()
    bare = replace(first, ci_low=None, ci_high=None, ci_withheld="the trials drift with time")
    new_run.write_summary([bare, *others])
    page = publish(new_run)
    assert "The workflow cannot be loaded on this machine" in page.text
    assert "from-elsewhere" in page.text
    assert "the trials drift with time" in page.text
    assert any(chart.startswith("metric-") for chart in page.data)
