"""Small projects for the tests of the store."""

from bemps.store import Item, Store


def fill(store: Store, n: int = 10) -> None:
    for name in ("bug", "wish"):
        store.add_class(name, "lead")
    store.add_items(Item(f"t{i}", f"Text number {i}") for i in range(n))
