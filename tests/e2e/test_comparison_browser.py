"""The page of a comparison in a real browser, offline, from a file: URL."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from support.records.compared_runs import ping_run, variants_run
from support.servers.browser import Browser, requests, theme, wait
from support.servers.pages import check_width, draw_all, poor_contrast

from sfcperf.analysis.comparison import Options, Side, compare
from sfcperf.comparison import comparison_page
from sfcperf.report.publisher import ReportPublisher

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, the first with a report, in another folder than the page."""
    folder = tmp_path_factory.mktemp("compared")
    old = ping_run(folder / "runs" / "old", bad={(2, "s001"): "untrusted"})
    new = ping_run(folder / "runs" / "new", ratio=1.1, seed=2)
    ReportPublisher({"formats": ["svg"]}).publish(old)
    sides = [Side("old", old), Side("new", new)]
    target = folder / "comparison.html"
    found = compare(*sides, Options(all_metrics=True))
    target.write_text(comparison_page(found, sides, target))
    return target


def test_everything_is_drawn_without_network_or_errors(browser: Browser, page: Path) -> None:
    browser.get(page.as_uri())
    draw_all(browser)
    assert len(browser.find_elements(By.CSS_SELECTOR, ".chart .main-svg")) >= 2
    assert browser.get_log("browser") == []
    own = (page.as_uri(), "data:", "blob:")
    assert [url for url in requests(browser) if not url.startswith(own)] == []
    assert "ping rtt rose in both scenarios" in browser.find_element(By.ID, "verdict").text
    dead = browser.execute_script(
        """
        return [...document.querySelectorAll("a[href^='#']")].map((a) => a.getAttribute("href"))
          .filter((h) => !document.getElementById(decodeURIComponent(h.slice(1))));
        """
    )
    assert dead == []


@pytest.mark.exhaustive
def test_the_forest_is_drawn_to_scale(browser: Browser, page: Path) -> None:
    """+10 % lies right of the margin's end at +5 %, twice as far from 0."""
    browser.get(page.as_uri())
    zero, margin, at = browser.execute_script(
        """
        const svg = document.querySelector("#row-0 svg");
        const middle = (e) => { const b = e.getBoundingClientRect(); return b.left + b.width / 2; };
        return [middle(svg.querySelector(".zero")),
                svg.querySelector(".band").getBoundingClientRect().right,
                middle(svg.querySelector("circle"))];
        """
    )
    assert zero < margin < at
    assert (at - zero) / (margin - zero) == pytest.approx(2, abs=0.4)


def test_the_keyboard_leads_from_a_point_to_its_trial_and_its_report(
    browser: Browser, page: Path
) -> None:
    browser.get(page.as_uri())
    draw_all(browser)
    chart = browser.find_element(By.ID, "trials-0")
    chart.send_keys(Keys.ARROW_RIGHT)
    assert "r00" in browser.find_element(By.ID, "announcer").get_attribute("textContent")
    chart.send_keys(Keys.ENTER)
    wait(browser, lambda b: b.switch_to.active_element.get_attribute("id").startswith("trial-0-r"))
    link = browser.switch_to.active_element.find_element(By.TAG_NAME, "a")
    address, _, anchor = link.get_attribute("href").partition("#")
    assert address == (page.parent / "runs" / "old" / "report.html").as_uri()
    assert f'id="{anchor}"' in (page.parent / "runs" / "old" / "report.html").read_text()


@pytest.mark.parametrize("width", [375, 768])
def test_a_phone_scrolls_in_one_direction(browser: Browser, page: Path, width: int) -> None:
    check_width(browser, page.as_uri(), width)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(browser: Browser, page: Path, scheme: str) -> None:
    """Text on what is behind it: at least 4.5:1 (WCAG 2.2, 1.4.3); marks of the forest 3:1."""
    theme(browser, scheme)
    browser.get(page.as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    marks = """
        [...document.querySelectorAll(".forest svg")]
          .filter((s) => s.querySelector("circle"))
          .map((s) => {
            const band = s.querySelector(".band");
            const behind = band ? parse(getComputedStyle(band).fill) : ground(s.parentElement);
            const point = parse(getComputedStyle(s.querySelector("circle")).fill);
            return [ratio(light(point), light(behind)), 3, "mark"];
          })
        """
    poor = poor_contrast(browser, marks)
    theme(browser, "light")
    assert poor == []


@pytest.mark.exhaustive
def test_hostile_words_run_nothing(browser: Browser, tmp_path: Path) -> None:
    hostile = "<img src=x onerror=x></script><script>document.title='owned'</script>"
    run = variants_run(tmp_path / "run")
    manifest = run.manifest()
    manifest["variants"][1]["changes"] = {hostile: hostile}
    run.write_manifest(manifest)
    sides = [Side("ovs", run, "ovs"), Side(hostile, run, "ebpf")]
    target = tmp_path / "page.html"
    target.write_text(comparison_page(compare(*sides), sides, target))
    browser.get(target.as_uri())
    draw_all(browser)
    assert "owned" not in browser.title.partition(" against")[2]
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0
    assert browser.get_log("browser") == []
