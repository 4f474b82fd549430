"""What a server suggested is kept by the version of the prompt, on both databases."""


def test_suggestions_are_kept_by_prompt_and_the_first_stays(store, opened):
    store.add_suggestions("first", {"t1": "bug", "t2": None})
    store.add_suggestions("first", {"t1": "wish", "t3": "wish"})
    store.add_suggestions("second", {"t1": "wish"})
    store.add_suggestions("second", {})
    for each in (store, opened()):
        assert each.suggestions("first") == {"t1": "bug", "t2": None, "t3": "wish"}
        assert each.suggestions("second") == {"t1": "wish"}
        assert each.suggestions("third") == {}


def test_they_are_no_answers(store):
    before = store.change_token()
    store.add_suggestions("first", {"t1": "bug"})
    assert (store.change_token(), store.current(), store.annotators()) == (before, {}, ())
