// The side panel: one fragment at a time, made by the server.

import { fragment } from "./post.js";

const REFRESH = 4; // seconds, for panels that tell how things go
const TYPING = 250, SETTLE = 150; // milliseconds: after the last letter of a search; after the last of several answers
const SOON = 1500; // milliseconds
const OF_ANSWERS = ["labelled", "team", "review"];

export class Panels {
  constructor({ item, act, filled, closed }) {
    Object.assign(this, { item, act, filled, closed, open: "", opener: null });
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
    setInterval(() => { if (this.open === "progress" && !document.hidden) this.refresh(); }, REFRESH * 1000);
    // what the model is still computing
    setInterval(() => { if (!document.hidden && this.content.querySelector("[data-refresh]")) this.refresh(); }, SOON);
  }

  async toggle(name, opener = null) {
    if (this.open === name) { this.close(); return; }
    this.open = name;
    this.opener = opener || document.activeElement;
    this.query = "";
    this.content.replaceChildren(moment());
    this.place.hidden = false;
    document.body.classList.add("with-panel");
    this.mark();
    await this.refresh();
    if (this.open === name) this.place.focus({ preventScroll: true });
  }

  // a panel that is about something
  async show(name, query) {
    if (!this.open) this.opener = document.activeElement;
    this.open = name;
    this.place.hidden = false;
    document.body.classList.add("with-panel");
    this.content.replaceChildren(moment());
    this.mark();
    await this.refresh(query);
    if (this.open === name) this.place.focus({ preventScroll: true });
  }

  close() {
    if (!this.open) return false;
    this.open = "";
    if (this.place.contains(document.activeElement)) document.activeElement.blur(); // at once, so that the next key is no letter of its field
    this.place.hidden = true;
    document.body.classList.remove("with-panel");
    this.mark();
    this.closed(this.place);
    if (this.opener && this.opener.isConnected) this.opener.focus({ preventScroll: true });
    return true;
  }

  mark() {
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

  async refresh(query) {
    if (query === undefined) query = this.query; else clearTimeout(this.typing); // a search for letters typed before would undo it
    const name = this.open;
    if (!name) return;
    this.query = query || "";
    const item = name === "why" ? `item=${encodeURIComponent(this.item())}` : "";
    const text = [item, this.query].filter(Boolean).join("&");
    this.latest = `${name}?${text}`;
    const asked = this.latest;
    let html;
    try { html = await fragment(`panel/${name}${text ? `?${text}` : ""}`); } catch (error) { html = null; this.failed(error); }
    if (html !== null && this.latest === asked && this.open === name) this.fill(html);
  }

  fill(html) {
    const field = document.activeElement;
    const typing = field && this.content.contains(field) && field.id ? { id: field.id, value: field.value, at: field.selectionStart } : null;
    const open = [...this.content.querySelectorAll("details[open][id]")].map(({ id }) => id);
    const texts = [...this.content.querySelectorAll("textarea[id], select[id][form]")].filter(isChanged).map(({ id, value, dataset }) => [id, value, dataset.seen]);
    this.content.innerHTML = html; // made by the server's templates, where every value is escaped
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    for (const [id, value, seen] of texts) this.keep(document.getElementById(id), value, seen);
    this.filled(this.content);
    const title = this.content.querySelector("h2");
    this.place.setAttribute("aria-label", title ? title.textContent : "Panel");
    const again = typing && document.getElementById(typing.id);
    if (!again) return;
    again.focus();
    if (again.type === "search") again.value = typing.value; // letters that came while the server looked
    if (typing.at !== null && typing.at !== undefined) again.setSelectionRange?.(typing.at, typing.at);
  }

  // what is typed and not saved stays; `seen` is the version of the text that it is about
  keep(field, value, seen) {
    if (!field) return;
    field.value = value;
    if (seen && field.dataset.seen !== seen) { field.dataset.new = field.dataset.seen; field.dataset.seen = seen; }
  }

  failed(error) {
    const words = document.createElement("p");
    words.className = "problem";
    words.textContent = error.message;
    this.content.replaceChildren(words);
  }

  clicked(event) {
    const button = event.target.closest("button[data-act]"); // a form has its own turn when it is submitted
    if (button) this.act(button.dataset.act, button.dataset, button);
  }

  submitted(event) {
    event.preventDefault();
    const form = event.target;
    const values = Object.fromEntries(new FormData(form));
    if (form.dataset.search !== undefined) this.refresh(new URLSearchParams(new FormData(form)).toString());
    else this.act(form.dataset.act, { ...form.dataset, ...values }, form);
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

function isChanged(field) {
  return field.options ? ![...field.options].some((each) => each.defaultSelected && each.selected) && field.selectedIndex > 0 : field.value !== field.defaultValue;
}

// seen only where the answer takes long
function moment() {
  const words = document.createElement("p");
  words.className = "quiet soon";
  words.textContent = "One moment …";
  return words;
}
