// The words that speak for the model's guess: asked for when the guess is on show, listed below it, marked in the item.

import { fragment } from "./post.js";

export class GuessWords {
  constructor({ item, changed }) {
    Object.assign(this, { item, changed, words: [], name: "" });
  }

  // the panel was filled anew, or closed
  attach(panel) {
    const place = panel.hidden ? null : panel.querySelector("#guess-words");
    const before = this.words;
    this.words = [];
    if (place) this.load(place);
    else if (before.length) this.changed();
  }

  async load(place) {
    const id = place.dataset.item;
    try { place.innerHTML = await fragment(`panel/guess-words?item=${encodeURIComponent(id)}`); } // made by the server's templates
    catch (error) { place.textContent = error.message; return; }
    const list = place.querySelector("[data-words]");
    if (!list || !place.isConnected || this.item() !== id) return;
    this.words = JSON.parse(list.dataset.words);
    this.name = list.dataset.name;
    this.changed();
  }
}
