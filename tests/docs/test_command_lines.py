"""Every command line of the docs is accepted: the command and its options exist, and nothing is missing or too much."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from bemps.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *(ROOT / "docs").rglob("*.md")]
FENCED = re.compile(r"^( *)```\w*\n(.*?)^\1```$", flags=re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(bemps [^`\n]+)`")
CALL = re.compile(r"^(?:\w+\$ +)?(?:[A-Z_]+=\S+ +)*(?:(?:uvx|pipx) .* )?(?:\S*/bin/)?bemps(?: +(?P<arguments>.*))?$")
SYNTAX = re.compile(r"[][]|\|\S+")  # of `[--optional] this|that`: all options, and the first of several words
GROUP = typer.main.get_command(app)
UsageError = typer.BadParameter.__base__


def calls(text: str) -> Iterator[str]:
    """The lines of fenced blocks that run bemps, without the program; lines that end in a backslash go on."""
    for block in FENCED.finditer(text):
        for line in block[2].replace("\\\n", " ").splitlines():
            if call := CALL.match(line.partition("  #")[0].strip()):
                yield SYNTAX.sub("", call["arguments"] or "")


def refused(line: str, *, complete: bool = True) -> str | None:
    """Why a command line is not accepted. Nothing is run, and no file is looked for."""
    words = shlex.split(line, comments=True)
    if words == ["--version"]:
        return None
    if not words or words[0].startswith("-"):
        words = ["projects", *words]
    try:
        name, command, arguments = GROUP.resolve_command(typer.Context(GROUP, info_name="bemps"), words)
        command.make_context(name, arguments)
    except UsageError as error:
        reason = error.format_message()
        unfinished = reason.startswith("Missing") or reason.endswith("requires an argument.")
        return reason if complete or not unfinished else None
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_command_lines_of_a_page_are_accepted(page):
    text = page.read_text(encoding="utf-8")
    reasons = {line: refused(line) for line in calls(text)}
    parts = [line.removeprefix("bemps ") for line in INLINE.findall(text)]  # of commands, in sentences
    reasons |= {part: refused(part, complete=False) for part in parts if part not in reasons}
    assert {line: reason for line, reason in reasons.items() if reason} == {}


def test_options_that_pages_name_alone_exist():
    """Appendices name those of studies."""
    parameters = [each for command in GROUP.commands.values() for each in command.params]
    known = {option for each in parameters for option in (*each.opts, *each.secondary_opts)}
    named = {
        option
        for page in PAGES
        if "appendices" not in page.parts
        for option in re.findall(r"`(--[a-z][a-z-]*)", FENCED.sub("", page.read_text(encoding="utf-8")))
    }
    assert len(named) > 30
    assert named - known == set()


def test_command_lines_are_found_however_they_are_written():
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    lines = [line for text in texts for line in calls(text)]
    assert len(lines) > 60
    assert sum(line.startswith("label ") for line in lines) > 5
    assert "select s3://bucket/pool -n 100 --on ray://head:10001 --work s3://bucket/work" in lines
    text = '```sh\nA=b .venv/bin/bemps run \\\n  x.toml\nuvx --from ".[label]" bemps\nbemps_other x\n```\n'
    assert list(calls(text)) == ["run    x.toml", ""]


@pytest.mark.parametrize(
    "line",
    ["lable a.csv", "label a.csv --texts body", "run --jobs", "report", "report a b", "export a.bemps --what nothing"],
)
def test_a_line_that_bemps_does_not_accept_is_refused(line):
    assert refused(line)
