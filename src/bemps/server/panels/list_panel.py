"""Lists of items to label at once: the hits of a search, what is like some items, what an item stands for, a region.

A list holds no audit items, and nothing that somebody else has answered or has in hand. It says how many were left out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.datastructures import QueryParams

from bemps.server.engine import Engine
from bemps.server.panels import map_panel
from bemps.server.review.model_answers import ITEM_PATIENCE
from bemps.store import Answer, Item
from bemps.store.events import ANSWERED, AUDITED, LEASED, MOST_LISTED, SAME

SEARCH, ALIKE, REPRESENTED, MAP = "search", "alike", "represented", "map"
SIZES = (20, 50, 100, MOST_LISTED)  # of a list without an end of its own
MOST_SEEDS = 50  # items whose like are looked for
MOST_HITS = 4 * MOST_LISTED  # hits of a search that are sorted out
SPARE = 100  # items beyond those asked for: some were answered since the model looked
IN_OTHER_SHARE = "share"
REASONS = {
    AUDITED: ("measures accuracy", "measure accuracy"),
    ANSWERED: ("was answered by somebody else", "were answered by somebody else"),
    LEASED: ("is in the hands of somebody else", "are in the hands of somebody else"),
    IN_OTHER_SHARE: ("is in the share of somebody else", "are in the share of somebody else"),
    SAME: ("has this label already", "have this label already"),
}
MORE = ("more is beyond the size of this list", "more are beyond the size of this list")
LONGEST_SEARCH = 500  # characters
STATES = ("labelled", "skipped", "unsure", "noted", "answered", "unanswered", "disagreement")  # that are looked for
SIDES = ("left", "right", "top", "bottom")


@dataclass(frozen=True)
class ListRow:
    """An item of a list.

    Attributes
    ----------
    item : Item
        The item.
    answer : Answer or None
        The own answer that a new label would replace.
    likeness : float or None
        How like the item in question it is.
    """

    item: Item
    answer: Answer | None
    likeness: float | None


@dataclass(frozen=True)
class Candidates:
    """The items that a list is made from.

    Attributes
    ----------
    names : list of str
        The ids, the best first.
    words : str
        What they have in common.
    likeness : mapping of str to float
        How like the item in question each is.
    problem : str
        Why there are none, in words.
    waits : bool
        Whether the model is busy and the panel asks again by itself.
    more : int
        How many were not looked at.
    seeds : int
        How many of them, the first, are the items in question themselves.
    """

    names: list[str] = field(default_factory=list)
    words: str = ""
    likeness: Mapping[str, float] = field(default_factory=dict)
    problem: str = ""
    waits: bool = False
    more: int = 0
    seeds: int = 0


async def list_of(engine: Engine, annotator: str, query: QueryParams) -> dict[str, Any]:
    """Return everything that the panel of a list shows.

    Parameters
    ----------
    engine : Engine
        The project.
    annotator : str
        Who labels.
    query : QueryParams
        What the list is made from: `source`, and beside it a search, items, or a part of the map.

    Returns
    -------
    dict
        The values for the template.
    """
    source = query.get("source", SEARCH)
    source = source if source in SOURCES else SEARCH
    candidates = await SOURCES[source](engine, query)
    size = min(MOST_LISTED, _size(query) + candidates.seeds) if source == ALIKE else MOST_LISTED
    names = [name for name in candidates.names if engine.schedule.shares.allows(name, annotator)]
    of_others = {IN_OTHER_SHARE: len(candidates.names) - len(names)} if len(names) < len(candidates.names) else {}
    free = await engine.read(lambda: engine.store.item_list(annotator, names))
    rows = await engine.read(lambda: _rows(engine, annotator, free.items[:size], candidates.likeness))
    beyond = candidates.more + len(free.items) - len(rows) if source != ALIKE else 0
    keys = engine.class_view.keys()
    return {
        "rows": rows,
        "words": candidates.words,
        "problem": candidates.problem,
        "waits": candidates.waits,
        "left_out": left_out_words(free.left_out | of_others, beyond),
        "needle": _text(query),
        "size": _size(query),
        "sizes": SIZES if source == ALIKE else (),
        "query": [(name, value) for name, value in query.multi_items() if name != "size"],
        "most_seeds": MOST_SEEDS,
        "classes": [(known, (keys[known.name] or ("",))[0]) for known in engine.class_view.visible],
    }


def left_out_words(left_out: Mapping[str, int], beyond: int = 0) -> str:
    """Return how many items were left out of a list and why, in words; empty if none was."""
    parts = [
        f"{left_out[reason]:,} {words[left_out[reason] > 1]}" for reason, words in REASONS.items() if reason in left_out
    ]
    parts += [f"{beyond:,} {MORE[beyond > 1]}"] if beyond else []
    return f"Left out: {', '.join(parts)}." if parts else ""


def filters_of(engine: Engine, query: QueryParams) -> dict[str, Any]:
    """Return the parameters of `Store.search`, from `q`, `state` and `label` in the query of a panel."""
    text = _text(query)
    state, label = query.get("state", "answered"), query.get("label", "")
    state = state if state in STATES else "answered"
    known = {label_class.name for label_class in engine.classes}
    order = "latest" if state != "unanswered" else "position"
    return {"text": text, "state": state, "label": label if label in known else None, "order": order}


def _text(query: QueryParams) -> str:
    """The text that is looked for."""
    return " ".join(query.get("q", "")[:LONGEST_SEARCH].split())


def _rows(engine: Engine, annotator: str, names: Sequence[str], likeness: Mapping[str, float]) -> list[ListRow]:
    own = engine.store.current(annotator)
    return [ListRow(item, own.get(item.id), likeness.get(item.id)) for item in engine.store.items(names)]


def _size(query: QueryParams) -> int:
    text = query.get("size", "")
    size = int(text) if re.fullmatch("[0-9]{1,4}", text) else SIZES[0]
    return size if size in SIZES else SIZES[0]


# -- what lists are made from ----------------------------------------------------------------------------------------


async def _hits(engine: Engine, query: QueryParams) -> Candidates:
    filters = filters_of(engine, query)
    page = await engine.read(lambda: engine.store.search(**filters, limit=MOST_HITS))
    text = f" with “{filters['text']}”" if filters["text"] else ""
    label = f", labelled {filters['label']}" if filters["label"] else ""
    words = f"{page.total:,} {filters['state']} item{'' if page.total == 1 else 's'}{text}{label}."
    return Candidates([row.item.id for row in page.rows], words, more=page.total - len(page.rows))


async def _alike(engine: Engine, query: QueryParams) -> Candidates:
    seeds = [item for item in query.getlist("item")[:MOST_SEEDS] if item not in engine.schedule.reserved]
    if not seeds:
        return Candidates(problem="This item measures accuracy, so it is not used to look for others.")
    words = "Most like this one first." if len(seeds) == 1 else f"Most like any of {len(seeds)} items first."
    candidates = await _from_model(engine, ALIKE, seeds, MOST_LISTED)
    return replace(candidates, words=words)


async def _represented(engine: Engine, query: QueryParams) -> Candidates:
    seeds = [item for item in query.getlist("item")[:1] if item not in engine.schedule.reserved]
    if not seeds:
        return Candidates(problem="This item measures accuracy, so it stands for no others.")
    candidates = await _from_model(engine, REPRESENTED, seeds, MOST_HITS)
    return replace(candidates, words="Waiting items that are more like this one than like anything labelled.")


async def _from_model(engine: Engine, task: str, seeds: Sequence[str], n: int) -> Candidates:
    await engine.read(lambda: list(engine.store.items(seeds)))  # unknown ids are refused here
    if engine.model_state == "none":
        return Candidates(problem="This project has no model to find what is alike.")
    if not engine.model_status.alive:
        starting = engine.model_state == "starting"
        return Candidates(problem=f"The model {'gets ready' if starting else 'has stopped'}.", waits=True)
    answer = await engine.background.ask(task, ITEM_PATIENCE, items=seeds, n=n + SPARE)
    if not answer or "items" not in answer:
        return Candidates(problem="The model is busy learning; one moment.", waits=True)
    answered = engine.schedule.answered
    alike = {name: share for name, share in answer["items"] if name not in answered}
    own = dict.fromkeys([seed for seed in seeds if seed not in answered], 1.0)
    names = [*own, *alike]
    return Candidates(names, "", own | alike, "" if alike else "Nothing that waits is like it.", seeds=len(own))


async def _on_the_map(engine: Engine, query: QueryParams) -> Candidates:
    picture = await engine.answers.get("map")
    if picture is None:
        return Candidates(problem="The map is being drawn.", waits=engine.model_status.alive)
    answers = await engine.read(engine.store.current)
    points = map_panel.present_points(picture, answers, engine.class_view)
    inside = map_panel.selected(points, region_of(query), query.get("class", ""))
    names = [point.item for point in inside if point.item not in engine.schedule.answered]
    where = "in the rectangle" if region_of(query) else f"of the class {query.get('class', '')}, by the model’s guess"
    return Candidates(names, f"{len(names):,} item{'' if len(names) == 1 else 's'} without an answer {where}.")


def region_of(query: QueryParams) -> map_panel.Region | None:
    """Return the rectangle that was asked for; None where there is none, or it is none."""
    try:
        return map_panel.Region(*(float(query[side]) for side in SIDES))
    except (KeyError, ValueError):
        return None


SOURCES = {SEARCH: _hits, ALIKE: _alike, REPRESENTED: _represented, MAP: _on_the_map}
