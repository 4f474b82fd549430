"""A strategy keeps its look, and no two look alike."""

import pytest

from bemps.acquisition.strategy_registry import strategies
from bemps.report.style import COLOURS, GREY, Styles, styled_strategies

ORDER = styled_strategies()


def test_the_order_knows_every_strategy_of_the_table_once():
    assert len(set(ORDER)) == len(ORDER)
    assert set(ORDER) <= set(strategies())
    assert set(strategies()) - set(ORDER) <= {"random", "epig"}


@pytest.mark.parametrize("others", [(), ("random", "margin"), ("badge", "my-own", "zeta")])
def test_a_known_strategy_has_the_same_style_in_every_company(others):
    assert Styles(["coremse", *others])["coremse"].colour == COLOURS[0]
    assert Styles([*others, "coremse"])["coremse"] == Styles(["coremse"])["coremse"]


def test_no_two_look_alike():
    names = [*ORDER[:20], "random", "mine", "yours", "theirs"]
    styles = Styles(names)
    assert len({styles[name] for name in names}) == len(names)


def test_random_is_grey_and_nobody_else_is():
    styles = Styles([*ORDER, "random"])
    assert styles["random"].colour == GREY
    assert all(styles[name].colour != GREY for name in ORDER)


def test_variants_keep_the_colour_and_differ_in_dash():
    styles = Styles(["coremse members=5", "coremse members=10", "random members=5", "random members=10"])
    assert styles["coremse members=5"].colour == styles["coremse members=10"].colour == COLOURS[0]
    assert styles["coremse members=5"] != styles["coremse members=10"]
    assert styles["random members=5"].colour == styles["random members=10"].colour == GREY


def test_more_than_all_looks_still_draw():
    names = [f"own-{i}" for i in range(40)]
    styles = Styles(names)
    assert all(styles[name].colour in COLOURS for name in names)
