"""The report in a real browser, offline, from a file: URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from support.network.answering import answering
from support.records.attributed import seen_run
from support.records.runs import RunOptions, build_run
from support.records.time_series import with_steps
from support.servers.browser import Browser, requests, size, theme, wait
from support.servers.pages import check_width, draw_all, poor_contrast, show

from sfcperf.control import publishing
from sfcperf.control.lock import held
from sfcperf.figures.run_data import label_runs
from sfcperf.report import serving
from sfcperf.report.multi_run import write_report
from sfcperf.report.publisher import ReportPublisher
from sfcperf.report.serving import report_server

pytestmark = pytest.mark.server

HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = build_run(tmp_path_factory.mktemp("runs") / "20260101-120000-fig8-short-abc123")
    ReportPublisher({}).publish(run)
    return run.report


KINDS = tuple(
    {
        "name": kind, "probe": "ping", "metric": "rtt_us", "x": "chain_length", "kind": kind,
        "series": "topology", "y_label": "RTT [us]",
    }
    for kind in ("line", "bar", "box", "ecdf", "ecdf-trials", "time")
)  # fmt: skip


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page over two runs, the second with figures of every kind."""
    folder = tmp_path_factory.mktemp("many")
    small = RunOptions(name="first", rounds=2, figures=())
    stores = [
        build_run(folder / "first", small),
        with_steps(
            build_run(folder / "second", RunOptions(name="second", rounds=6, figures=KINDS))
        ),
    ]
    for store in stores:
        ReportPublisher({"formats": ["svg"]}).publish(store)
    write_report(label_runs(stores, {}), folder / "runs.html")
    return folder / "runs.html"


def trial_points(browser: Browser, chart: str) -> list[dict[str, Any]]:
    """Where the trials of a chart are on the screen, and which."""
    return browser.execute_script(
        """
        const gd = document.getElementById(arguments[0]);
        const box = gd.getBoundingClientRect(), {xaxis, yaxis} = gd._fullLayout;
        return gd.data.filter((t) => t.meta === "trial").flatMap((t) => t.x.map((x, i) => ({
          x: box.left + xaxis._offset + xaxis.d2p(x),
          y: box.top + yaxis._offset + yaxis.d2p(t.y[i]),
          anchor: t.customdata[i]})));
        """,
        chart,
    )


def test_everything_is_drawn_without_network_or_errors(browser: Browser, report: Path) -> None:
    browser.get(report.as_uri())
    draw_all(browser)
    charts = browser.find_elements(By.CSS_SELECTOR, ".chart .main-svg")
    assert len(charts) >= 10
    assert browser.get_log("browser") == []
    own = report.as_uri()
    assert [url for url in requests(browser) if not url.startswith((own, "data:", "blob:"))] == []


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("page", ["runs.html", "second/report.html"])
def test_many_runs_and_every_kind_are_drawn(browser: Browser, many: Path, page: str) -> None:
    check_width(browser, (many.parent / page).as_uri(), 400)
    # What is drawn says its units on both axes, or counts what has none.
    titles = browser.execute_script(
        """
        return [...document.querySelectorAll(".chart")].map((c) =>
          [c.id, c._fullLayout.xaxis.title.text, c._fullLayout.yaxis.title.text]);
        """
    )
    assert titles
    for chart, x, y in titles:
        assert x, chart
        assert y.endswith("]") or y.endswith(")"), (chart, y)
    assert browser.get_log("browser") == []


@pytest.mark.exhaustive
def test_a_point_of_many_runs_opens_its_own_report(browser: Browser, many: Path) -> None:
    browser.get(many.as_uri())
    chart = show(browser, "metric-0")
    chart.send_keys(Keys.ARROW_RIGHT)
    chart.send_keys(Keys.ENTER)
    wait(browser, lambda b: "/report.html#trial-" in b.current_url)
    anchor = browser.current_url.rpartition("#")[2]
    wait(browser, lambda b: b.switch_to.active_element.get_attribute("id") == anchor)


@pytest.mark.exhaustive
def test_focus_is_always_seen(browser: Browser, report: Path) -> None:
    """From the top with the Tab key: each stop is visible and marked, and tables that are wider
    than the page are among them."""
    size(browser, 375, 800)
    browser.get(report.as_uri())
    reached = set()
    for _ in range(40):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        stop = browser.switch_to.active_element
        look = browser.execute_script(
            "const s = getComputedStyle(arguments[0]); return [s.outlineStyle, s.outlineWidth]",
            stop,
        )
        assert look == ["solid", "3px"], stop.get_attribute("outerHTML")[:200]
        reached.add((stop.get_attribute("class") or "").split(" ")[0])
    assert {"skip", "scroll", "chart"} <= reached


def test_clicking_a_point_leads_to_its_trial(browser: Browser, report: Path) -> None:
    browser.get(report.as_uri())
    show(browser, "figure-0")
    point = max(trial_points(browser, "figure-0"), key=lambda p: p["x"])
    mouse = ActionChains(browser)
    mouse.w3c_actions.pointer_action.move_to_location(int(point["x"]), int(point["y"]))
    mouse.perform()
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "#figure-0 .hoverlayer .hovertext"))
    ActionChains(browser).click().perform()
    wait(browser, lambda b: "#" in b.current_url)
    anchor = browser.current_url.rpartition("#")[2]
    assert anchor in {p["anchor"] for p in trial_points(browser, "figure-0")}
    row = browser.find_element(By.ID, anchor)
    assert browser.switch_to.active_element == row
    raw = row.find_element(By.LINK_TEXT, "raw").get_attribute("href")
    assert raw == f"{report.parent.as_uri()}/raw/{anchor.removeprefix('trial-')}/"


def test_keyboard_alone_reaches_a_trial(browser: Browser, report: Path) -> None:
    browser.get(report.as_uri())
    show(browser, "figure-0")
    chart = browser.find_element(By.ID, "figure-0")
    for _ in range(60):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        if browser.switch_to.active_element == chart:
            break
    assert browser.switch_to.active_element == chart
    said = browser.find_element(By.ID, "announcer")
    chart.send_keys(Keys.ARROW_RIGHT)
    first = said.get_attribute("textContent")
    chart.send_keys(Keys.ARROW_RIGHT)
    second = said.get_attribute("textContent")
    assert "ping" in first
    assert first != second
    chart.send_keys(Keys.ENTER)
    trial = second.partition(",")[0]
    wait(browser, lambda b: b.switch_to.active_element.get_attribute("id") == f"trial-{trial}")


def test_filters(browser: Browser, report: Path) -> None:
    browser.get(report.as_uri())
    shown = "return [...document.querySelectorAll('tr.trial')].filter((r) => r.offsetParent).length"
    assert browser.execute_script(shown) == 72
    browser.find_element(By.CSS_SELECTOR, "input[value=valid]").click()
    assert browser.execute_script(shown) == 2
    Select(browser.find_element(By.NAME, "probe")).select_by_visible_text("httperf")
    wait(browser, lambda b: b.execute_script(shown) == 1)
    assert browser.find_element(By.ID, "shown").text == "1 of 72 trials"
    # A link to a row that is filtered away shows it.
    browser.execute_script("location.hash = 'trial-r001-s000-ping'")
    wait(browser, lambda b: b.find_element(By.ID, "trial-r001-s000-ping").is_displayed())
    browser.find_element(By.CSS_SELECTOR, "input[type=search]").send_keys("412.1 of 500")
    assert browser.execute_script(shown) == 1


def test_a_phone_scrolls_in_one_direction(browser: Browser, report: Path) -> None:
    """The smallest width of WCAG 2.2, 1.4.10."""
    check_width(browser, report.as_uri(), 320)


def test_a_phone_shows_each_column_and_bar(browser: Browser, tmp_path: Path) -> None:
    """Of results with long names, and of the times of VNFs."""
    longs = {
        "name": "long", "probe": "ping", "metric": "rtt_us", "x": "topology", "kind": "bar",
        "series": "chain_length", "y_label": "Round-trip time of all packets of the flow [us]",
        "x_label": "How nodes and links of the test bed are connected with each other [name]",
    }  # fmt: skip
    options = RunOptions(rounds=2, chain_lengths=range(6), figures=(longs,), flows=True)
    stores = [build_run(tmp_path / "long", options), seen_run(tmp_path / "seen", scenarios=2)]
    assert publishing.analyse(stores[1]) == []
    for store in stores:
        ReportPublisher({"formats": []}).publish(store)
        check_width(browser, store.report.as_uri(), 400)
    # Each cell says the name of its column, which is not seen.
    browser.get(stores[0].report.as_uri())
    names = browser.execute_script(
        """
        const row = document.querySelector("#results tbody tr");
        return [...row.cells].map((cell) => getComputedStyle(cell, "::before").content);
        """
    )
    assert {'"Mean"', '"n"', '"Valid"'} <= set(names)


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(browser: Browser, report: Path, scheme: str) -> None:
    """Text on what is behind it: at least 4.5:1 (WCAG 2.2, 1.4.3)."""
    theme(browser, scheme)
    browser.get(report.as_uri())
    poor = poor_contrast(browser)
    theme(browser, "light")
    assert poor == []


def test_the_theme_button_changes_charts_too(browser: Browser, report: Path) -> None:
    theme(browser, "light")
    browser.get(report.as_uri())
    show(browser, "figure-0")
    colour = "return document.getElementById('figure-0').layout.font.color"
    before = browser.execute_script(colour)
    browser.execute_script("scrollTo(0, 0)")
    browser.find_element(By.ID, "theme").click()
    wait(browser, lambda b: b.execute_script(colour) != before)
    assert browser.find_element(By.ID, "theme").text == "Light"


def test_hostile_words_run_nothing(browser: Browser, tmp_path: Path) -> None:
    options = RunOptions(
        description=HOSTILE, reason=HOSTILE, topologies=("T1",), rounds=2, figures=(),
    )  # fmt: skip
    run = build_run(tmp_path / "run", options)
    manifest = run.manifest()
    versions = {**manifest["versions"], "tools": {HOSTILE: HOSTILE}}
    run.write_manifest({**manifest, "problems": [HOSTILE], "versions": versions})
    ReportPublisher({"formats": ["svg"]}).publish(run)
    browser.get(run.report.as_uri())
    draw_all(browser)
    show(browser, "metric-0").send_keys(Keys.ARROW_RIGHT)
    assert "SFCPerf report" in browser.title
    assert browser.get_log("browser") == []


@pytest.mark.exhaustive
def test_a_served_report_follows_the_run(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "SHARE", 1e6)  # each change makes a page
    options = RunOptions(trials=20, summaries=False, telemetry=False, status="running")
    store = build_run(tmp_path / "run", options)
    lines = (store.folder / "trials.jsonl").read_text().splitlines(keepends=True)
    (store.folder / "trials.jsonl").write_text("".join(lines[:10]))
    with held(store.folder, store.run_id), answering(report_server(store, 0)) as server:
        browser.get(f"http://127.0.0.1:{server.server_port}/")
        counted = "return document.querySelector('.verdict .counts').innerText.split(' ')[0]"
        assert browser.execute_script(counted) == "10"
        browser.execute_script("window.stays = true; window.scrollTo(0, 600)")
        # Nothing has changed: the page stays for longer than a look takes to come.
        wait(browser, lambda b: len(asked(b)) > 1)
        assert browser.execute_script("return window.stays")
        (store.folder / "trials.jsonl").write_text("".join(lines))
        wait(browser, lambda b: b.execute_script(counted) == "20")
        wait(browser, lambda b: b.execute_script("return window.scrollY") == 600)
        assert browser.get_log("browser") == []
        draw_all(browser)


def asked(browser: Browser) -> list[Any]:
    """Requests of the page that its script has made."""
    entries = "return performance.getEntriesByType('resource').map((entry) => entry.initiatorType)"
    return [kind for kind in browser.execute_script(entries) if kind == "fetch"]
