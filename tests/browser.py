"""A real browser without a window and without a network, for tests of the report."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

_FLAGS = (
    "--headless",
    "--no-sandbox",  # tests may run as root
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",  # WebGL by software: machines that run tests have no graphics
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:9",  # nothing answers there
    "--hide-scrollbars",
)


@contextmanager
def browser(folder: Path, size: tuple[int, int] = (1280, 900)) -> Iterator[Chrome]:
    """Open Chromium with a fresh profile, logs and downloads in a folder of the test's own.

    Fails the test where Chromium or its driver is not installed.
    """
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.fail(
            "the report's tests need a browser: apt-get install chromium chromium-driver",
            pytrace=False,
        )
    options = ChromeOptions()
    options.binary_location = program
    for flag in (
        *_FLAGS,
        f"--user-data-dir={folder / 'profile'}",
        f"--window-size={size[0]},{size[1]}",
    ):
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = Chrome(options=options, service=Service(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


def console(chrome: Chrome) -> list[str]:
    """Return what the page wrote to the console, and the errors that it left uncaught."""
    return [f"{entry['level']}: {entry['message']}" for entry in chrome.get_log("browser")]


def requests(chrome: Chrome) -> list[str]:
    """Return the addresses that the page asked for since the last call."""
    events: list[dict[str, Any]] = [
        json.loads(entry["message"])["message"] for entry in chrome.get_log("performance")
    ]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
