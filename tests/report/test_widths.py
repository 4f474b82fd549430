"""The page in a real browser: at every width nothing is cut off without a word that there is more."""

import pytest
from making_runs import synthetic_run
from playwright.sync_api import sync_playwright

from bemps.report import write_report

# everything that holds more than it shows, other than figures and tables that say so
CUT = """() => [...document.querySelectorAll('body *')]
  .filter(e => !e.closest('svg') && e.checkVisibility() && e.clientWidth && e.scrollWidth > e.clientWidth + 1)
  .filter(e => getComputedStyle(e).display !== 'inline' && !['SELECT', 'TABLE'].includes(e.tagName))
  .filter(e => getComputedStyle(e, '::before').content.indexOf('Scroll sideways') < 0)
  .map(e => `${e.tagName}.${e.className} ${e.scrollWidth}/${e.clientWidth}`)"""
WIDE = """() => [...document.querySelectorAll('.table')]
  .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).length"""


@pytest.fixture(scope="module")
def report(tmp_path_factory, chromium):
    folder = tmp_path_factory.mktemp("runs") / "synthetic"
    synthetic_run(folder, datasets=("digits",), batches=(5, 10))
    page = write_report(folder)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox"])
        tab = browser.new_page()
        tab.goto(page.as_uri())
        yield tab
        browser.close()


@pytest.mark.parametrize("width", [390, 800, 1200, 1440, 1920])
def test_nothing_is_cut_without_a_word(report, width):
    report.set_viewport_size({"width": width, "height": 900})
    for folded in (False, True):
        report.evaluate("open => document.querySelectorAll('details').forEach(d => { d.open = open })", folded)
        report.wait_for_timeout(100)
        assert report.evaluate(CUT) == []
    assert report.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1200, 1440, 1920])
def test_tables_are_whole_on_a_desktop(report, width):
    report.set_viewport_size({"width": width, "height": 900})
    report.evaluate("document.querySelectorAll('details').forEach(d => { d.open = false })")
    assert report.evaluate(WIDE) == 0


def test_a_phone_is_told_to_scroll(report):
    report.set_viewport_size({"width": 390, "height": 800})
    marked = "[...document.querySelectorAll('.table.scrolls')].filter(e => e.checkVisibility()).length"
    report.wait_for_function(f"() => ({WIDE})() > 0 && {marked} === ({WIDE})()")
