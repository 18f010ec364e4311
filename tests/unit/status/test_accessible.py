"""The page in a browser, by the rules of axe-core: contrast, names, tables, headings."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import browser
import pytest
from support.busy_shop import busy_shop

from alluvium.command import main as command

AXE = "axe-core@4.11.0"
RULES = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}"

pytestmark = [pytest.mark.slow, pytest.mark.network]


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Its source."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm, which gets axe-core")
    folder = tmp_path_factory.mktemp("axe")
    subprocess.run([npm, "pack", AXE], cwd=folder, check=True, capture_output=True)
    [archive] = folder.glob("*.tgz")
    with tarfile.open(archive) as found:
        source = found.extractfile("package/axe.min.js")
        assert source is not None
        return source.read().decode()


@pytest.fixture(scope="module")
def shown() -> Iterator[browser.Browser]:
    program = browser.found()
    if program is None:
        pytest.skip(f"there is no browser; one of {', '.join(browser.NAMES)} is asked")
    with browser.Browser(program) as started:
        yield started


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with every part and every state."""
    folder = tmp_path_factory.mktemp("shop")
    shop = busy_shop(folder)
    shop.node("logs", "streaming_table")
    shop.node("damaged", "streaming_table")
    log = shop.place("damaged") / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{1:020}.json").write_text("{}")
    assert command.main(["report", "--project-dir", str(folder)]) == 0
    return folder / "target" / "alluvium.html"


def test_what_draws_says_what_is_missing() -> None:
    script = Path(__file__).parents[3] / "scripts" / "screenshots"
    done = subprocess.run(
        [sys.executable, script], env={"PATH": ""}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "is missing: apt-get install chromium pngquant" in done.stderr


@pytest.mark.parametrize("width", [1280, 820, 390])
@pytest.mark.parametrize("is_dark", [False, True])
def test_no_rule_is_broken(
    axe: str, shown: browser.Browser, page: Path, width: int, is_dark: bool
) -> None:
    shown.ask("Page.setBypassCSP", enabled=True)
    shown.open(page, width, 900, is_dark=is_dark)
    shown.value("document.querySelectorAll('details').forEach(one => { one.open = true })")
    shown.value(axe)
    found = shown.value(f"axe.run({RULES})")
    broken = [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
    assert broken == []
    # It looked: at contrasts, at tables.
    assert {"color-contrast", "td-headers-attr", "page-has-heading-one"} <= {
        rule["id"] for rule in found["passes"]
    }
    assert shown.value("document.documentElement.scrollWidth") == width
