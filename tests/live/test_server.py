"""``dse open``: who may read the page, and a change on it in a browser."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from tests.browser import browser, console, requests
from tests.live.test_session import FIXED
from tests.toy import written

SERIES = """
const plot = document.querySelector("iframe").contentDocument.getElementById("plane");
const series = plot.data.filter(({ name }) => name.startsWith(arguments[0]));
return series.map(({ x, y, marker }) => [x, y, marker.color]);
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("open"), text=FIXED)


@pytest.fixture(scope="module")
def address(study: Path) -> Iterator[str]:
    """Open the study in a process of its own; it ends cleanly at Ctrl-C."""
    command = [sys.executable, "-m", "dse", "open", study.name]
    process = subprocess.Popen(command, cwd=study.parent, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()


def answered(address: str, headers: Mapping[str, str] = {}, body: Any = None) -> tuple[int, str]:
    host, place = address.split("/", 3)[2:]
    connection = HTTPConnection(host, timeout=30)
    try:
        method = "GET" if body is None else "POST"
        connection.request(method, f"/{place}", json.dumps(body), {"Host": host, **headers})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_only_the_address_with_the_token_is_answered(address: str) -> None:
    host = address.split("/")[2]
    assert host.startswith("127.0.0.1:")
    assert len(address.split("/")[3]) >= 32
    assert answered(address)[0] == 200
    assert answered(address, {"Origin": f"http://{host}"})[0] == 200
    for place in ("", "state", "change", "wrong/state", "../state"):
        status, text = answered(f"http://{host}/{place}")
        assert status == 403 and "dse open" in text
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example"},
    ):
        assert answered(address + "state", headers)[0] == 403
        assert answered(address + "change", headers, {"inputs": {"size": 1}})[0] == 403
    assert answered(address + "change", {}, {"study": {"size": 1}})[0] == 400
    assert answered(address + "change", {}, {"inputs": {"size": {"file": "/etc/passwd"}}})[0] == 400
    assert answered(address + "report/99")[0] == 404
    assert json.loads(answered(address + "state")[1])["asked"] == 1  # none was taken


def test_a_changed_input_moves_the_front_and_leaves_the_old_one_grey(
    address: str, study: Path, tmp_path: Path
) -> None:
    text = study.read_text()
    with browser(tmp_path) as chrome:
        chrome.get(address)
        wait = WebDriverWait(chrome, 60)

        def shown(report: int) -> bool:
            script = "return document.querySelector('#frames').dataset.report"
            return int(chrome.execute_script(script) or 0) >= report

        def write(name: str, value: str) -> None:
            _box(chrome, name).send_keys(Keys.CONTROL, "a")
            _box(chrome, name).send_keys(f"{value}\n")

        wait.until(lambda _: shown(1))
        (first,) = chrome.execute_script(SERIES, "front (")
        assert chrome.execute_script(SERIES, "front before") == []
        assert _box(chrome, "size").get_property("value") == "1 KiB"
        write("size", "1 MiB")
        wait.until(lambda _: shown(2))
        (now,) = chrome.execute_script(SERIES, "front (")
        (before,) = chrome.execute_script(SERIES, "front before")
        assert before[:2] == first[:2]
        assert now[:2] != first[:2]
        red, green, blue = (int(before[2][at : at + 2], 16) for at in (1, 3, 5))
        assert max(red, green, blue) - min(red, green, blue) < 24
        frame = "document.querySelector('iframe').contentDocument"
        shown_text = chrome.execute_script(
            f"return {frame}.getElementById('study-text').textContent"
        )
        assert 'size = "1 MiB"' in shown_text
        assert study.read_text() == text  # the file is the user's
        # a problem is shown, and the report stays
        write("cost at most", "2 parsecs")
        problem = chrome.find_element(By.ID, "problem")
        wait.until(lambda _: problem.is_displayed())
        assert "parsec" in problem.text
        write("cost at most", "2 kLUT")
        wait.until(lambda _: shown(4) and not problem.is_displayed())
        host = address.split("/")[2]
        asked = [each for each in requests(chrome) if each.startswith("http")]
        assert asked and all(each.split("/")[2] == host for each in asked)
        assert console(chrome) == []


def _box(chrome: Chrome, name: str) -> WebElement:
    return chrome.find_element(By.CSS_SELECTOR, f".control[data-name='{name}'] input[type=text]")
