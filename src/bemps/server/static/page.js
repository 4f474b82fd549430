// The labelling page: one key = label, save, next.

import { isField, Keyboard } from "./keyboard.js";
import { newId, Outbox } from "./outbox.js";
import { Panels } from "./panels.js";
import { ClassHistory } from "./changes.js";
import { ClassFit } from "./class_fit.js";
import { ClassHelp } from "./class_help.js";
import { classTasks } from "./class_panel.js";
import { ClassSearch } from "./class_search.js";
import { columnWords } from "./columns.js";
import { learnPresent, seenValues, sentValues } from "./drafts.js";
import { GuessWords } from "./guess_words.js";
import { guessTerms, highlight, keywordTerms, searchTerms } from "./highlight.js";
import { fragment, get, post } from "./post.js";
import { amount, ItemList } from "./list.js";
import { guidelineNews, guidelineTasks } from "./guidelines.js";
import { ItemMap } from "./map.js";
import { Queue } from "./queue.js";
import { Refusals, shortened } from "./refusals.js";
import { Results } from "./results.js";
import { answerWords, doneAgain, takenBack } from "./step_words.js";
import { Suggestions } from "./suggestions.js";
import { Trail } from "./trail.js";
import { addNotice, clearNotices, filterClasses, markAnswer, passNotice, say, showBanner, showClasses, showItem, showMore, showNote, showPending, showSaved } from "./show.js";

const find = (id) => document.getElementById(id);
const project = JSON.parse(find("project").textContent);
const POLL = 3; // seconds between looks at what others and the model do
const MOST_AGAIN = 20; // refused items that are asked again at once; the server has the others
const LATER_WORDS = "This item has an answer. Later is for items without one.";
const PEOPLE = "people of "; // before the value, in the names of fields of the Team panel
const problems = { send: "", fetch: "", refused: "", files: "" };
let classes = [];
const history = new ClassHistory(), help = new ClassHelp(find("classes")), classFit = new ClassFit(find("classes"));
let announced = "";
let hits = []; // items of a list, to be gone through one after the other
let searched = ""; // what was looked for in the list that an item was opened from
let noted = null; // the item of the note that is being written
let reviewing = false; // whether these have answers already, to be looked at again
const trail = new Trail();
const refusals = new Refusals();
let refused = []; // what the server refused since the outbox was at rest

const outbox = new Outbox(`bemps-outbox ${project.id} ${project.annotator}`, {
  saved: (letter, reply) => savedLetter(letter, reply),
  refused: (letter, error) => refusedLetter(letter, error),
  changed: () => { afterRefusals(); showTrouble(); },
  elsewhere: (items) => answeredElsewhere(items),
});
const queue = new Queue({
  unsent: () => outbox.items,
  show: (item) => shown(item),
  trouble: (error) => { problems.fetch = error.message; showTrouble(); if (!queue.current) shown(null); },
  fetched: (reply) => { problems.fetch = ""; told(reply); showTrouble(); },
});
const panels = new Panels({ item: currentId, act, filled, closed: (panel) => guessWords.attach(panel) });
const guessWords = new GuessWords({ item: currentId, changed: markWords });
const itemMap = new ItemMap({ open: (id) => { hits = []; searched = ""; openItem(id); }, trouble: (error) => showBanner(error.message) });
const classSearch = new ClassSearch({
  post,
  changed: () => queue.reorder(),
  ended: (name) => say(passNotice(`The search for ${name} is over: the usual order is back.`)),
  trouble: (error) => say(passNotice(`The search goes on: ${error.message.replace(/[.]$/, "")}.`)),
});
const itemList = new ItemList({ confirm: labelList });
const results = new Results({
  ready: (job) => { const words = job.file ? `${job.name}: ${job.file} is ready.` : `${job.name}: ${job.problem}`; passNotice(words); say(words); },
  refused: (error) => say(passNotice(error.message)),
  trouble: (words) => { if (problems.files !== words) { problems.files = words; showTrouble(); } },
});
const suggestions = new Suggestions({
  items: () => [queue.current, ...queue.ahead],
  known: (name) => classes.some((each) => each.name === name),
  accept: (name, event) => { answer({ kind: "label", label: name, method: "suggested" }, `${name} accepted`); backToItem(event); },
  say,
});
const keyboard = new Keyboard({ label, command, pending: showPending, moved: movedKey, content: find("content") });

function currentId() { return queue.current ? queue.current.id : ""; }

// -- answers --------------------------------------------------------------------------------------------------------

function label(name, event) {
  if (itemList.isOpen) { itemList.choose(name); return; }
  answer({ kind: "label", label: name }, name);
  backToItem(event);
}

// after a click the keys belong to the item again; who walks by Tab and Enter stays where they are
function backToItem(event) { if (event && event.detail > 0) find("content").focus({ preventScroll: true }); }

function answer(said, words) {
  const item = queue.current;
  if (itemList.isOpen) { showSaved("Close the list first: Esc", "trouble"); say("Close the list first."); return; }
  if (!item) return;
  keepNote(); // before the answer, which undo takes back first
  const { request } = outbox.add("api/answer", { item: item.id, ...said, ...history.labelled(said.label) }, { again: Boolean(item.old || item.label), texts: [shortened(item.text)] }).body;
  trail.add({ request, item, kind: said.kind, label: said.label });
  announced = words;
  showSaved(`${words} …`, "waiting");
  flash(said.label);
  clearFinder();
  if (item.old && hits.length) nextHit(); else queue.next();
  showTrouble();
}

// one label for all ticked items of a list
function labelList(items, name) {
  keepNote();
  trail.add({ request: outbox.add("api/list", { items, ...history.labelled(name) }, { texts: items.map((id) => shortened(itemList.textOf(id))) }).body.request });
  panels.close();
  queue.drop(items);
  showSaved(`${amount(items.length)} as ${name} …`, "waiting");
  find("content").focus({ preventScroll: true });
  showTrouble();
}

function savedList(letter, reply) {
  const left = letter.body.items.filter((id) => !reply.items.includes(id));
  queue.release(left); // somebody was quicker
  const words = `Labelled ${amount(reply.items.length)} as ${reply.label}.`;
  showDone(`${amount(reply.items.length)} as ${reply.label} · saved`);
  passNotice([words, reply.left_out, reply.items.length ? "One undo takes all of it back." : ""].filter(Boolean).join(" "));
  say(`${words} ${reply.left_out}`);
}

async function nextHit() {
  queue.leave();
  while (hits.length) if (await openItem(hits.shift(), !reviewing)) return;
  queue.next();
}

// what was done last, once nothing is on its way any more
function showDone(words) {
  if (outbox.waiting) showSaved(`saving ${outbox.waiting} …`, "waiting");
  else if (words) showSaved(words, "done");
}

function savedLetter(letter, reply) {
  told(reply);
  showDone(letter.path === "api/answer" ? `${reply.label || letter.body.kind} · saved` : "");
  if (reply.previous && !["note", "later"].includes(letter.body.kind) && !letter.again && reply.previous !== reply.label) say(addNotice(replacedWords({ ...letter.body, label: reply.label }, reply.previous)));
  if (letter.path === "api/list") savedList(letter, reply);
  if (letter.path === "api/undo" || letter.path === "api/redo") stepped(letter.path.slice(4), reply, letter.shown);
  queue.fill();
  panels.answersChanged();
}

// an answer to an item that the same person had labelled in another window, unseen here
function replacedWords({ kind, label }, previous) {
  return `You had labelled an item ${previous} in another window. Now it is ${answerWords({ kind, label })}; Undo takes that back.`;
}

// in another tab of the same person
function answeredElsewhere(items) {
  const { current } = queue;
  if (current && !current.old && items.includes(current.id)) announced = passNotice("The item that was here is answered in another tab.");
  for (const id of items) if (!current || !current.old || current.id !== id) queue.forget(id);
}

// `guess`: the item that the page has shown again already, or that is gone again
function stepped(what, reply, guess) {
  if (reply.items) { steppedMany(what, reply); return; }
  if (!reply.item) { showDone(`Nothing to ${what}.`); say(`Nothing to ${what}.`); return; }
  const { item, was, answer: own, decision } = reply;
  const words = what === "undo" ? takenBack(was, { label: own && own.label, decision }) : doneAgain(was, item);
  showDone(words);
  if (guess === item.id) return;
  announced = words;
  const answered = Boolean(own && own.kind !== "note");
  if (what === "undo") queue.put({ ...item, note: own && own.note }, { old: answered || was.kind === "adjudicate", answered, label: own && own.label, own: own && own.label, words });
  else { say(words); if (was.kind !== "adjudicate") queue.forget(item.id); }
  if (guess && what === "undo") queue.forget(guess); // another window has answered since
  else if (guess) queue.release([guess]);
}

// all answers of one action: their items stay in the list that they came from
function steppedMany(what, { items, was }) {
  if (what === "redo") queue.drop(items); else queue.release(items);
  const words = `${what === "undo" ? "Taken back" : "Done again"}: your label ${was.label} for ${amount(items.length)} at once.`;
  showDone(words);
  say(passNotice(words));
}

// it never was: its items are there again, and no step back is about it
function refusedLetter(letter, error) {
  const { items, item, request } = letter.body;
  trail.refused(letter);
  outbox.withdraw(request);
  refusals.add(letter, error.message);
  showSaved("not saved", "trouble");
  queue.release(items || [item || letter.shown]);
  refused.push(letter);
}

// once for all that was refused together
function afterRefusals() {
  if (!refused.length) return;
  const items = refused.filter(({ body }) => !body.items).map(({ body, shown: guess }) => body.item || guess);
  refused = [];
  problems.refused = refusals.words;
  askAgain([...new Set(items)].filter(Boolean).slice(-MOST_AGAIN));
  refreshState();
}

// the focus stays where it is; who writes something goes on with the item that it may be about
async function askAgain(ids) {
  for (const id of ids) {
    try {
      const item = await lookUp(id), again = { ...item, old: item.answered }; // without an answer it stays in the queue
      if (queue.current && isWriting()) queue.insert(again); else queue.put(again);
    } catch (error) { showBanner(error.message); }
  }
  queue.fill(); // the others, and those that could not be looked up
}

function isWriting() { return !find("note-form").hidden || isField(document.activeElement); }

function note(text, item = queue.current) {
  if (!item) return;
  item.note = text;
  trail.add({ request: outbox.add("api/answer", { item: item.id, kind: "note", note: text }, { texts: [shortened(item.text)] }).body.request });
  if (queue.current && queue.current.id === item.id) showNote(text);
}

// a note that is being written when its item goes is saved, not thrown away
function keepNote() {
  const text = find("note").value.trim();
  if (!find("note-form").hidden && noted && text !== (noted.note || "")) note(text, noted);
  showNoteForm(false);
}

// -- what is seen ---------------------------------------------------------------------------------------------------

function shown(item) {
  keepNote();
  const over = !item && queue.over;
  showItem(item, over ? overWords() : waitingWords());
  guessWords.words = [];
  markWords();
  document.body.classList.toggle("over", over);
  if (over) showEnd();
  markAnswer(item ? item.label : null);
  const suggested = suggestions.show(item);
  if (item) say(`${announced ? `${announced.replace(/[.]$/, "")}. ` : ""}Next: ${columnWords(item)}${(item.text || "").slice(0, 400)}${suggested ? ` Suggested: ${suggested}. Enter accepts it.` : ""}`);
  else if (over) say(overWords());
  announced = "";
  panels.itemChanged();
}

function overWords() { return queue.others ? "Everything of yours is answered. Thank you!" : "Everything is answered. Thank you!"; }

// words in the item on show: of a search, of the project, and those that speak for the guess
function markWords() {
  const item = queue.current;
  if (!item) return;
  const terms = [...searchTerms(item.search || ""), ...keywordTerms(JSON.parse(project.display).keywords), ...guessTerms(guessWords.words, guessWords.name)];
  for (const place of [find("content"), ...document.querySelectorAll("#columns dd")]) highlight(place, terms);
}

function waitingWords() {
  if (problems.fetch) return "The items that were here are answered, and your answers are kept in this browser. More come when the server can be reached.";
  if (!queue.held) return "One moment, looking for the next item …";
  return `${queue.held === 1 ? "The last item is" : `The last ${queue.held} items are`} in the hands of other people. What they leave comes to you.`;
}

async function showEnd() {
  try {
    const html = await fragment("panel/end");
    if (!queue.current && queue.over) find("content").innerHTML = html; // made by the server's templates
  } catch { /* the sentence that is there says enough */ }
}

// `added`: the name of the class that was added here; who adds one needs no notice of it
function told(reply, added = "") {
  if (reply.labels !== undefined) find("count").textContent = reply.labels.toLocaleString("en");
  if (reply.model) {
    find("model-words").textContent = reply.model.words;
    find("model-state").dataset.state = reply.model.state;
  }
  if (reply.summary) showSummary(reply.summary);
  if (reply.classes) learnClasses(reply.classes, added);
  if (reply.class_search !== undefined) classSearch.show(reply.class_search);
  if (reply.settings) learnSettings(reply.settings);
  const isNew = (name) => reply[`${name}_version`] !== undefined && reply[`${name}_version`] !== project[`${name}_version`];
  if ((!reply.classes && isNew("classes")) || (!reply.settings && isNew("settings"))) refreshState();
}

function showSummary({ words, stop }) {
  find("summary").hidden = !words;
  if (find("summary-words").textContent !== words) find("summary-words").textContent = words;
  find("summary-result").hidden = !stop;
}

function learnSettings(given) {
  project.settings_version = given.version;
  document.querySelector(".bar h1").textContent = given.title;
  suggestions.learn(given.suggest, given.version);
  const display = JSON.stringify(given.display), isNew = project.display !== undefined && project.display !== display;
  project.display = display;
  if (isNew) showItemsAnew();
  const words = guidelineNews(project.settings.guidelines, given.guidelines, project.annotator);
  project.settings = given;
  if (!words) return;
  say(addNotice(words));
  if (panels.open === "guidelines") panels.refresh();
}

// items that are here already, as they are shown now
async function showItemsAnew() {
  const here = [queue.current, ...queue.ahead].filter(Boolean);
  try {
    const { items } = await post("api/items", { ids: here.map((item) => item.id) });
    for (const fresh of items) queue.replace(fresh);
  } catch (error) { showBanner(error.message); }
}

function learnClasses(given, added = "") {
  project.classes_version = given.version;
  if (given.list.length && JSON.stringify([given.list, given.gone]) === JSON.stringify([classes, history.gone])) return;
  const { words, moved } = history.learn(given, added);
  classes = given.list;
  showClasses(classes, label);
  classFit.learn(classes.map(({ name }) => name));
  help.learn(classes);
  itemList.learn(classes);
  keyboard.learn(classes, moved);
  if (words) say(addNotice(words));
  markAnswer(queue.current ? queue.current.label : null);
}

function movedKey(key, name) {
  const words = `Key ${key} means ${name} now. Press it again to label.`;
  addNotice(words);
  say(words);
}

function showTrouble() {
  const waiting = outbox.waiting;
  problems.send = waiting && outbox.trouble
    ? `${waiting} answer${waiting > 1 ? "s" : ""} not saved yet: ${outbox.trouble.replace(/\.$/, "")}. ` +
      (outbox.stored ? "Kept in this browser and sent again by itself; do not clear its data." : "Keep this tab open; it is sent again by itself.")
    : "";
  if (problems.send) showSaved(`${waiting} not saved yet`, "trouble");
  const lost = !problems.send && problems.fetch ? `No new items: ${problems.fetch.replace(/\.$/, "")}. Trying again.` : "";
  const count = queue.here;
  const supply = problems.fetch && count ? ` ${count} item${count > 1 ? "s" : ""} can be answered meanwhile.` : "";
  const late = problems.files && `The file is still waited for: ${problems.files.replace(/\.$/, "")}.`;
  showBanner((problems.send || problems.refused || lost || late) + supply, Boolean(problems.refused && !problems.send));
}

function flash(name) {
  for (const button of document.querySelectorAll("#classes .class.hit")) button.classList.remove("hit");
  const button = name && [...document.querySelectorAll("#classes .class")].find((one) => one.dataset.label === name);
  if (!button) return;
  button.classList.add("hit");
  setTimeout(() => button.classList.remove("hit"), 160);
}

async function refreshState() {
  try {
    const state = await get("api/state");
    problems.fetch = "";
    told(state);
    if (outbox.waiting && outbox.trouble) outbox.hurry();
  } catch (error) {
    problems.fetch = error.message;
  }
  showTrouble();
}

// -- commands -------------------------------------------------------------------------------------------------------

const commands = {
  u: () => step("undo"),
  r: () => step("redo"),
  s: () => answer({ kind: "skip" }, "skipped"),
  x: () => answer({ kind: "unsure" }, "unsure"),
  ".": () => postpone(),
  n: () => toggleNote(),
  w: () => panels.toggle("why"),
  g: () => guess(),
  p: () => panels.toggle("progress"),
  l: () => panels.toggle("labelled"),
  i: () => panels.toggle("guidelines"),
  z: () => zoom(),
  "?": () => panels.toggle("keys"),
  enter: () => { if (!suggestions.take()) confirm(); },
  "/": () => { if (!find("finder").hidden) find("find").focus(); },
};
// no answer: the server asks again after some others
function postpone() {
  const item = queue.current;
  if (item && item.answered) { passNotice(LATER_WORDS); say(LATER_WORDS); } else answer({ kind: "later" }, "asked again later");
}

// an item that was opened again shows no suggestion: there Enter gives the same answer once more, and the log has it that somebody looked again
function confirm() {
  const item = queue.current;
  if (item && item.old && item.label) answer({ kind: "label", label: item.label }, `${item.label} confirmed`);
}

// shown at once where this page knows what the step is about, also while the server is away; else when its answer comes
function step(what) {
  const known = trail.take(what), { item } = known;
  showSaved(what === "undo" ? "taking back …" : "bringing back …", "waiting");
  outbox.add(`api/${what}`, {}, { shown: item && item.id, about: known.request }); // before a note that is kept when its item goes
  if (item) announced = what === "undo" ? takenBack(known, { label: item.own }) : doneAgain(known, item);
  if (item && what === "undo") queue.put(item, { old: Boolean(item.answered), words: announced });
  else if (item) { say(announced); queue.forget(item.id); }
  showTrouble();
}

const byName = { skip: "s", unsure: "x", later: ".", note: "n", undo: "u", redo: "r" };

function command(key, event) {
  if (key === "escape") { escape(event); return true; }
  if (!commands[key]) return false;
  commands[key]();
  return true;
}

function escape(event) {
  if (!find("note-form").hidden) toggleNote(false);
  else if (event.target === find("find")) { clearFinder(); find("content").focus(); }
  else if (problems.refused) closeRefused();
  else if (!panels.close()) clearNotices();
}

function closeRefused() { refusals.clear(); problems.refused = ""; showTrouble(); }

function toggleNote(open = find("note-form").hidden) {
  showNoteForm(open);
  noted = open ? queue.current : null;
  if (open) { find("note").value = (noted && noted.note) || ""; find("note").focus(); }
  else find("content").focus({ preventScroll: true });
}

function showNoteForm(open) {
  find("note-form").hidden = !open;
  document.querySelector('[data-do="note"]').setAttribute("aria-expanded", String(open));
}

function zoom() { if (queue.current && queue.current.image) find("content").classList.toggle("zoomed"); }

// of the item on show now, whatever comes while the panel opens
async function guess() {
  const item = currentId();
  if (panels.open !== "why") await panels.toggle("why");
  if (panels.open === "why") panels.refresh(new URLSearchParams({ guess: item }).toString());
}

function isOwn(given) { return Boolean(given) && given.kind !== "adjudicate" && given.annotator === project.annotator; }

function decidedWords({ label, annotator }, given) {
  const own = isOwn(given) ? `Your answer: ${answerWords(given)}. ` : "";
  return `Decided by ${annotator}: ${label}. ${own}A key changes your answer; the decision is changed under Team.`;
}

// an item with what is known of its answers now
async function lookUp(id) {
  const { item, answer: given, decision } = await get(`api/item?id=${encodeURIComponent(id)}`);
  const words = decision ? decidedWords(decision, given) : given && given.label ? `Labelled ${given.label}. Enter confirms it, another key changes it.` : given ? `Answered: ${answerWords(given)}.` : "";
  return { ...item, note: given && given.note, answered: Boolean(given && given.kind !== "note"), label: given && given.label, own: isOwn(given) ? given.label : null, words };
}

// whether it is on show now; `open`: only an item that nobody has answered meanwhile
async function openItem(id, open = false) {
  try {
    const item = await lookUp(id);
    if (open && item.answered) return false;
    queue.put(item, { old: true, search: searched });
    find("content").focus({ preventScroll: true });
    if (matchMedia("(max-width: 60rem)").matches) panels.close();
    return true;
  } catch (error) {
    showBanner(error.message);
    return false;
  }
}

// an item of a list; after an unanswered one, or one to be looked at again, come those below it
function openHit(button) {
  searched = panels.open === "labelled" ? new URLSearchParams(panels.query).get("q") || "" : "";
  reviewing = button.matches("[data-review]");
  const kind = reviewing ? "[data-review]" : "[data-unanswered]";
  const rest = [...document.querySelectorAll(`#panel ${kind}`)];
  hits = button.matches(kind) ? rest.slice(rest.indexOf(button) + 1).map((one) => one.dataset.item) : [];
  return openItem(button.dataset.item);
}

// what the server cannot know when it makes a panel
function filled(panel) {
  const box = panel.querySelector("#keys-off");
  if (box) box.checked = keyboard.off;
  if (results.unfinished) results.watch();
  itemMap.attach(panel);
  itemList.attach(panel);
  suggestions.attach(panel);
  guessWords.attach(find("panel"));
}

function clearFinder() {
  if (!find("find").value) return;
  find("find").value = "";
  filterClasses("");
}

// what panels ask for
async function act(name, values, source) {
  const sent = { panel: panels.open, values: source.elements ? sentValues(source) : new Map() };
  const save = (path, body, isLast) => change(path, body, sent, isLast);
  const tasks = {
    "open-item": () => openHit(source),
    "guess": () => guess(),
    "keys-off": () => { keyboard.off = values.off; },
    "page": () => panels.refresh(values.query),
    ...guidelineTasks(values, { told, panels }),
    ...classTasks(values, { change: save, item: queue.current && queue.current.id }),
    "open-panel": () => panels.toggle(values.name),
    "map-class": () => itemMap.list(new URLSearchParams({ class: values.class })),
    "make-result": () => results.make(values),
    "cancel-result": () => results.cancel(values.id),
    "adjudicate": () => decide(values, save),
    "decide": () => decide(values, save),
    "settings": () => saveSettings(values, source, save),
    "assign-by": () => save("api/assignment", { column: values.column, seen: seenValues(source, Object.keys(values)) }),
    "assign": () => saveShares(values, source, save),
    "open-search": () => panels.show("labelled", "state=unanswered"),
    "look-for": () => lookFor(values.label),
    "open-list": () => panels.show("list", values.query),
    "list-class": () => itemList.choose(values.label),
    "list-tick": () => itemList.tickAll(Boolean(values.on)),
    "list-alike": () => listAlike(Number(values.most)),
    "label-list": () => itemList.submit(),
    "suggest": () => save("api/suggest", { source: values.source, address: values.address, model: values.model, agreed: values.agreed }),
    "suggest-retry": () => save("api/suggest/retry", {}),
    "name": () => changeName(values.name),
  };
  try { await tasks[name](); } catch (error) {
    learnPresent(source, error.present); // the next Save knows what the words say
    complain(source, error.message);
  }
}

// a name that somebody has already is taken at the second click: they may be the same person
const taken = new Map(); // what was typed, and the name as it stands beside the labels
async function changeName(typed) {
  const { name, question } = await post("api/name", { name: taken.get(typed) || typed, is_confirmed: taken.has(typed) });
  if (!question) return location.reload();
  taken.set(typed, name);
  throw new Error(`${question} If it is, choose Change again.`);
}

// settle a disagreement; a decision that somebody made meanwhile is not replaced unseen
async function decide({ item, label, instead }, save) {
  await save("api/adjudicate", { item, ...history.labelled(label), instead_of: instead ? Number(instead) : null, request: newId() });
  trail.add({});
}

async function lookFor(name) {
  await classSearch.start(name);
  say(find("class-search-words").textContent);
  if (matchMedia("(max-width: 60rem)").matches) panels.close();
  find("content").focus({ preventScroll: true });
}

// what is like the ticked items, or the first of them where they are many
function listAlike(most) {
  const items = itemList.ticked.slice(0, most);
  if (items.length) panels.show("list", new URLSearchParams([["source", "alike"], ...items.map((id) => ["item", id])]).toString());
}

async function saveSettings(values, form, save) {
  const before = JSON.parse(project.display).remote_images;
  await save("api/settings", { values, seen: seenValues(form, Object.keys(values)) });
  if (JSON.parse(project.display).remote_images !== before) location.reload(); // what a page may load is decided when it is loaded
  saySaved("settings-saved");
}

// the people of each value that somebody changed
async function saveShares(values, form, save) {
  const names = Object.keys(values).filter((name) => name.startsWith(PEOPLE)), seen = seenValues(form, names);
  const byValue = (texts) => Object.fromEntries(names.map((name) => [name.slice(PEOPLE.length), texts[name]]));
  await save("api/assignment", { people: byValue(values), seen: { people: byValue(seen) } });
  saySaved("assign-saved");
}

// in the panel, if that is still open
function saySaved(id) { if (find(id)) find(id).textContent = "Saved."; }

// `isLast`: whether nothing else of what was sent is to come
async function change(path, body, sent, isLast = true) {
  told(await post(path, body), path === "api/class" ? body.name.trim() : "");
  if (!isLast) return;
  panels.drafts.settle(sent.panel, panels.content, sent.values);
  await panels.refresh();
}

function complain(source, words) {
  source.querySelector("[role=status]")?.replaceChildren(); // that the last try was saved
  const place = source.isConnected && ((source.closest("details") || source.closest("form, li, section"))?.querySelector(".problem") || document.querySelector("#panel .problem"));
  if (place) place.textContent = words; else say(passNotice(words));
}

// -- start ----------------------------------------------------------------------------------------------------------

for (const button of document.querySelectorAll("[data-do]")) {
  button.addEventListener("click", (event) => {
    commands[byName[button.dataset.do]]();
    if (find("note-form").hidden) backToItem(event);
  });
}
find("summary-result").addEventListener("click", () => panels.toggle("result", find("summary-result")));
find("notice-close").addEventListener("click", clearNotices);
find("banner-close").addEventListener("click", closeRefused);
find("content").addEventListener("scroll", showMore, { passive: true });
new ResizeObserver(showMore).observe(find("content"));
find("content").addEventListener("dblclick", zoom);
find("content").addEventListener("click", (event) => {
  const button = event.target.closest("[data-open]"); // on the page of the end
  if (button) panels.toggle(button.dataset.open, button);
});
find("note-form").addEventListener("submit", (event) => { event.preventDefault(); note(find("note").value.trim()); toggleNote(false); });
find("note-cancel").addEventListener("click", () => toggleNote(false));
find("note").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) find("note-form").requestSubmit(); });
find("find").addEventListener("input", () => filterClasses(find("find").value));
find("find").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  const first = find("find").value.trim() && filterClasses(find("find").value);
  if (first) { find("content").focus({ preventScroll: true }); label(first.dataset.label); }
});
setInterval(() => { if (!document.hidden) refreshState(); }, POLL * 1000);
told({ labels: project.labels, model: project.model, summary: project.summary, classes: project.classes, settings: project.settings, class_search: project.class_search });
queue.take(project.items);
shown(queue.current);
outbox.flush();
queue.fill();
if (!classes.length) panels.toggle("classes"); // they were left for later
document.body.dataset.ready = "yes";
