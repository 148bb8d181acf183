"""The report's section on claims."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.records.claimed_run import claimed_run
from support.records.page import Page

from sfcperf.analysis.claims.verdicts import VERDICTS
from sfcperf.errors import InputError
from sfcperf.presentation import claim_texts
from sfcperf.report.claims import ClaimsSection, claims_section
from sfcperf.report.publisher import ReportPublisher
from sfcperf.results.store import RunFile, RunStore


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return claimed_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture
def section(store: RunStore) -> ClaimsSection:
    found = claims_section(store)
    assert found is not None
    return found


def test_each_claim_is_in_the_table_with_its_verdict(store: RunStore) -> None:
    ReportPublisher({"formats": []}).publish(store)
    page = Page(store.report.read_text())
    anchors = page.all("id")
    assert anchors.index("verdict") < anchors.index("claims") < anchors.index("experiment")
    rows = [f"claim-{name}" for name in ("fast", "slow", "flat", "elsewhere", "spark")]
    assert [anchor for anchor in anchors if anchor.startswith("claim-")] == rows
    marks = [m for m in page.all("class") if m.startswith("mark ") and m[5:] in VERDICTS]
    assert marks == [f"mark {verdict}" for verdict in VERDICTS]
    for text in ("A function costs <nothing>.", "a host of 2012", "about 1.5 ms", "a third"):
        assert text in page.text
    assert "claims.json" in page.text


def test_a_run_without_claims_has_no_section(new_run: RunStore) -> None:
    assert claims_section(new_run) is None


def test_the_interval_is_drawn_where_it_lies(section: ClaimsSection) -> None:
    fast, slow, *_, spark = section.claims
    assert fast.mark is not None and fast.mark.band is not None and fast.mark.second is not None
    assert fast.mark.low is not None and fast.mark.high is not None
    start, width = fast.mark.band
    assert 0 < start < fast.mark.low < fast.mark.x < fast.mark.high < start + width < 100
    assert start < fast.mark.second[0] < start + width
    assert slow.mark is not None and slow.mark.band is not None and slow.mark.high is not None
    # A range without an upper end goes on to the edge.
    assert slow.mark.high < slow.mark.band[0] and sum(slow.mark.band) == 100
    assert spark.mark is None


def test_an_end_that_is_not_known_goes_on_beyond_the_axis(store: RunStore, tmp_path: Path) -> None:
    document = store.document(RunFile.CLAIMS)
    assert document is not None
    rows = [{**row, "low": None} for row in document["claims"]]
    store = claimed_run(tmp_path / "run")
    store.write_document(RunFile.CLAIMS, {**document, "claims": rows})
    found = claims_section(store)
    assert found is not None
    mark = found.claims[0].mark
    assert mark is not None and (mark.low, mark.below, mark.above) == (0, True, False)
    assert claim_texts.interval_text(rows[0]).startswith("[-∞, ")


def test_numbers_of_the_workflow_keep_their_digits(section: ClaimsSection) -> None:
    rows = [view.row for view in section.claims]
    texts = [claim_texts.published_text(row) for row in rows]
    assert texts == ["200 µs", "about 1.5 ms", "nothing", "900 µs", "–"]
    assert [claim_texts.range_text(row) for row in rows] == [
        "between 100 µs and 1 ms", "above 1 ms", "above 1.5", "above 800 µs", ""
    ]  # fmt: skip
    assert claim_texts.range_text({**rows[0], "per": "n"}).endswith("1 ms per n")


def test_damage_is_named(tmp_path: Path) -> None:
    store = claimed_run(tmp_path / "run")
    path = store.folder / RunFile.CLAIMS
    document = json.loads(path.read_text())
    document["claims"][0]["verdict"] = "true"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="damaged"):
        claims_section(store)
