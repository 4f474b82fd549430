// The labelling page: one key = label, save, next.

import { Keyboard } from "./keyboard.js";
import { newId, Outbox } from "./outbox.js";
import { Panels } from "./panels.js";
import { classChanges } from "./changes.js";
import { fragment, get, post } from "./post.js";
import { Queue } from "./queue.js";
import { filterClasses, markAnswer, say, showBanner, showClasses, showItem, showMore, showNote, showNotice, showPending, showSaved } from "./show.js";

const find = (id) => document.getElementById(id);
const project = JSON.parse(find("project").textContent);
const POLL = 3; // seconds between looks at what others and the model do
const problems = { send: "", fetch: "", refused: "" };
let classes = [];
let announced = "";
let hits = []; // unanswered items of a search, to be gone through one after the other

const outbox = new Outbox(`bemps-outbox ${project.id} ${project.annotator}`, {
  saved: (letter, reply) => savedLetter(letter, reply),
  refused: (letter, error) => refusedLetter(letter, error),
  changed: () => showTrouble(),
});
const queue = new Queue({
  unsent: () => outbox.items,
  show: (item) => shown(item),
  trouble: (error) => { problems.fetch = error.message; showTrouble(); if (!queue.current) shown(null); },
  fetched: (reply) => { problems.fetch = ""; told(reply); showTrouble(); },
});
const panels = new Panels({ item: () => (queue.current ? queue.current.id : ""), act, filled });
const keyboard = new Keyboard({ label, command, pending: showPending, moved: movedKey, content: find("content") });

// -- answers --------------------------------------------------------------------------------------------------------

function label(name, event) {
  answer({ kind: "label", label: name }, name);
  backToItem(event);
}

// after a click the keys belong to the item again; who walks by Tab and Enter stays where they are
function backToItem(event) { if (event && event.detail > 0) find("content").focus({ preventScroll: true }); }

function answer(said, words) {
  const item = queue.current;
  if (!item) return;
  outbox.add("api/answer", { item: item.id, ...said });
  announced = words;
  showSaved(`${words} …`, "waiting");
  flash(said.label);
  clearFinder();
  if (item.old && hits.length) nextHit(); else queue.next();
  showTrouble();
}

async function nextHit() {
  queue.leave();
  while (hits.length) if (await openItem(hits.shift(), true)) return;
  queue.next();
}

function savedLetter(letter, reply) {
  told(reply);
  if (outbox.waiting) showSaved(`saving ${outbox.waiting} …`, "waiting");
  else if (letter.path === "api/answer") showSaved(`${letter.body.label || letter.body.kind} · saved`, "done");
  if (letter.path === "api/undo" || letter.path === "api/redo") stepped(letter.path.slice(4), reply);
  queue.fill();
  panels.answersChanged();
}

function stepped(what, reply) {
  if (!reply.item) { showSaved(`nothing to ${what}`, "done"); say(`Nothing to ${what}.`); return; }
  const was = reply.was || "answer";
  showSaved(`${what}: ${was}`, "done");
  announced = `${what}: ${was}`;
  if (what === "undo") queue.put({ ...reply.item, note: reply.note }, { old: false, label: reply.label, words: `Taken back: ${was}` });
  else { queue.forget(reply.item.id); say(`Redone: ${was}.`); }
}

function refusedLetter(letter, error) {
  problems.refused = `Not saved: ${letter.body.label || letter.body.kind || "your answer"}. ${error.message}`;
  if (letter.body.item) openItem(letter.body.item);
  refreshState();
}

function note(text) {
  const item = queue.current;
  if (!item) return;
  item.note = text;
  outbox.add("api/answer", { item: item.id, kind: "note", note: text });
  showNote(text);
}

// -- what is seen ---------------------------------------------------------------------------------------------------

function shown(item) {
  const over = !item && queue.over;
  showItem(item, over ? "Everything is answered. Thank you!" : waitingWords());
  document.body.classList.toggle("over", over);
  if (over) showEnd();
  markAnswer(item ? item.label : null);
  find("note-form").hidden = true;
  if (item) say(`${announced ? `${announced}. ` : ""}Next: ${(item.text || "").slice(0, 400)}`);
  else if (over) say("Everything is answered.");
  announced = "";
  panels.itemChanged();
}

function waitingWords() {
  return problems.fetch
    ? "The items that were here are answered, and your answers are kept in this browser. More come when the server can be reached."
    : "One moment, looking for the next item …";
}

async function showEnd() {
  try {
    const html = await fragment("panel/end");
    if (!queue.current && queue.over) find("content").innerHTML = html; // made by the server's templates
  } catch { /* the sentence that is there says enough */ }
}

function told(reply) {
  if (reply.labels !== undefined) find("count").textContent = reply.labels.toLocaleString("en");
  if (reply.model) {
    find("model-words").textContent = reply.model.words;
    find("model-state").dataset.state = reply.model.state;
  }
  if (reply.classes) learnClasses(reply.classes);
  else if (reply.classes_version !== undefined && reply.classes_version !== project.classes_version) refreshState();
}

function learnClasses(given) {
  project.classes_version = given.version;
  if (JSON.stringify(given.list) === JSON.stringify(classes)) return;
  const { words, moved } = classChanges(classes, given.list);
  classes = given.list;
  showClasses(classes, label);
  keyboard.learn(classes, moved);
  if (words) { showNotice(words); say(words); }
  markAnswer(queue.current ? queue.current.label : null);
}

function movedKey(key, name) {
  showNotice(`Key ${key} means ${name} now. Press it again to label.`);
  say(`Key ${key} means ${name} now. Press it again to label.`);
}

function showTrouble() {
  const waiting = outbox.waiting;
  problems.send = waiting && outbox.trouble
    ? `${waiting} answer${waiting > 1 ? "s" : ""} not saved yet: ${outbox.trouble}. ` +
      (outbox.stored ? "Kept in this browser and sent again by itself; do not clear its data." : "Keep this tab open; it is sent again by itself.")
    : "";
  if (problems.send) showSaved(`${waiting} not saved yet`, "trouble");
  const lost = !problems.send && problems.fetch ? `No new items: ${problems.fetch}. Trying again.` : "";
  showBanner(problems.send || problems.refused || lost);
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
  n: () => toggleNote(),
  w: () => panels.toggle("why"),
  g: () => guess(),
  p: () => panels.toggle("progress"),
  l: () => panels.toggle("labelled"),
  i: () => panels.toggle("guidelines"),
  z: () => zoom(),
  "?": () => panels.toggle("keys"),
  "/": () => { if (!find("finder").hidden) find("find").focus(); },
};
function step(what) {
  showSaved(what === "undo" ? "taking back …" : "bringing back …", "waiting"); // also while the server is away
  outbox.add(`api/${what}`, {});
}

const byName = { skip: "s", unsure: "x", note: "n", undo: "u", redo: "r" };

function command(key, event) {
  if (key === "escape") { escape(event); return true; }
  if (!commands[key]) return false;
  commands[key]();
  return true;
}

function escape(event) {
  if (!find("note-form").hidden) toggleNote(false);
  else if (event.target === find("find")) { clearFinder(); find("content").focus(); }
  else if (problems.refused) { problems.refused = ""; showTrouble(); }
  else if (!panels.close()) showNotice("");
}

function toggleNote(open = find("note-form").hidden) {
  find("note-form").hidden = !open;
  document.querySelector('[data-do="note"]').setAttribute("aria-expanded", String(open));
  if (open) { find("note").value = (queue.current && queue.current.note) || ""; find("note").focus(); }
  else find("content").focus({ preventScroll: true });
}

function zoom() { if (queue.current && queue.current.image) find("content").classList.toggle("zoomed"); }

async function guess() {
  if (panels.open !== "why") await panels.toggle("why");
  panels.refresh("guess=1");
}

// whether it is on show now; `open`: only an item that nobody has answered meanwhile
async function openItem(id, open = false) {
  try {
    const { item, answer: given } = await get(`api/item?id=${encodeURIComponent(id)}`);
    if (open && given && given.kind !== "note") return false;
    const words = given && given.label ? `Labelled ${given.label}. Another key changes it.` : given ? `Answered: ${given.kind}.` : "";
    queue.put({ ...item, note: given && given.note }, { old: true, label: given && given.label, words });
    find("content").focus({ preventScroll: true });
    if (matchMedia("(max-width: 60rem)").matches) panels.close();
    return true;
  } catch (error) {
    showBanner(error.message);
    return false;
  }
}

// an item of a list; after an unanswered one come the unanswered ones below it
function openHit(button) {
  const rest = [...document.querySelectorAll("#panel [data-unanswered]")];
  hits = button.matches("[data-unanswered]") ? rest.slice(rest.indexOf(button) + 1).map((one) => one.dataset.item) : [];
  return openItem(button.dataset.item);
}

// what the server cannot know when it makes a panel
function filled(panel) {
  const box = panel.querySelector("#keys-off");
  if (box) box.checked = keyboard.off;
}

function clearFinder() {
  if (!find("find").value) return;
  find("find").value = "";
  filterClasses("");
}

// what panels ask for
async function act(name, values, source) {
  const tasks = {
    "open-item": () => openHit(source),
    "guess": () => guess(),
    "keys-off": () => { keyboard.off = values.off; },
    "page": () => panels.refresh(values.query),
    "add-class": () => change("api/class", { name: values.name }),
    "edit-class": () => editClass(values),
    "adjudicate": () => change("api/adjudicate", { item: values.item, label: values.label, request: newId() }),
    "name": async () => { await post("api/name", { name: values.name }); location.reload(); },
  };
  try { await tasks[name](); } catch (error) { complain(source, error.message); }
}

async function editClass({ old, name, key, was }) {
  if (key !== was) await change("api/class/key", { name: old, key });
  if (name !== old) await change("api/class/rename", { old, new: name });
}

async function change(path, body) {
  told(await post(path, body));
  await panels.refresh();
}

function complain(source, words) {
  const place = source.closest("form, li, section")?.querySelector(".problem") || document.querySelector("#panel .problem");
  if (place) place.textContent = words; else showBanner(words);
}

// -- start ----------------------------------------------------------------------------------------------------------

for (const button of document.querySelectorAll("[data-do]")) {
  button.addEventListener("click", (event) => {
    commands[byName[button.dataset.do]]();
    if (find("note-form").hidden) backToItem(event);
  });
}
find("notice-close").addEventListener("click", () => showNotice(""));
find("content").addEventListener("scroll", showMore, { passive: true });
new ResizeObserver(showMore).observe(find("content"));
find("content").addEventListener("dblclick", zoom);
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
told({ labels: project.labels, model: project.model, classes: project.classes });
queue.take(project.items);
shown(queue.current);
outbox.flush();
queue.fill();
document.body.dataset.ready = "yes";
