"""Strategies, which choose the items to label next, and the batch rules that they use."""

from bemps.acquisition.context import Context as Context
from bemps.acquisition.selection import select as select
from bemps.acquisition.strategy_registry import STRATEGIES as STRATEGIES
from bemps.acquisition.strategy_registry import strategies as strategies
