// The items in this browser: the one on show, and the next ones, fetched before they are needed and enough for a while
// without the server. When the model has a new order, those that are not next are given back for new ones.

import { post } from "./post.js";

const AHEAD = 20, NEXT = 3, EMPTY_WAIT = 2; // items; those of them that stay when there is a new order; seconds

export class Queue {
  // unsent: ids of items whose answers are on their way
  constructor({ unsent, show, trouble, fetched }) {
    this.gone = new Set(); // answered on this page: a reply that was on its way meanwhile may still name them
    Object.assign(this, { unsent, show, trouble, fetched, current: null, ahead: [], filling: false, timer: 0, over: false, held: 0 });
    Object.assign(this, { orders: null, stale: false, reordering: false }); // of the model: the last that was heard of, and whether the items are older
  }

  // the next item, at once if one is here
  next() {
    if (this.current) this.gone.add(this.current.id);
    this.current = this.ahead.shift() || null;
    this.show(this.current);
    this.fill();
  }

  // the item on show is answered, and what comes next is not from here
  leave() {
    if (this.current) this.gone.add(this.current.id);
    this.current = null;
    this.show(null);
  }

  // show this item now; the one on show comes after it
  put(item, current) {
    if (this.current && this.current.id !== item.id && !this.current.old) this.ahead.unshift(this.current);
    this.ahead = this.ahead.filter((other) => other.id !== item.id);
    this.gone.delete(item.id);
    this.current = { ...item, ...current };
    this.show(this.current);
  }

  // show this item next, before the others
  insert(item) {
    if (this.current && this.current.id === item.id) return;
    this.gone.delete(item.id);
    this.ahead = [item, ...this.ahead.filter((other) => other.id !== item.id)];
  }

  // an item that is here already, made anew by the server
  replace(item) {
    this.ahead = this.ahead.map((other) => (other.id === item.id ? withWords(item) : other));
    if (!this.current || this.current.id !== item.id) return;
    const { old, answered, label, own, words, note, search, suggestion } = this.current; // a suggestion on show does not change
    this.current = { ...item, old, answered, label, own, words, note, search, suggestion };
    this.show(this.current);
  }

  forget(id) {
    this.gone.add(id);
    this.ahead = this.ahead.filter((item) => item.id !== id);
    if (this.current && this.current.id === id) this.next();
  }

  // how many items can be answered without the server
  get here() { return this.ahead.length + (this.current ? 1 : 0); }

  // another order was asked for: only the item on show stays
  reorder() { this.reordering = true; this.fill(); }

  // these were answered all at once, or are free again
  drop(ids) {
    for (const id of ids) this.gone.add(id);
    this.ahead = this.ahead.filter((item) => !this.gone.has(item.id));
    if (this.current && this.gone.has(this.current.id)) this.next();
  }

  release(ids) { for (const id of ids) this.gone.delete(id); }

  async fill() {
    if (this.filling || (this.ahead.length >= AHEAD && !this.stale && !this.reordering)) return;
    this.filling = true;
    clearTimeout(this.timer);
    let found = 0, again = false;
    try {
      const back = this.stale || this.reordering ? this.ahead.slice(this.reordering ? 0 : NEXT).map((item) => item.id) : [];
      this.reordering = false;
      const here = [this.current, ...this.ahead].filter((item) => item && !item.old && !back.includes(item.id)).map((item) => item.id);
      const n = Math.min(AHEAD, AHEAD + 1 - here.length);
      const reply = await post("api/next", { have: [...here, ...this.unsent()].slice(-50), back, n });
      this.ahead = this.ahead.filter((item) => !back.includes(item.id));
      found = this.take(reply.items);
      this.stale = this.orders !== null && reply.orders !== this.orders && this.ahead.length > NEXT;
      this.orders = reply.orders;
      again = this.stale || this.reordering || (this.ahead.length < AHEAD && found > 0);
      this.over = !reply.items.length && reply.left === 0;
      this.others = reply.others; // items that still need an answer, also those of other people
      this.held = reply.held; // items that this person could answer, and others have in hand
      this.fetched(reply);
    } catch (error) {
      this.trouble(error);
    }
    this.filling = false;
    if (!this.current) this.show(null);
    if (again) this.fill();
    else if (this.ahead.length < 1) this.timer = setTimeout(() => this.fill(), EMPTY_WAIT * 1000);
  }

  take(items) {
    const known = new Set([this.current, ...this.ahead].filter(Boolean).map((item) => item.id));
    const fresh = items.filter((item) => !known.has(item.id) && (item.later || !this.gone.has(item.id)) && !this.unsent().includes(item.id));
    for (const item of fresh) if (item.later) this.gone.delete(item.id);
    this.ahead.push(...fresh.map(withWords));
    for (const item of fresh) if (item.image) new Image().src = item.image;
    if (!this.current && this.ahead.length) {
      this.current = this.ahead.shift();
      this.show(this.current);
    }
    return fresh.length;
  }
}

// an item of the server with the words that the page shows above it
function withWords(item) { return item.later ? { ...item, words: "You wanted to be asked this later." } : item; }
