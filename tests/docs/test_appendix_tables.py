"""The tables of the README and the docs that come from committed results are what the results give."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/results.md", *(f"docs/appendices/{page}.md" for page in ("main", "comparison"))]
PAGES += [f"docs/appendices/{page}.md" for page in ("default", "quality", "systems")]
RUN = "run: python studies/appendix_tables.py"
SHARE = re.compile(r"\d %\*{0,2} \((?:no|none|-?\d+) to (?:no|none|-?\d+)\)")
BLOCK = re.compile(r"<!-- generated: (.*?) -->\n(.*?)<!-- end of generated: \1 -->", flags=re.DOTALL)


@pytest.fixture(scope="module")
def study():
    """A module of studies/, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "studies")
        yield importlib.import_module


@pytest.fixture(scope="module")
def tables(study):
    return study("appendix_tables")


def test_the_pages_are_those_of_the_command(tables):
    assert sorted(tables.PAGES) == sorted(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_of_a_page_are_what_the_results_give(tables, page):
    assert list(tables.stale(page, tables.text_of(page))) == [], RUN


def test_one_digit_that_differs_is_named(tables):
    text = tables.text_of("docs/appendices/main.md")
    changed = text.replace("66 % (47 to 84)", "66 % (47 to 83)")
    assert list(tables.stale("docs/appendices/main.md", changed)) == ["words-5", "saved by batch size"]


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_is_written_by_the_command(tables, page):
    assert sorted(title for title, _ in BLOCK.findall(tables.text_of(page))) == sorted(tables.PAGES[page])


@pytest.mark.parametrize("page", PAGES)
def test_a_share_with_an_interval_stands_in_a_table_that_is_written(tables, page):
    assert SHARE.findall(BLOCK.sub("", tables.text_of(page))) == []


@pytest.mark.parametrize("page", ["docs/results.md", "docs/appendices/default.md"])
def test_sentences_that_count_results_say_what_the_results_give(study, tables, page):
    text = " ".join(tables.text_of(page).split())
    sentences = [sentence() for sentence in study("sentences").SENTENCES[page]]
    assert [sentence for sentence in sentences if sentence not in text] == [], "the page says something else"


def test_a_result_that_changes_changes_its_sentence(study, monkeypatch):
    sentences = study("sentences")
    rules = ("corelog-ties", "margin-km", "margin", "badge", "coremse", "random")
    monkeypatch.setattr(sentences, "wins_and_losses", lambda results: dict.fromkeys(rules, (12, 1)))
    assert sentences.default_wins().endswith("It wins 12 times and loses once.")


PROSE = [page for folder in ("appendices", "howto") for page in sorted((ROOT / "docs" / folder).glob("*.md"))]


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.stem)
def test_lines_of_prose_fit_a_screen(page):
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("|")]
    assert [line for line in lines if len(line) > 170] == []
