"""Opening the page in a browser: of this server, without showing its token, or of the one that is running already."""

import html
import socket
import tempfile
import threading
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bemps.store.sql.server_lock import AlreadyServed

PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={url}">
<title>bemps</title>
<a href="{url}">Open the labelling page</a>
"""
PATIENCE = 5.0  # seconds for another server to answer


@contextmanager
def announced(url: str, browser: bool, say: Callable[[str], None]) -> Iterator[None]:
    """Show the address of the page and open it in a browser.

    Parameters
    ----------
    url : str
        The address, with the token if there is one.
    browser : bool
        Whether to open a browser.
    say : callable
        A function that shows the address to the user.

    Yields
    ------
    None
        The files that were made to open the browser are removed at the end of the block.
    """
    say(url)
    if not browser:
        yield
        return
    with redirecting(url) as page:
        threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()
        yield


@contextmanager
def redirecting(url: str) -> Iterator[str]:
    """Yield what to give to a browser: the address, or a page that leads to it.

    Everybody on the machine can read its command line, so a link with a token goes into a file for its owner alone.
    """
    if "?token=" not in url:
        yield url
        return
    with tempfile.TemporaryDirectory(prefix="bemps-") as folder:
        page = Path(folder) / "open.html"
        page.touch(0o600)
        page.write_text(PAGE.format(url=html.escape(url)), encoding="utf-8")
        yield page.as_uri()


def running_page(other: AlreadyServed) -> str | None:
    """The address of the server that has the project, if it is on this machine and answers."""
    if other.machine != socket.gethostname():
        return None
    url = other.url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{url}api/state", timeout=PATIENCE):
            return url
    except urllib.error.HTTPError:  # it asks for its token, and so will its page
        return url
    except (OSError, ValueError):
        return None
