"""A real browser without a window and without a network, for tests of the report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from tests.needs import needs

_FLAGS = (
    "--headless",
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",  # WebGL by software: machines that run tests have no graphics
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # dse open is there
    "--proxy-server=127.0.0.1:9",  # nothing answers there
    "--window-size=1280,1000",
)

_COLORED = """
const [png, done] = arguments, image = new Image();
image.onload = () => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(image, 0, 0);
  const pixels = context.getImageData(0, 0, image.width, image.height).data;
  let count = 0;
  for (let i = 0; i < pixels.length; i += 4) {
    const [r, g, b] = [pixels[i], pixels[i + 1], pixels[i + 2]];
    count += Math.max(r, g, b) - Math.min(r, g, b) > 60;
  }
  done(count);
};
image.src = `data:image/png;base64,${png}`;
"""


@contextmanager
def browser(folder: Path) -> Iterator[Chrome]:
    """Open Chromium with a fresh profile and downloads in a folder of the test's own.

    Skips the test if Chromium or its driver is not installed.
    """
    program, driver = needs("chromium", "chromedriver")
    options = ChromeOptions()
    options.binary_location = program
    for flag in (*_FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = Chrome(options=options, service=Service(driver))
    try:
        chrome.get("about:blank")  # and not the browser's own start page
        requests(chrome)
        yield chrome
    finally:
        chrome.quit()


def open_report(chrome: Chrome, path: Path) -> None:
    """Open a report with its table of designs, and wait until its script has run."""
    chrome.get(path.as_uri())
    answer = "document.querySelector('#sentence').textContent"
    script = f"return document.readyState === 'complete' && {answer}"
    WebDriverWait(chrome, 60).until(lambda _: chrome.execute_script(script))
    chrome.execute_script("document.getElementById('designs').open = true")


def _log(chrome: Chrome, name: str) -> list[dict[str, Any]]:
    return list(chrome.get_log(name))  # type: ignore[no-untyped-call]


def console(chrome: Chrome) -> list[str]:
    """Return the errors on the page's console, uncaught ones too, since the last call."""
    return [entry["message"] for entry in _log(chrome, "browser") if entry["level"] == "SEVERE"]


def requests(chrome: Chrome) -> list[str]:
    """Return the addresses that the page asked for since the last call."""
    events: list[dict[str, Any]] = [
        json.loads(entry["message"])["message"] for entry in _log(chrome, "performance")
    ]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]


def colored_pixels(chrome: Chrome, element: WebElement) -> int:
    """Return how many pixels of an element, as it is on the screen, are neither grey nor white."""
    count = chrome.execute_async_script(_COLORED, element.screenshot_as_base64)
    return int(count)


def column(chrome: Chrome, name: str) -> list[str]:
    """Return the texts of a column of the front's table."""
    script = """
    const heads = [...document.querySelectorAll("#front-table thead th button")];
    const at = heads.findIndex((head) => head.textContent.split(" [")[0] === arguments[0]);
    const rows = [...document.querySelectorAll("#front-table tbody tr")];
    return rows.map((row) => row.children[at].textContent);
    """
    return list(chrome.execute_script(script, name))


def head(chrome: Chrome, name: str) -> WebElement:
    heads = chrome.find_elements(By.CSS_SELECTOR, "#front-table thead th button")
    return next(h for h in heads if h.get_property("textContent").split(" [")[0] == name)  # type: ignore[union-attr]


def designs(chrome: Chrome) -> list[int]:
    return [int(text.replace(",", "")) for text in column(chrome, "design")]


def click(chrome: Chrome, element: WebElement) -> None:
    chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def fill(chrome: Chrome, element: WebElement, text: str) -> None:
    """Add a text to a field: the last letter by its key, since the page answers each key."""
    chrome.execute_script("arguments[0].value += arguments[1]", element, text[:-1])
    element.send_keys(text[-1])


def open_tab(chrome: Chrome, name: str) -> WebElement:
    click(chrome, chrome.find_element(By.ID, f"tab-{name}"))
    return chrome.find_element(By.ID, name)


def download(chrome: Chrome, link: str, path: Path) -> Path:
    """Click on a link, wait until its file is in the folder of downloads, and return the path."""
    path.unlink(missing_ok=True)
    click(chrome, chrome.find_element(By.ID, link))
    WebDriverWait(chrome, 20, poll_frequency=0.05).until(lambda _: path.exists())
    return path
