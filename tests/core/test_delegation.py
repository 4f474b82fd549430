"""Methods that an object borrows from its parts."""

import inspect

from bemps._utils.delegation import borrowed


class Counter:
    def __init__(self, start: int) -> None:
        self.number = start

    def add(self, n: int, *, times: int = 1) -> int:
        """Add a number."""
        self.number += n * times
        return self.number


class Shop:
    def __init__(self) -> None:
        self._sold, self._stock = Counter(0), Counter(10)

    sell = borrowed("_sold", Counter.add)
    store = borrowed("_stock", Counter.add)


def test_a_borrowed_method_works_on_its_part():
    shop = Shop()
    assert (shop.sell(2), shop.store(1, times=5), shop.sell(n=1)) == (2, 15, 3)


def test_a_borrowed_method_has_the_parameters_and_the_description_of_its_own():
    assert inspect.signature(Shop.sell) == inspect.signature(Counter.add)
    assert inspect.getdoc(Shop.sell) == "Add a number."
