// The side panel: one fragment at a time, made by the server.

import { changedValues, Drafts } from "./drafts.js";
import { focusKept } from "./focus.js";
import { fragment } from "./post.js";

const REFRESH = 4; // seconds, for panels that tell how things go
const TYPING = 250, SETTLE = 150; // milliseconds: after the last letter of a search; after the last of several answers
const SOON = 1500; // milliseconds
const OF_ANSWERS = ["labelled", "team", "review"];
const FORM = "classes"; // the panel that people open to type in

export class Panels {
  constructor({ item, act, filled, closed }) {
    Object.assign(this, { item, act, filled, closed, open: "", opener: null, filledWith: "", running: 0, drafts: new Drafts() });
    this.place = document.getElementById("panel");
    this.content = document.getElementById("panel-content");
    for (const button of document.querySelectorAll("[data-panel]")) {
      // after a click the keys belong to the item again, and Space scrolls it; who walks by Tab and Enter comes back here
      button.addEventListener("click", (event) => this.toggle(button.dataset.panel, event.detail > 0 ? document.getElementById("content") : button));
    }
    document.getElementById("panel-close").addEventListener("click", () => this.close());
    this.content.addEventListener("submit", (event) => this.submitted(event));
    this.content.addEventListener("click", (event) => this.clicked(event));
    this.content.addEventListener("change", (event) => this.changed(event));
    this.content.addEventListener("input", (event) => this.typed(event));
    setInterval(() => { if (this.open === "progress") this.look(); }, REFRESH * 1000);
    // what the model is still computing
    setInterval(() => { if (this.content.querySelector("[data-refresh]")) this.look(); }, SOON);
  }

  async toggle(name, opener = null) {
    if (this.open === name) { this.close(); return; }
    this.open = name;
    this.opener = opener || document.activeElement;
    this.query = "";
    this.begin();
    if (name === FORM) this.place.focus({ preventScroll: true }); // at once, so that letters of a name are no answers
    await this.refresh();
    if (this.open === name) this.start(name).focus({ preventScroll: true });
  }

  // where people go on: with a keyboard, whoever opens the form types a name
  start(name) { return (name === FORM && matchMedia("(pointer: fine)").matches && document.getElementById("new-class")) || this.place; }

  // a panel that is about something
  async show(name, query) {
    if (!this.open) this.opener = document.activeElement;
    this.open = name;
    this.begin();
    await this.refresh(query);
    if (this.open === name) this.place.focus({ preventScroll: true });
  }

  begin() {
    this.replace(moment());
    this.place.hidden = false;
    document.body.classList.add("with-panel");
    this.mark();
  }

  close() {
    if (!this.open) return false;
    this.open = "";
    this.keepDrafts();
    const inside = this.place.contains(document.activeElement);
    if (inside) document.activeElement.blur(); // at once, so that the next key is no letter of its field
    this.place.hidden = true;
    document.body.classList.remove("with-panel");
    this.mark();
    this.closed(this.place);
    if (this.opener && this.opener.isConnected) this.opener.focus({ preventScroll: true });
    if (inside && document.activeElement === document.body) document.getElementById("content").focus({ preventScroll: true });
    return true;
  }

  mark() {
    this.place.toggleAttribute("data-typing", this.open === FORM);
    for (const button of document.querySelectorAll("[data-panel]")) {
      button.setAttribute("aria-expanded", String(button.dataset.panel === this.open));
    }
  }

  // what depends on the item on show
  itemChanged() { if (this.open === "why") this.refresh(); }

  // what depends on answers
  answersChanged() {
    clearTimeout(this.settling);
    if (OF_ANSWERS.includes(this.open)) this.settling = setTimeout(() => { if (OF_ANSWERS.includes(this.open)) this.refresh(); }, SETTLE);
  }

  // whether there is news; not while an answer is on its way
  look() { if (!document.hidden && !this.running) this.refresh(); }

  async refresh(query) {
    if (query === undefined) query = this.query; else clearTimeout(this.typing); // a search for letters typed before would undo it
    const name = this.open;
    if (!name) return;
    this.query = query || "";
    const item = name === "why" ? `item=${encodeURIComponent(this.item())}` : "";
    const text = [item, this.query].filter(Boolean).join("&");
    this.latest = `${name}?${text}`;
    const asked = this.latest, isOpen = () => this.latest === asked && this.open === name;
    this.running += 1;
    try {
      const html = await fragment(`panel/${name}${text ? `?${text}` : ""}`);
      if (isOpen()) this.fill(html);
    } catch (error) { if (isOpen()) this.failed(error); }
    this.running -= 1;
  }

  fill(html) {
    const focusAgain = focusKept(this.content, this.place);
    const open = [...this.content.querySelectorAll("details[open][id]")].map(({ id }) => id);
    const opened = this.filledWith !== this.open;
    this.keepDrafts();
    this.content.innerHTML = html; // made by the server's templates, where every value is escaped
    this.filledWith = this.open;
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    this.drafts.restore(this.open, this.content, opened);
    this.filled(this.content);
    const title = this.content.querySelector("h2");
    this.place.setAttribute("aria-label", title ? title.textContent : "Panel");
    focusAgain();
  }

  keepDrafts() { if (this.filledWith) this.drafts.keep(this.filledWith, this.content); }

  // something short instead of the panel; the focus goes nowhere else
  replace(words) {
    this.keepDrafts();
    this.filledWith = "";
    if (this.content.contains(document.activeElement)) this.place.focus({ preventScroll: true });
    this.content.replaceChildren(words);
  }

  discard() {
    this.filledWith = "";
    this.drafts.forget(this.open);
    return this.refresh();
  }

  failed(error) {
    const words = document.createElement("p");
    words.className = "problem";
    words.textContent = error.message;
    this.replace(words);
  }

  clicked(event) {
    const button = event.target.closest("button[data-act]"); // a form has its own turn when it is submitted
    if (button && button.dataset.act === "discard") this.discard();
    else if (button) this.act(button.dataset.act, button.dataset, button);
  }

  submitted(event) {
    event.preventDefault();
    const form = event.target, { act, partial, ...about } = form.dataset;
    if (form.dataset.search !== undefined) this.refresh(new URLSearchParams(new FormData(form)).toString());
    else this.act(act, { ...about, ...(partial === undefined ? Object.fromEntries(new FormData(form)) : changedValues(form)) }, form);
  }

  typed(event) {
    const form = event.target.type === "search" && event.target.closest("form[data-search]");
    clearTimeout(this.typing);
    // the form may have been made anew meanwhile, with the same letters in it
    if (form) this.typing = setTimeout(() => this.content.querySelector("form[data-search]")?.requestSubmit(), TYPING);
  }

  changed(event) {
    const form = event.target.closest("form[data-search]");
    if (form && event.target.type !== "search") form.requestSubmit();
    else if (event.target.dataset.act === "keys-off") this.act("keys-off", { off: event.target.checked }, event.target);
  }
}

// seen only where the answer takes long
function moment() {
  const words = document.createElement("p");
  words.className = "quiet soon";
  words.textContent = "One moment …";
  return words;
}
