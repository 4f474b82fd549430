"""The rows of the table of strategies."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from jaxtyping import Float

from bemps.errors import InputError
from bemps.types import Array, Selection

Strategy = Callable[..., Selection]
ItemScore = Callable[[Float[Array, "E N K"], Float[Array, " E"]], Float[Array, " N"]]
RANDOM, TOP, DIVERSE, JOINT = "random", "top", "diverse", "joint"
RENAMED_OPTIONS = {"pool": "candidates_per_item"}  # earlier names of options, which files and calls may still use


@dataclass(frozen=True)
class ShardPlan:
    """How a strategy runs over shards of a pool (`bemps.distributed`), with the batch that `bemps.select` gives.

    Attributes
    ----------
    rule : str
        From scores to a batch: "random", "top", "diverse" or "joint".
    item_score : callable, optional
        A function of an item's own predictions.
    gain : str, optional
        Or the expected gain that is the score: "wmocu", "smocu", or the name of a score.
    option : str, optional
        The option of the strategy that is the parameter of its gain.
    """

    rule: str
    item_score: ItemScore | None = None
    gain: str | None = None
    option: str | None = None


@dataclass(frozen=True)
class StrategyEntry:
    """A row of the table.

    Attributes
    ----------
    run : callable
        The function. Its keyword-only parameters are the options.
    help : str
        One line for users.
    needs : tuple of str
        What a learner should provide beside `probs`: fields of `Context`; "map" if the strategy uses the predictions of
        the single most probable model instead of the members; "disagreement" if it compares members.
    look : int, optional
        The position in the report's order of colours and dashes. None: it follows from the name.
    shards : ShardPlan, optional
        How it runs over shards. None: it needs all candidates in memory.
    """

    run: Strategy
    help: str
    needs: tuple[str, ...] = ()
    style_index: int | None = None
    shards: ShardPlan | None = None

    @property
    def disagreement(self) -> bool:
        """Whether the strategy compares members. One member, or members that all agree, give it no information."""
        return "disagreement" in self.needs

    @property
    def options(self) -> dict[str, object]:
        """The strategy's own options with their defaults."""
        fixed = self.run.keywords if isinstance(self.run, partial) else {}
        parameters = inspect.signature(self.run).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in fixed}

    def option_name(self, name: str) -> str:
        """Return the present name of an option, which may be an earlier name."""
        present = RENAMED_OPTIONS.get(name, name)
        return present if present in self.options and name not in self.options else name

    def with_present_names(self, options: Mapping[str, object]) -> dict[str, object]:
        """Return the options by their present names; an option under two names is refused."""
        renamed = {self.option_name(name): value for name, value in options.items()}
        if len(renamed) < len(options):
            names = " and ".join(name for name in options if self.option_name(name) in RENAMED_OPTIONS.values())
            raise InputError("option", expected="one name for it", got=names, fix="Give the last of them alone.")
        return renamed
