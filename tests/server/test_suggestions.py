"""Suggested labels: from the model, a column or an address; accepted or not; never on audit items."""

import csv
import json
import re
import threading
from html import unescape

import pytest
from chatting import Chat, labelled, wording
from serving import CLASSES, Here, Server, eventually, free_port, tickets

from bemps.errors import COMMAND_OPTIONS, InputError
from bemps.project import Project, open_project
from bemps.project.exporting import export_labels
from bemps.project.report.project_report import report_page
from bemps.project.report.report_content import report_content
from bemps.project.suggestions.suggestion_values import class_named_by
from bemps.server.project_start import Source, Wishes, prepared
from bemps.store import open_store

TRUTH = dict(tickets())
OTHER = {"bug": "feature", "feature": "question", "question": "bug"}


def write_guesses(folder, guess=lambda text: TRUTH[text], rows=None):
    """tickets.csv with a column of guesses."""
    with (folder / "tickets.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["body", "guess"])
        writer.writerows((text, guess(text)) for text, _ in rows or tickets())


def answer_all(person, count, choose=lambda item: TRUTH[item["text"]], **more):
    """Answer so many items one after the other; returns what was shown."""
    shown = []
    while len(shown) < count and (items := person.next(1)):
        shown.append(items[0])
        person.answer(items[0]["id"], choose(items[0]), **more).raise_for_status()
    return shown


@pytest.fixture
def guessed(tmp_path):
    write_guesses(tmp_path)
    return tmp_path


def test_they_are_off_unless_asked_for(guessed):
    with Here(guessed) as server, server.person() as ann:
        assert all("suggestion" not in item for item in ann.next(10))
        assert ann.state()["settings"]["suggest"] is False
        assert server.engine.settings.train_on_suggested is True


@pytest.mark.usefixtures("either_store")
def test_a_column_suggests_its_classes_and_never_on_audit_items(guessed):
    write_guesses(guessed, rows=tickets(100))
    with Here(guessed, suggest="guess", audit=0.3) as server, server.person() as ann:
        shown = answer_all(ann, 100)
        audit = server.store.audit()
        assert len(shown) == 100
        assert len(audit) == 30
        for item in shown:
            assert item.get("suggestion") == (None if item["id"] in audit else TRUTH[item["text"]])
        for item in list(audit)[:5]:
            assert "suggestion" not in ann.http.get("api/item", params={"id": item}).json()["item"]
            assert ann.post("suggestions", items=[item]).json() == {"suggestions": {}}


@pytest.mark.usefixtures("either_store")
def test_the_log_tells_accepted_from_typed_and_undo_keeps_it(guessed):
    with Here(guessed, suggest="guess", audit=0.0) as server, server.person() as ann:
        first, second = ann.next(2)
        ann.answer(first["id"], first["suggestion"], method="suggested").raise_for_status()
        ann.answer(second["id"], second["suggestion"]).raise_for_status()
        methods = lambda: {id: answer.method for id, answer in server.store.current().items()}  # noqa: E731
        assert methods() == {first["id"]: "suggested", second["id"]: None}
        ann.step("undo")
        assert ann.step("undo")["item"]["suggestion"] == first["suggestion"]
        assert methods() == {}
        ann.step("redo")
        assert methods() == {first["id"]: "suggested"}


@pytest.mark.usefixtures("either_store")
def test_an_accepted_suggestion_on_an_audit_item_is_refused(guessed):
    with Here(guessed, suggest="guess", audit=0.5) as server, server.person() as ann:
        item = next(iter(server.store.audit()))
        assert ann.answer(item, "bug", method="suggested").status_code == 422
        assert ann.answer(item, kind="skip", method="suggested").status_code == 422
        assert ann.answer(item, "bug", method="guessed").status_code == 422
        assert server.store.current() == {}


def test_values_that_are_no_class_suggest_nothing_and_are_counted_once(tmp_path):
    write_guesses(tmp_path, lambda text: {"bug": " bug ", "feature": "wish", "question": ""}[TRUTH[text]])
    count = sum(name == "feature" for name in TRUTH.values())
    source = Source(tmp_path / "tickets.csv", {"text": "body"})
    store, notes = prepared(str(tmp_path / "notes.bemps"), source, Wishes(classes=CLASSES, suggest="guess"))
    store.close()
    usable = sum(name == "bug" for name in TRUTH.values())
    assert notes[-1] == (
        f"Column 'guess' suggests labels for {usable} items. In {count} others its value is no class that is "
        f"offered, and suggests nothing: 'wish' ({count})."
    )
    with Here(tmp_path, suggest="guess", audit=0.0) as server, server.person() as ann:
        for item in ann.next(20):
            assert item.get("suggestion") == ("bug" if TRUTH[item["text"]] == "bug" else None)
        assert "&#39;wish&#39;" in ann.panel("suggestions")
        ann.post("class", name="wish").raise_for_status()
        suggested = {TRUTH[item["text"]]: item.get("suggestion") for item in ann.next(20)}
        assert suggested["feature"] == "wish"


def test_values_count_as_classes_where_they_suggest_them_and_the_items_are_read_once(guessed, monkeypatch):
    with Here(guessed, suggest="guess") as server, server.person() as ann:
        words = ann.panel("suggestions")
        ann.post("class/change", name="bug", hidden=True).raise_for_status()
        hidden = ann.panel("suggestions")
        assert hidden != words
        assert "&#39;bug&#39; (" in hidden
        monkeypatch.setattr(server.engine.suggester, "store", None)  # nothing could be read from it
        assert "&#39;bug&#39; (" in ann.panel("suggestions", part="state")
    assert class_named_by(True, ["True"]) is None
    assert class_named_by(" 1 ", ["1"]) == class_named_by(1, ["1"]) == "1"


def test_a_column_that_names_no_class_says_so(tmp_path):
    write_guesses(tmp_path, lambda text: "")
    source = Source(tmp_path / "tickets.csv", {"text": "body"})
    store, notes = prepared(str(tmp_path / "x.bemps"), source, Wishes(classes=CLASSES, suggest="guess"))
    store.close()
    assert notes[-1] == "Column 'guess' has no value that is the name of a class. It suggests nothing."


def test_the_page_names_no_option_of_a_command(guessed):
    source = Source(guessed / "tickets.csv", {"text": "body"})
    address = "http://localhost:1/v1"
    before = COMMAND_OPTIONS.set(frozenset({"suggest-model"}))
    try:
        with pytest.raises(InputError, match="for example --suggest-model llama3"):
            prepared(str(guessed / "x.bemps"), source, Wishes(classes=CLASSES, suggest=address))
    finally:
        COMMAND_OPTIONS.reset(before)
    with Here(guessed) as server, server.person() as ann:
        refused = ann.post("suggest", source="address", address=address, agreed="yes").json()
        assert refused["fix"] == "Give the name of the model there, for example llama3."
        assert "--" not in ann.post("suggest", source="column:gues").text


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"suggest": "gues"}, "Did you mean 'guess'"),
        ({"suggest": "model", "model": "none"}, "a project with a model"),
        ({"suggest": "http://localhost:1/v1"}, "the name of a model"),
        ({"suggest": "ftp://localhost/v1", "suggest_model": "m"}, "address"),
    ],
)
def test_wishes_that_cannot_work_are_refused_and_leave_nothing(guessed, wishes, words):
    source = Source(guessed / "tickets.csv", {"text": "body"})
    with pytest.raises(InputError, match=words):
        prepared(str(guessed / "x.bemps"), source, Wishes(classes=CLASSES, **wishes))
    assert not (guessed / "x.bemps").exists()


@pytest.mark.usefixtures("either_store")
def test_exports_and_the_report_say_which_labels_were_accepted(guessed):
    with Here(guessed, suggest="guess", audit=0.0) as server, server.person() as ann:
        answer_all(ann, 3, method="suggested")
        answer_all(ann, 2)
    with open_project(Here.place(guessed)) as project:
        export_labels(project.store, guessed / "labels.csv")
        with (guessed / "labels.csv").open(encoding="utf-8") as file:
            assert sorted(row["method"] for row in csv.DictReader(file)) == ["", "", *["suggested"] * 3]
        export_labels(project.store, guessed / "studio.json", "label-studio")
        tasks = json.loads((guessed / "studio.json").read_text())
        assert sum(task["meta"]["bemps"][0].get("method") == "suggested" for task in tasks) == 3
        project.export(guessed / "report.html", what="report")
        assert "3 were suggested, and accepted by a person." in (guessed / "report.html").read_text()


def test_accepted_suggestions_of_everybody_are_told_from_those_that_hold(guessed):
    """Two of three accepted labels were outvoted: the file has three rows with the method, the panels counted one."""
    with Here(guessed, suggest="guess", audit=0.0) as server, server.person() as ann, server.person("ben") as ben:
        shown = answer_all(ann, 3, method="suggested")
        for item in shown[:2]:
            ben.answer(item["id"], TRUTH[item["text"]]).raise_for_status()
        accepted = sum(answer.method == "suggested" for answer in server.store.current().values())
        assert accepted < 3
        for panel in ("progress", "team"):
            assert "people accepted 3 in all" in " ".join(ann.panel(panel).split())
    with open_project(Here.place(guessed)) as project:
        project.export(guessed / "report.html", what="report")
        assert "people accepted 3 in all" in (guessed / "report.html").read_text()


@pytest.mark.usefixtures("either_store")
def test_the_model_can_leave_accepted_suggestions_out(guessed):
    with Here(guessed, suggest="guess", audit=0.0) as server, server.person() as ann:
        accepted = {item["id"] for item in answer_all(ann, 6, method="suggested")}
        typed = {item["id"] for item in answer_all(ann, 6)}
        ann.post("settings", values={"train_on_suggested": "no"}).raise_for_status()
        assert server.engine.settings.train_on_suggested is False
        words = " ".join(ann.panel("progress").split())
        assert "; the model learns from 6, 6 accepted suggestions are left aside" in words
    with open_project(Here.place(guessed)) as project:
        project.store.set("no_model", False)
        project.store.set("model", "tfidf")
        learner = project.learner()
        assert set(learner.labels) == typed
        assert not accepted & set(learner.ask(200).items)
        project.store.set("train_on_suggested", True)
        assert set(project.learner().labels) == typed | accepted


def test_the_model_suggests_what_it_finds_most_probable(guessed):
    with Here(guessed, model="tfidf", suggest="model", audit=0.5) as server, server.person() as ann:
        audit = server.store.audit()
        shown = answer_all(ann, 30)
        assert eventually(lambda: server.engine.model_status.ready)
        assert eventually(lambda: any("suggestion" in item for item in ann.next(5)))
        while len(audit & server.store.current().keys()) < 20:
            shown += answer_all(ann, 5)
        assert all("suggestion" not in item for item in shown if item["id"] in audit)
        other = next(item for item in server.store.ids() if item not in audit)
        assert eventually(lambda: ann.post("suggestions", items=[other]).json()["suggestions"].get(other) in CLASSES)
        assert eventually(lambda: "the model</span> is right on" in ann.panel("progress"))


# -- an address ------------------------------------------------------------------------------------------------------


def asked(folder, chat, **wishes):
    """A server whose command line named the address of a chat server."""
    server = Here(folder, suggest=chat.address, suggest_model="llama3", **wishes)
    server.engine.suggester.attempts.pause = 0.05
    server.engine.suggester.allow(chat.address, from_command=True)
    return server


@pytest.mark.usefixtures("either_store")
def test_an_address_suggests_in_batches_and_every_item_is_sent_once(guessed):
    with Chat(labelled(lambda text: TRUTH[text])) as chat:
        with asked(guessed, chat, audit=0.0) as server, server.person() as ann:
            items = ann.next(20)
            names = [item["id"] for item in items]
            assert eventually(lambda: len(ann.post("suggestions", items=names).json()["suggestions"]) == 20)
            known = ann.post("suggestions", items=names).json()["suggestions"]
            assert known == {item["id"]: TRUTH[item["text"]] for item in items}
            assert len(chat.requests) <= 3
            assert all(len(json.loads(body["messages"][1]["content"])) <= 10 for body in chat.requests)
        first = len(chat.texts)
        with asked(guessed, chat, audit=0.0) as server, server.person() as ann:  # what is known is not asked again
            again = {item["id"]: item.get("suggestion") for item in ann.next(20)}
            assert {again[name] for name in names if name in again} <= set(CLASSES)
            assert len(chat.texts) == len(set(chat.texts)) >= first
            assert server.engine.settings.suggest_requests_made == len(chat.requests)


def test_nothing_is_sent_before_a_person_agrees(guessed):
    with (
        Chat(labelled(lambda text: "bug")) as chat,
        Here(guessed, suggest=chat.address, suggest_model="llama3") as server,
        server.person() as ann,
    ):
        ann.next(5)
        assert "Nothing is sent yet" in ann.panel("suggestions")
        body = {"source": "address", "address": chat.address, "model": "llama3"}
        refused = ann.post("suggest", **body)
        assert refused.status_code == 422
        assert "Tick the box" in refused.json()["fix"]
        assert chat.address in refused.json()["fix"]
        assert ann.post("suggest", source=chat.address).status_code == 422
        assert chat.requests == []
        ann.post("suggest", **body, agreed="yes").raise_for_status()
        assert eventually(lambda: chat.requests)
        ann.post("suggest", source="off").raise_for_status()
        assert all("suggestion" not in item for item in ann.next(5))


def test_another_person_who_opens_the_page_sends_nothing_to_an_address_typed_elsewhere(guessed, monkeypatch):
    monkeypatch.setenv("BEMPS_SUGGEST_KEY", "secret")
    with Chat(labelled(lambda text: "bug")) as chat:
        with Here(guessed) as server, server.person() as ann:
            ann.next(5)
            ann.post("suggest", source="address", address=chat.address, model="m", agreed="yes").raise_for_status()
            assert eventually(lambda: chat.requests)
            assert all("authorization" not in headers for _, headers in chat.headers)  # the key is the owner's
        sent = len(chat.requests)
        with Here(guessed) as server, server.person() as ann:
            ann.next(20)
            assert server.engine.suggester.waits_for_consent
            assert not eventually(lambda: len(chat.requests) > sent, 1)


def said_of(person):
    """The words of the panel of suggestions."""
    panel = person.panel("suggestions", part="state")
    return " ".join(unescape(re.sub("<[^>]*>", "", panel)).split())


@pytest.mark.usefixtures("either_store")
def test_a_text_that_fits_no_class_has_no_suggestion_and_is_sent_once(guessed):
    with Chat(labelled(lambda text: None)) as chat:
        with asked(guessed, chat) as server, server.person() as ann:
            names = [item["id"] for item in ann.next(20)]
            assert eventually(lambda: len(server.engine.suggester.cache) >= 20)
            assert ann.post("suggestions", items=names).json() == {"suggestions": {}}
            assert "of them no class came back" in said_of(ann)
        assert len(chat.texts) == len(set(chat.texts))


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (wording("Sorry, <b>I</b> cannot."), "its answer is not what was asked for: “Sorry, <b>I</b> cannot.”."),
        ("<html>Log in</html>", "it answered with a web page. Check the address: most end in /v1."),
    ],
)
def test_answers_that_cannot_be_understood_use_no_item_up(guessed, reply, words):
    with Chat(lambda _: (200, reply)) as chat:
        with asked(guessed, chat) as server, server.person() as ann:
            ann.next(20)
            assert eventually(lambda: server.engine.suggester.attempts.stopped)
            said = said_of(ann)
            assert (
                "0 items are answered. 5 of at most 1,000 requests were sent. 5 answers could not be understood."
                in said
            )
            assert f"No new suggestions: {words}" in said
            assert "tried again by itself" not in said
            assert server.store.suggestions(server.engine.suggester.prompt.version) == {}
        chat.answer = labelled(lambda text: TRUTH[text])
        with asked(guessed, chat) as server, server.person() as ann:
            names = [item["id"] for item in ann.next(20)]
            assert eventually(lambda: len(ann.post("suggestions", items=names).json()["suggestions"]) == 20)
            assert "could not be understood" not in said_of(ann)


def test_an_item_without_a_clear_answer_is_asked_again_when_somebody_says_so(guessed):
    unclear = []

    def choose(text):
        if not unclear:
            unclear.append(text)
        return "hm" if text in unclear else TRUTH[text]

    with Chat(labelled(choose)) as chat, asked(guessed, chat, audit=0.0) as server, server.person() as ann:
        names = {item["text"]: item["id"] for item in ann.next(20)}
        known = lambda: ann.post("suggestions", items=list(names.values())).json()["suggestions"]  # noqa: E731
        assert eventually(lambda: len(known()) == 19 and server.engine.suggester.attempts.set_aside == 1)
        text = unclear[0]
        assert chat.texts.count(text) == 3
        assert "1 item was asked 3 times without a clear answer, and is asked again when you say so." in said_of(ann)
        unclear[:] = ["another"]
        ann.post("suggest/retry").raise_for_status()
        assert eventually(lambda: known().get(names[text]) == TRUTH[text])


def test_a_server_that_is_not_there_costs_no_request_and_is_asked_as_soon_as_it_is(guessed):
    port = int(free_port())
    address = f"http://127.0.0.1:{port}/v1"
    server = Here(guessed, suggest=address, suggest_model="llama3", suggest_requests=2)
    with server, server.person() as ann:
        server.engine.suggester.attempts.pause = 0.05
        server.engine.suggester.allow(address)
        ann.next(5)
        refused = (
            "0 items are answered. 0 of at most 2 requests were sent. No new suggestions: the address cannot be "
            "reached (Connection refused). Is the server running? It is tried again by itself."
        )
        assert eventually(lambda: refused in said_of(ann))
        assert eventually(lambda: server.engine.suggester.attempts.wait > 0.2)  # three failures
        assert server.store.read_settings().suggest_requests_made == 0
        with Chat(labelled(lambda text: TRUTH[text]), port=port) as chat:
            assert eventually(lambda: server.engine.suggester.cache)
            assert "No new suggestions" not in said_of(ann)
            assert server.store.read_settings().suggest_requests_made == len(chat.requests)


def test_a_server_that_asks_for_patience_gets_it(guessed):
    busy = threading.Event()
    busy.set()
    right = labelled(lambda text: TRUTH[text])
    with (
        Chat(lambda body: (429, "", {"retry-after": "300"}) if busy.is_set() else right(body)) as chat,
        asked(guessed, chat) as server,
        server.person() as ann,
    ):
        ann.next(5)
        assert eventually(lambda: "it answered 429. It is tried again by itself in 5 minutes." in said_of(ann))
        busy.clear()
        assert len(chat.requests) == 1
        ann.post("suggest/retry").raise_for_status()
        assert eventually(lambda: server.engine.suggester.cache)


def test_failures_are_said_tried_again_later_and_stop_no_label(guessed):
    answers = iter([(500, "oops"), (500, "oops")])
    right = labelled(lambda text: TRUTH[text])
    with (
        Chat(lambda body: next(answers, None) or right(body)) as chat,
        asked(guessed, chat) as server,
        server.person() as ann,
    ):
        server.engine.suggester.attempts.pause = 0.6
        shown = answer_all(ann, 5)
        assert len(shown) == 5
        assert eventually(lambda: "it answered 500. It is tried again by itself." in ann.panel("suggestions"))
        assert eventually(lambda: server.engine.suggester.cache)
        assert "No new suggestions" not in ann.panel("suggestions")


def test_a_refusal_ends_the_asking_until_a_person_tries_again(guessed):
    refuse = threading.Event()
    refuse.set()
    right = labelled(lambda text: TRUTH[text])
    failure = 404, '{"error": {"message": "model <b>llama3</b> not found"}}'
    with (
        Chat(lambda body: failure if refuse.is_set() else right(body)) as chat,
        asked(guessed, chat) as server,
        server.person() as ann,
    ):
        ann.next(5)
        assert eventually(lambda: server.engine.suggester.attempts.stopped)
        panel = ann.panel("suggestions")
        assert "it answered 404 (model &lt;b&gt;llama3&lt;/b&gt; not found)" in panel
        assert "Try again" in panel
        assert len(chat.requests) == 1
        refuse.clear()
        ann.post("suggest/retry").raise_for_status()
        assert eventually(lambda: server.engine.suggester.cache)


def test_a_server_that_hangs_delays_nothing_not_even_the_end(guessed):
    released = threading.Event()
    with Chat(lambda body: (released.wait(30), (200, wording("{}")))[1]) as chat:
        with asked(guessed, chat) as server, server.person() as ann:
            ann.next(5)
            assert eventually(lambda: chat.requests)
            assert len(answer_all(ann, 5)) == 5
        assert not server.thread.is_alive()
        released.set()


def test_models_that_take_no_temperature_are_asked_without(guessed):
    def choosy(body):
        if "temperature" in body:
            return 400, '{"error": {"message": "Unsupported value: temperature"}}'
        return labelled(lambda text: TRUTH[text])(body)

    with Chat(choosy) as chat, asked(guessed, chat) as server, server.person() as ann:
        ann.next(5)
        assert eventually(lambda: server.engine.suggester.cache)
        assert sum("temperature" in body for body in chat.requests) == 1


@pytest.mark.usefixtures("either_store")
def test_the_number_of_requests_is_bounded_also_over_restarts(guessed):
    with Chat(labelled(lambda text: TRUTH[text])) as chat:
        for _ in range(2):
            with asked(guessed, chat, suggest_requests=1) as server, server.person() as ann:
                ann.next(20)
                assert eventually(lambda: "the limit of 1 requests is reached" in ann.panel("suggestions"))
        assert len(chat.requests) == 1


@pytest.mark.usefixtures("either_store")
def test_the_address_is_measured_on_audit_items_like_an_annotator(guessed):
    """It is wrong on every third audit item, and says nothing for one in four of the others."""
    rows = [text for text, _ in tickets(120)]
    write_guesses(guessed, rows=tickets(120))

    def choose(text):
        n = rows.index(text)
        return None if n % 4 == 0 else OTHER[TRUTH[text]] if n % 3 == 0 else TRUTH[text]

    with Chat(labelled(choose)) as chat, asked(guessed, chat, audit=0.4) as server, server.person() as ann:
        host = chat.address.split("/")[2]
        ann.next(5)
        assert "is right takes 20 items" in ann.panel("team")
        shown = answer_all(ann, 120)
        audit = [item["text"] for item in shown if item["id"] in server.store.audit()]
        assert all("suggestion" not in item for item in shown if item["text"] in audit)
        assert eventually(lambda: all(name in server.engine.suggester.cache for name in server.store.audit()))
        told = [(text, choose(text)) for text in audit]
        size = sum(label is not None for _, label in told)
        right = sum(label == TRUTH[text] for text, label in told)
        for panel in map(ann.panel, ("team", "progress", "suggestions")):
            words = " ".join(panel.replace('<span dir="auto">', "").replace("</span>", "").split())
            assert f"llama3 at {host} is right on {right}: <b>{100 * right / size:.0f} %</b>" in words
            assert f"On {size} items" in words
            assert f"no suggestion for {len(told) - size} more" in words
        interval = re.search(r"95 % interval (.*?)\)", words)[1]
        report = report_page(report_content(Project(server.store)))
        assert f"llama3 at {host} is right on {right}: {100 * right / size:.0f} % ({interval})." in report
        assert f"On {size} of them" in report
        assert f"no suggestion for {len(told) - size} more" in report
        assert not {"llama3", chat.address} & set(server.store.annotators())


@pytest.mark.usefixtures("either_store")
def test_a_renamed_class_is_asked_again_under_its_new_name(guessed):
    with Chat(labelled(lambda text: TRUTH[text])) as chat, asked(guessed, chat) as server, server.person() as ann:
        ann.next(5)
        assert eventually(lambda: server.engine.suggester.cache)
        before = server.engine.suggester.prompt
        ann.post("class/rename", old="bug", new="defect").raise_for_status()
        assert server.engine.suggester.prompt != before
        assert eventually(lambda: server.engine.suggester.cache)
        assert '"defect"' in chat.requests[-1]["messages"][0]["content"]


def test_images_are_not_sent_anywhere(tmp_path):
    from PIL import Image

    for n in range(4):
        Image.new("RGB", (8, 8), (n, n, n)).save(tmp_path / f"{n}.png")
    source = Source(tmp_path)
    with pytest.raises(InputError, match="labels of texts only"):
        prepared(
            str(tmp_path / "x.bemps"), source, Wishes(classes=CLASSES, suggest="http://localhost/v1", suggest_model="m")
        )


def test_a_setting_from_python_is_checked(tmp_path):
    with open_store(tmp_path / "x.bemps", create=True) as store:
        store.set("suggest", "column:guess")
        assert store.read_settings().suggest == "column:guess"
        for name, value in (
            ("suggest", "ftp://x"),
            ("suggest", 5),
            ("train_on_suggested", "no"),
            ("suggest_requests", -1),
        ):
            with pytest.raises(InputError, match=name):
                store.set(name, value)


def test_the_command_says_what_is_sent_where_and_brings_the_key(guessed):
    options = ("--suggest-model", "llama3", "--no-train-on-suggested", "--audit", "0")
    with Chat(labelled(lambda text: TRUTH[text])) as chat:
        key = {"BEMPS_SUGGEST_KEY": "secret"}
        with (
            Server(guessed, "--suggest", chat.address, *options, environment=key) as server,
            server.person() as ann,
        ):
            assert f"Suggestions from llama3 at {chat.address.split('/')[2]}. The texts of items" in server.said
            assert f"are sent to {chat.address}" in server.said
            assert chat.requests == []  # nobody labels yet
            names = [item["id"] for item in ann.next(5)]
            assert eventually(lambda: len(ann.post("suggestions", items=names).json()["suggestions"]) == 5)
            assert chat.headers[0][1]["authorization"] == "Bearer secret"
        sent = len(chat.requests)
        with Server(guessed, data="tickets.bemps", classes=None) as server, server.person() as ann:
            assert "Nothing is sent there until you agree on the page" in server.said
            ann.next(20)
            assert not eventually(lambda: len(chat.requests) > sent, 1)
    with open_store(guessed / "tickets.bemps") as store:
        settings = store.read_settings()
        assert (settings.suggest_model, settings.train_on_suggested) == ("llama3", False)
        assert b"secret" not in (guessed / "tickets.bemps").read_bytes()


@pytest.mark.usefixtures("either_store")
def test_descriptions_are_sent_and_hidden_classes_are_not(guessed):
    with Chat(labelled(lambda text: TRUTH[text])) as chat, asked(guessed, chat) as server, server.person() as ann:
        server.store.change_class("bug", "ann", description="it breaks")
        server.store.change_class("question", "ann", is_hidden=True)
        assert eventually(lambda: "question" not in server.engine.suggester.names)
        ann.next(5)
        assert eventually(lambda: server.engine.suggester.cache)
        system = chat.requests[-1]["messages"][0]["content"]
        assert '[{"name": "bug", "description": "it breaks"}, {"name": "feature"}]' in system
