"""Settings of a project that people change on the page."""

from dataclasses import replace

import pytest
from browsing import Visitor, browser_of
from serving import Here, eventually, tickets

from bemps.errors import InputError
from bemps.project import project_models
from bemps.server.panels.settings_panel import FIELDS, changed_settings, settings_rows
from bemps.store import open_store
from bemps.store.project_settings import NAMES, ProjectSettings


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


@pytest.mark.parametrize("row", FIELDS, ids=lambda row: row.name)
def test_every_row_is_a_setting_that_comes_back_as_it_was(row):
    assert row.name in NAMES
    shown = {each.name: text for each, text in settings_rows(ProjectSettings())}
    assert changed_settings(shown, ProjectSettings()) == {}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"audit_share": "half"}, "a number from 0 to 100"),
        ({"audit_share": "101"}, "a number from 0 to 100"),
        ({"audit_share": "nan"}, "a number from 0 to 100"),
        ({"title": "t" * 201}, "at most 200"),
        ({"history": "{}"}, "Reload the page"),
        ({"markdown": "maybe"}, "yes or no"),
    ],
)
def test_what_is_no_value_is_refused(values, words):
    with pytest.raises(InputError, match=words):
        changed_settings(values, ProjectSettings())


def test_a_larger_audit_is_drawn_at_once_and_asked(folder):
    with Here(folder, audit=0.0) as server, server.person() as ann:
        assert not server.store.audit()
        answer = ann.post("settings", values={"audit_share": "20", "title": "Our tickets"})
        assert answer.status_code == 200
        assert answer.json()["settings"]["title"] == "Our tickets"
        assert len(server.store.audit()) == round(0.2 * server.store.count())
        assert server.engine.schedule.reserved == server.store.audit()
        assert server.engine.schedule.audit_share == 0.2
        assert ann.post("settings", values={"audit_share": "-1"}).status_code == 422
    with open_store(folder / "tickets.bemps") as store:
        assert store.read_settings().title == "Our tickets"


def test_what_was_written_just_before_is_not_put_back(folder, monkeypatch):
    with Here(folder) as server, server.person() as ann:
        run = server.engine.writer.run

        async def run_after_others(write):
            server.store.set("suggest_requests_made", 7)  # as by somebody who was ahead in the line
            return await run(write)

        monkeypatch.setattr(server.engine.writer, "run", run_after_others)
        ann.post("settings", values={"title": "Tickets of June"}).raise_for_status()
        monkeypatch.undo()
        settings = server.store.read_settings()
        assert (settings.title, settings.suggest_requests_made) == ("Tickets of June", 7)


def test_a_setting_that_somebody_else_changed_meanwhile_is_not_replaced_unseen(server, browser):
    with Visitor(browser, server.base, "ann") as ann, server.person("ben") as ben:
        first = {"title": server.store.read_settings().title}
        ann.panel("settings")
        ann.page.fill("#setting-title", "Mine")
        ann.page.fill("#setting-audit_share", "many")
        ben.post("settings", values={"title": "Theirs", "audit_share": "40"}, seen=first).raise_for_status()
        ann.page.click("#panel button.primary")
        ann.sees("#panel .problem", "a number from 0 to 100")  # which says nothing of the title
        ann.page.fill("#setting-audit_share", "30")
        ann.page.click("#panel button.primary")
        ann.sees("#panel .problem", "got 'Theirs' and '40', which were saved meanwhile")
        assert ann.page.input_value("#setting-title") == "Mine"
        assert (server.store.read_settings().title, server.store.read_settings().audit_share) == ("Theirs", 0.4)
        ben.post("settings", values={"audit_share": "50"}).raise_for_status()
        ann.page.click("#panel button.primary")
        ann.sees("#panel .problem", "Items drawn at random, in percent: expected the value that you saw; got '50'")
        again = ben.post("settings", values={"title": "Theirs"}, seen=first)  # the same reply, lost and sent again
        assert again.status_code == 200
        ann.page.click("#panel button.primary")
        ann.sees("#settings-saved", "Saved.")
        assert (server.store.read_settings().title, server.store.read_settings().audit_share) == ("Mine", 0.3)


def test_settings_are_changed_on_the_page_and_seen_on_other_pages(server, browser):
    with Visitor(browser, server.base, "ann") as ann, Visitor(browser, server.base, "bea") as bea:
        ann.panel("settings")
        ann.page.fill("#setting-title", "Tickets of May")
        ann.page.press("#setting-title", "Enter")
        ann.sees("#settings-saved", "Saved.")
        bea.sees(".bar h1", "Tickets of May")
        ann.page.fill("#setting-audit_share", "many")
        ann.page.press("#setting-audit_share", "Enter")
        ann.sees("#panel .problem", "a number from 0 to 100")
        assert ann.page.input_value("#setting-audit_share") == "many"


def test_settings_that_are_changed_beside_the_page_reach_it(folder):
    with Here(folder, audit=0.0) as server, server.person() as ann:
        version = ann.state()["settings_version"]
        with open_store(folder / "tickets.bemps") as beside:
            beside.set_all({"title": "From Python", "overlap_share": 1.0, "model": "tfidf", "no_model": False})
            beside.mark_audit(beside.ids()[:3])
        assert eventually(lambda: ann.state()["settings"]["title"] == "From Python", 10)
        assert ann.state()["settings_version"] == version + 1
        assert server.engine.schedule.overlap_share == 1.0
        assert eventually(lambda: len(server.engine.schedule.reserved) == 3, 10)
        assert server.engine.settings.no_model  # what the model began with changes with the next start
        assert server.engine.settings.model is None


def test_what_the_page_does_not_show_is_no_news(folder):
    with Here(folder) as server, server.person() as ann:
        version = ann.state()["settings_version"]
        token = server.store.settings_token()
        server.store.set_all({"history": {"rounds": []}, "suggest_requests_made": 7})
        assert server.store.settings_token() != token
        assert eventually(lambda: server.engine.suggester.requests_made == 7, 10)
        assert ann.state()["settings_version"] == version


def test_settings_that_could_not_be_acted_on_are_tried_again(folder, monkeypatch, caplog):
    with Here(folder) as server, server.person() as ann:
        audit, failures = server.store.audit, [InputError("project", expected="it", got="not it", fix="Wait.")]

        def failing():
            if failures:
                raise failures.pop()
            return audit()

        monkeypatch.setattr(server.store, "audit", failing)
        version = ann.state()["settings_version"]
        server.store.set("overlap_share", 0.5)
        assert eventually(lambda: ann.state()["settings_version"] == version + 1, 10)
        assert not failures
        assert "expected it; got not it" in caplog.text


def test_fine_tuning_is_switched_off_and_on_while_people_label(folder):
    with Here(folder, model="tfidf") as server, server.person() as ann:
        status, truth = server.engine.model_status, dict(tickets())
        for item in ann.next(12):
            ann.answer(item["id"], truth[item["text"]]).raise_for_status()
        assert eventually(lambda: status.ready and status.history)
        first, orders, history = server.engine.background.pid, status.orders, status.history
        for value in ("off", "auto"):
            ann.post("settings", values={"adapt": value}).raise_for_status()
            assert server.engine.settings.adapt == server.store.read_settings().adapt == value
            assert eventually(lambda: status.alive)
        assert server.engine.background.pid not in (None, first)
        assert eventually(lambda: status.ready and status.orders > orders)  # asked anew, without another answer
        assert status.state != "failed"
        assert len(status.history["rounds"]) >= len(history["rounds"])
        assert ann.next(1)


def test_what_learning_the_language_lacks_is_said_where_it_is_switched_on(folder, monkeypatch):
    monkeypatch.setattr(project_models, "FINE_TUNING_PACKAGES", ("absent",))
    with Here(folder, model="tfidf") as server, server.person() as ann:
        assert "Now it does not" not in ann.panel("settings")  # this model learns no language
        server.engine.settings = replace(server.engine.settings, model="minilm-words")
        assert "Now it does not: learning from your texts would need" in ann.panel("settings")
        server.engine.settings = replace(server.engine.settings, adapt="off")
        assert "Now it does not" not in ann.panel("settings")


def test_images_are_asked_nothing_about_texts():
    names = {row.name for row, _ in settings_rows(ProjectSettings(kind="image"))}
    assert "adapt" not in names
    assert {"title", "audit_share"} <= names
    assert "adapt" in {row.name for row, _ in settings_rows(ProjectSettings(kind="text"))}
