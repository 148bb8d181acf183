"""A real browser for the end-to-end tests: headless Chromium, offline."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-sync",
)
TIMEOUT_S = 60

Browser = Any


def find(*names: str) -> str:
    """Path of the first of these programs that is there."""
    for name in names:
        if path := shutil.which(name):
            return path
    pytest.skip(f"needs {' or '.join(names)} (make setup)")


@pytest.fixture(scope="module")
def started_browser() -> Iterator[Browser]:
    options = webdriver.ChromeOptions()
    options.binary_location = find("chromium", "chromium-browser", "google-chrome")
    for flag in FLAGS:
        options.add_argument(flag)
    profile = tempfile.mkdtemp(prefix="sfcperf-chromium-")
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(find("chromedriver")))
    yield driver
    driver.quit()
    shutil.rmtree(profile, ignore_errors=True)


@pytest.fixture
def browser(started_browser: Browser) -> Browser:
    """A browser at desktop size that has forgotten the test before."""
    started_browser.get("about:blank")
    for log in ("browser", "performance"):
        started_browser.get_log(log)
    size(started_browser, 1280, 900)
    return started_browser


def size(browser: Browser, width: int, height: int) -> None:
    """Size of the page; a phone below 500 pixels."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def theme(browser: Browser, scheme: str) -> None:
    """`light` or `dark`."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def wait(browser: Browser, condition: Callable[[Browser], Any]) -> Any:
    """What the condition gives once it is true."""
    return WebDriverWait(browser, TIMEOUT_S).until(condition)


def requests(browser: Browser) -> list[str]:
    """Addresses that the browser asked for since the log was read last."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [m for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [message["params"]["request"]["url"] for message in sent]
