"""What all pages of SFCPerf have in common: charts that are drawn when they are seen, and rules
of layout and colour."""

from __future__ import annotations

from typing import Any

from selenium.webdriver.common.by import By

from support.servers.browser import Browser, size, wait

_CONTRAST = """
    const parse = (c) => c.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
      .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const ground = (e) => {
      for (; e; e = e.parentElement) {
        const c = parse(getComputedStyle(e).backgroundColor);
        if (c.length === 3 || c[3] > 0) return c;
      }
      return [255, 255, 255];
    };
    const words = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    const text = [...document.querySelectorAll("body *:not(svg *)")]
      .filter((e) => e.offsetParent && words(e))
      .map((e) => [ratio(light(parse(getComputedStyle(e).color)), light(ground(e))), 4.5,
                   e.tagName, e.className, e.textContent.slice(0, 30)]);
"""


def show(browser: Browser, chart: str) -> Any:
    """Scroll to a chart and wait until it is drawn."""
    element = browser.find_element(By.ID, chart)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    wait(browser, lambda _: element.get_attribute("data-state") == "drawn")
    return element


def draw_all(browser: Browser) -> None:
    """Open all details, and have all charts drawn."""
    browser.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    for chart in browser.find_elements(By.CLASS_NAME, "chart"):
        show(browser, chart.get_attribute("id"))


PHONE = 640
"""Width below which nothing scrolls sideways, CSS pixels."""

_BEYOND = """
    const page = { left: 0, right: document.documentElement.clientWidth };
    const sticksOut = (e, within) => {
      const box = e.getBoundingClientRect();
      return box.width > 0 && (box.right > within.right + 1 || box.left < within.left - 1);
    };
    const named = (e) => `${e.tagName} ${e.getAttribute("class")}: ${e.textContent.slice(0, 40)}`;
    // Of a chart, Plotly cuts what sticks out.
    const words = [...document.querySelectorAll(".chart :is(.xtitle, .ytitle, .legendtext)")]
      .filter((e) => sticksOut(e, e.closest(".chart").getBoundingClientRect()));
    const elements = [...document.querySelectorAll("header *, main *, footer *")]
      .filter((e) => !e.closest(".sr, .js-plotly-plot") && sticksOut(e, page));
    return [...words, ...elements].map(named);
"""


def check_width(browser: Browser, address: str, width: int) -> None:
    """On a screen of this width, the page scrolls in one direction alone; on a phone, neither
    does any table, drawing or chart: each column can be read."""
    size(browser, width, 800)
    browser.get(address)
    draw_all(browser)
    wide = "const e = document.documentElement; return [e.clientWidth, e.scrollWidth]"
    visible, needed = browser.execute_script(wide)
    assert width - 20 <= visible <= width
    assert needed <= visible
    if width < PHONE:
        assert browser.execute_script(_BEYOND) == []


def poor_contrast(browser: Browser, others: str = "[]") -> list[Any]:
    """Text with less than 4.5:1 to what is behind it (WCAG 2.2, 1.4.3). `others`: JavaScript that
    gives `[ratio, least, ...]` of other things, with the functions of _CONTRAST."""
    poor = f"return [...text, ...{others}].filter(([found, least]) => found < least);"
    return browser.execute_script(_CONTRAST + poor)
