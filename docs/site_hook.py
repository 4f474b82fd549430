"""What the site has beside the pages of this folder: pages of the root, the API, the command line.

README.md is the front page. Links to files that are no pages stay as text.
"""

import ast
import html
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
ROOT_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
}
PACKAGES = (
    "bemps",
    *(f"bemps.{name}" for name in ("learner", "models", "data", "acquisition", "gain")),
    *(f"bemps.{name}" for name in ("scores", "results", "project", "store")),
    *(f"bemps.{name}" for name in ("experiments", "report", "distributed", "testing")),
)
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    for source, page in ROOT_PAGES.items():
        text = with_links((ROOT / source).read_text(encoding="utf-8"), ROOT, page)
        files.append(File.generated(config, page, content=text))
    for package in PACKAGES:
        files.append(File.generated(config, f"reference/api/{package}.md", content=api_page(package)))
    files.append(File.generated(config, "reference/commands.md", content=commands_page()))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Links to pages of the root lead to their copies on the site."""
    source = page.file.src_uri
    if source in ROOT_PAGES.values() or source.startswith("reference/api/"):
        return markdown
    return with_links(markdown, (ROOT / "docs" / source).parent, source)


def with_links(text: str, folder: Path, page: str) -> str:
    """A text whose links, written for the repository, are those of the site."""
    depth = "../" * page.count("/")

    def site_link(match: re.Match[str]) -> str:
        text, path, heading = match[1], match[2], match[3] or ""
        target = (folder / path).resolve().relative_to(ROOT).as_posix()
        if not (ROOT / target).exists():
            raise PluginError(f"{page} has a link to {target}, which does not exist")
        if target.startswith("docs/"):
            return f"[{text}]({depth}{target.removeprefix('docs/')}{heading})"
        if target in ROOT_PAGES:
            return f"[{text}]({depth}{ROOT_PAGES[target]}{heading})"
        return f"`{target}`"  # a file of the repository that is no page

    return LINK.sub(site_link, text)


def exported(package: str) -> Iterator[str]:
    """The public classes and functions of a package: those it defines, and those it imports as themselves."""
    module = import_module(package)
    lines = ast.parse(inspect.getsource(module)).body
    imported = [alias for line in lines if isinstance(line, ast.ImportFrom) for alias in line.names]
    offered = {alias.name for alias in imported if alias.asname == alias.name}
    for name, value in vars(module).items():
        if name.startswith("_") or not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        module_of = value.__module__ or ""
        if module_of == package or (name in offered and module_of.startswith("bemps")):
            yield name


def api_page(package: str) -> str:
    """Every public name of a package, from its docstrings; what another page has is in a table of links."""
    summary, _, rest = (import_module(package).__doc__ or "").partition("\n")
    about = f"```text\n{rest.strip()}\n```\n\n" if rest.strip() else ""
    elsewhere = pages_of_names() if package == "bemps" else {}
    links, blocks = [], []
    for name in exported(package):
        path = defined_in(package, name)
        if path in elsewhere:
            links.append(f"| [`{name}`]({elsewhere[path]}.md#{path}) | {first_line(package, name)} |")
        else:
            blocks += [f"::: {path}\n", *borrowed_methods(getattr(import_module(package), name))]
    table = "\n".join(["| name | |", "|---|---|", *links, "", ""]) if links else ""
    return f"# {package}\n\n{summary}\n\n{about}{table}" + "\n".join(blocks)


def borrowed_methods(value: Any) -> Iterator[str]:
    """A block for each method that a class borrows from its parts: they stand nowhere in its own text."""
    for name, method in vars(value).items() if inspect.isclass(value) else ():
        source = getattr(method, "__wrapped__", None)
        if not name.startswith("_") and source is not None and not source.__qualname__.startswith(f"{value.__name__}."):
            heading = f"{{heading: {value.__name__}.{name}, toc_label: {name}, heading_level: 3}}"
            yield f"::: {source.__module__}.{source.__qualname__}\n    options: {heading}\n"


def pages_of_names() -> dict[str, str]:
    """The page of each name that a part of bemps offers."""
    return {defined_in(package, name): package for package in PACKAGES[1:] for name in exported(package)}


def first_line(package: str, name: str) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(getattr(import_module(package), name)) or "").partition("\n")[0]


def defined_in(package: str, name: str) -> str:
    """The full path of the place where a name is defined."""
    value = getattr(import_module(package), name)
    return f"{value.__module__}.{value.__qualname__}"


def commands_page() -> str:
    """Every command with its options, as the command line itself says."""
    command = [sys.executable, "-m", "typer", "bemps.cli", "utils", "docs", "--title", "Command line"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout
    text = re.sub(r"(?m)^\* `(\w+)`: .*\.\.\.$", lambda found: f"* `{found[1]}`: {summary_of(found[1], text)}", text)
    text = re.sub(r"(?m)^([A-Z].*:)\n((?:  .*\n)+)", lambda found: block(found[1], found[2]), text)
    return html.unescape(text)


def summary_of(command: str, text: str) -> str:
    """The first line under the heading of a command, which its list cuts short."""
    return text.partition(f"## `bemps {command}`")[2].strip().partition("\n")[0]


def block(title: str, lines: str) -> str:
    """The indented lines under a title of a help text, as a block: examples as commands, other lists as text."""
    content = "".join(f"{line[2:]}\n" for line in html.unescape(lines).splitlines())
    return f"```sh\n{content}```\n" if title == "Examples:" else f"{title}\n\n```text\n{content}```\n"
