"""Numbers as text, for tables and sentences."""

import math


def score(value: float) -> str:
    """A metric with three decimals; a dash if there is none."""
    return "–" if math.isnan(value) else f"{value:.3f}"


def percent(share: float) -> str:
    """A share as a signed percentage; a dash if there is none."""
    if math.isnan(share):
        return "–"
    return "not reached" if math.isinf(share) else f"{100 * share:+.0f} %"


def interval_words(low: float, high: float) -> str:
    """Both ends of an interval as percentages. Minus infinity becomes "not reached"."""
    if math.isnan(low) or math.isnan(high):
        return "–"
    return f"{percent(low)} to {percent(high)}"


def p_value(p: float) -> str:
    """A p-value with three decimals; a dash if there is none."""
    if math.isnan(p):
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def seconds(value: float) -> str:
    """A time with three significant digits."""
    return "–" if math.isnan(value) else f"{value:.3g}"
