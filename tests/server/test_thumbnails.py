"""Images by path are small pictures in every list."""

import numpy as np
import pytest
from browsing import Visitor, browser_of
from serving import Here, eventually

from bemps.store.events import LABEL

COLOURS = {"warm": (220, 90, 40), "cold": (40, 90, 220)}


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """A server of 80 images whose model has learnt from most of them, two of them with wrong labels."""
    image = pytest.importorskip("PIL.Image")
    folder, rng = tmp_path_factory.mktemp("photos"), np.random.default_rng(0)
    (folder / "shots").mkdir()
    for number in range(80):
        name = ("warm", "cold")[number % 2]
        pixels = np.clip(np.array(COLOURS[name]) + rng.normal(0, 25, (12, 12, 3)), 0, 255).astype("uint8")
        image.fromarray(pixels).save(folder / "shots" / f"{name} {number:02} & co.png")
    with Here(folder, data="shots", classes=("warm", "cold"), model="pixels", audit=0.3) as server:
        audit = server.store.audit()
        others = [item for item in server.store.items() if item.id not in audit]
        wrong = {item.id for item in others[:2]} | set(sorted(audit)[:2])
        for item in [*server.store.items(audit), *others[:40]]:
            truth = item.content.partition(" ")[0]
            label = {"warm": "cold", "cold": "warm"}[truth] if item.id in wrong else truth
            server.store.answer("ann", item.id, LABEL, label)
        server.store.answer("bea", others[0].id, LABEL, others[0].content.partition(" ")[0])
        assert eventually(lambda: "guesses" in (server.engine.model_status.last.get("audit") or {}), 90)
        yield server


@pytest.mark.parametrize(
    ("panel", "query"),
    [
        ("labelled", {"state": "answered"}),
        ("labelled", {"state": "unanswered", "q": "warm"}),
        ("review", {"kind": "doubts"}),
        ("errors", {"truth": "warm", "guess": "cold"}),
        ("map-items", {"class": "warm"}),
        ("team", {}),
        ("list", {"source": "search", "q": "warm", "state": "unanswered"}),
    ],
)
def test_every_list_shows_the_images_of_its_items(photos, panel, query):
    with photos.person() as ann:
        assert eventually(lambda: "image?id=" in ann.panel(panel, **query))
        html = ann.panel(panel, **query)
        assert html.count("<img") == html.count('class="thumb"')
        address = html.partition('<img src="')[2].partition('"')[0].replace("&amp;", "&")
        assert ann.http.get(address).headers["content-type"] == "image/png"


def test_why_shows_the_images_that_are_like_an_item(photos):
    with photos.person() as ann:
        item = ann.next()[0]
        assert eventually(lambda: "image?id=" in ann.panel("why", item=item["id"]))


def test_the_pictures_of_a_list_are_seen(photos, browser):
    with Visitor(browser, photos.base, "ann") as ann:
        ann.panel("labelled")
        ann.page.wait_for_function("() => document.querySelector('#panel .thumb img')?.naturalWidth > 0")
        ann.panel("map")
        ann.page.click("#panel [data-act='map-class']")
        ann.page.wait_for_function("() => document.querySelector('#map-items .thumb img')?.naturalWidth > 0")
        assert not ann.errors
