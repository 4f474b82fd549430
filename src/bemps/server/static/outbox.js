// What was answered and is not known to be saved. It survives a reload and a closed browser (localStorage), is sent
// in order, and again with the same request id until the server has said that it is durable.

import { post, Refused } from "./post.js";

const FIRST_WAIT = 1, LONGEST_WAIT = 15; // seconds

export class Outbox {
  constructor(name, { saved, refused, changed, elsewhere }) {
    Object.assign(this, { name, saved, refused, changed, elsewhere, wait: FIRST_WAIT, trouble: "", sending: false, timer: 0 });
    this.memory = [];
    this.stored = true;
    this.load();
    addEventListener("online", () => this.hurry());
    addEventListener("storage", (event) => { if (event.key === name) this.joined(event.newValue); });
  }

  // another tab wrote: what it has answered is not to be answered here
  joined(written) {
    const known = new Set(this.memory.map((letter) => letter.body.request));
    const letters = JSON.parse(written || "[]").filter((letter) => !known.has(letter.body.request));
    this.load();
    this.flush();
    const items = [...answered(letters), ...letters.flatMap((letter) => letter.body.items || [])];
    if (items.length) this.elsewhere(items);
  }

  load() {
    try { this.memory = JSON.parse(localStorage.getItem(this.name) || "[]"); } catch { this.stored = false; }
  }

  keep() {
    try { localStorage.setItem(this.name, JSON.stringify(this.memory)); this.stored = true; } catch { this.stored = false; }
  }

  get waiting() { return this.memory.length; }

  get items() { return answered(this.memory); }

  // shown: the item that the page has shown again already, for a step back
  // again: whether the page showed an earlier answer to the item
  // about: the request of what a step takes back or brings back, where this page made it
  // texts: what is seen of its items, for the words about a refusal
  add(path, body, { shown = null, again = false, about = null, texts = [] } = {}) {
    const letter = { path, shown, again, about, texts, body: { ...body, request: newId() } };
    if (this.stored) this.load(); // another tab may have written
    this.memory.push(letter);
    this.keep();
    this.flush();
    return letter;
  }

  drop(letter) { this.only((other) => other.body.request !== letter.body.request); }

  // steps that are about what was refused: they would take back something else
  withdraw(request) { this.only((other) => other.about !== request); }

  only(isKept) {
    if (this.stored) this.load();
    this.memory = this.memory.filter(isKept);
    this.keep();
  }

  hurry() { clearTimeout(this.timer); this.wait = FIRST_WAIT; this.flush(); }

  async flush() {
    if (this.sending) return;
    this.sending = true;
    while (this.memory.length) {
      const letter = this.memory[0];
      try {
        const reply = await post(letter.path, letter.body);
        this.calm(letter);
        this.saved(letter, reply);
      } catch (error) {
        if (!(error instanceof Refused)) { this.later(error); break; }
        this.calm(letter);
        this.refused(letter, error);
      }
    }
    this.sending = false;
    this.changed();
  }

  calm(letter) {
    this.drop(letter);
    this.wait = FIRST_WAIT;
    this.trouble = "";
  }

  later(error) {
    this.trouble = error.message;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), this.wait * 1000);
    this.wait = Math.min(LONGEST_WAIT, this.wait * 2);
  }
}

// ids of the items that letters answer
function answered(letters) {
  return letters.filter((letter) => letter.body.kind !== "note").map((letter) => letter.body.item).filter(Boolean);
}

// crypto.randomUUID exists only on secure pages; a plain http address in a team is none
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
