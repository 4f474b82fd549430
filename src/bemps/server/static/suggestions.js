// A suggested class below the item: shown when it is known, never waited for. One on show does not change.

import { fragment, post } from "./post.js";

const AGAIN = 3000; // milliseconds between looks for suggestions that are on their way
const READ = 400; // milliseconds that one which came late is seen before Enter accepts it

export class Suggestions {
  // items: the one on show and the next ones; known: whether there is such a class; say: for screen readers
  constructor({ items, known, accept, say }) {
    Object.assign(this, { items, known, accept, say, on: false, name: "", asking: false });
    this.row = document.getElementById("suggested"); // there while suggestions are on, so that nothing jumps
    this.button = document.getElementById("suggestion");
    this.none = document.getElementById("no-suggestion");
    this.words = document.getElementById("suggestion-class");
    this.button.addEventListener("click", (event) => this.take(event));
    setInterval(() => { if (!document.hidden) { this.fetch(); this.refresh(); } }, AGAIN);
  }

  // the settings of the project; what was suggested before they changed counts no more
  learn(on, version) {
    if (this.version === version && this.on === on) return;
    if (this.version !== undefined) for (const item of this.items().filter(Boolean)) delete item.suggestion;
    Object.assign(this, { on, version });
    this.show(this.items()[0]);
    this.fetch();
  }

  show(item) {
    const settled = item && item.old && item.label; // what it is stands above it
    const may = this.on && item && item.suggestion && !settled && this.known(item.suggestion);
    this.name = may ? item.suggestion : "";
    delete this.button.dataset.late;
    this.row.hidden = Boolean(!this.on || !item || settled);
    this.button.hidden = !may;
    this.none.hidden = Boolean(may);
    this.words.textContent = this.name;
    return this.name;
  }

  // whether there was one to accept
  take(event) {
    if (!this.name || this.button.dataset.late) return false;
    this.accept(this.name, event);
    return true;
  }

  // the form of the panel: the fields of an address are there where an address is chosen
  attach(panel) {
    const source = panel.querySelector("#suggest-source"), fields = panel.querySelector("#suggest-address");
    const choose = () => { if (fields) fields.hidden = source.value !== "address"; };
    source?.addEventListener("change", choose);
    if (source) choose(); // it may have been chosen before the panel was made anew
  }

  // how it goes, in the panel, without touching a form that is being filled in
  async refresh() {
    if (!document.getElementById("suggest-state")) return;
    try {
      const html = await fragment("panel/suggestions?part=state");
      const state = document.getElementById("suggest-state");
      if (state && !state.contains(document.activeElement)) state.innerHTML = html; // made by the server's templates
    } catch { /* the page says elsewhere that the server cannot be reached */ }
  }

  async fetch() {
    const missing = this.items().filter((item) => item && !item.suggestion && !(item.old && item.label)).slice(0, 20);
    if (!this.on || this.asking || !missing.length) return;
    this.asking = true;
    try {
      const { suggestions } = await post("api/suggestions", { items: missing.map((item) => item.id) });
      for (const item of missing) if (Object.hasOwn(suggestions, item.id)) this.arrived(item, suggestions[item.id]);
    } catch { /* labelling goes on without; the panel says why there are none */ }
    this.asking = false;
  }

  arrived(item, name) {
    item.suggestion = name;
    if (item !== this.items()[0] || !this.show(item)) return;
    this.button.dataset.late = "yes";
    setTimeout(() => { if (item === this.items()[0]) delete this.button.dataset.late; }, READ);
    this.say(`Suggested: ${name}. Enter accepts it.`);
  }
}
