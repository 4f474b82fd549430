// The items in this browser: the one on show, and the next few, fetched before they are needed.

import { post } from "./post.js";

const AHEAD = 3, EMPTY_WAIT = 2; // items; seconds

export class Queue {
  // unsent: ids of items whose answers are on their way
  constructor({ unsent, show, trouble, fetched }) {
    this.gone = new Set(); // answered on this page: a reply that was on its way meanwhile may still name them
    Object.assign(this, { unsent, show, trouble, fetched, current: null, ahead: [], filling: false, timer: 0, over: false });
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

  forget(id) {
    this.ahead = this.ahead.filter((item) => item.id !== id);
    if (this.current && this.current.id === id) this.next();
  }

  async fill() {
    if (this.filling || this.ahead.length >= AHEAD) return;
    this.filling = true;
    clearTimeout(this.timer);
    let found = 0;
    try {
      const here = [this.current, ...this.ahead].filter((item) => item && !item.old).map((item) => item.id);
      const reply = await post("api/next", { have: [...here, ...this.unsent()].slice(-50), n: AHEAD + 1 - here.length });
      found = this.take(reply.items);
      this.over = !reply.items.length && reply.left === 0;
      this.fetched(reply);
    } catch (error) {
      this.trouble(error);
    }
    this.filling = false;
    if (!this.current) this.show(null);
    if (this.ahead.length < AHEAD && found) this.fill();
    else if (this.ahead.length < 1) this.timer = setTimeout(() => this.fill(), EMPTY_WAIT * 1000);
  }

  take(items) {
    const known = new Set([this.current, ...this.ahead].filter(Boolean).map((item) => item.id));
    const fresh = items.filter((item) => !known.has(item.id) && !this.gone.has(item.id) && !this.unsent().includes(item.id));
    this.ahead.push(...fresh);
    for (const item of fresh) if (item.image) new Image().src = item.image;
    if (!this.current && this.ahead.length) {
      this.current = this.ahead.shift();
      this.show(this.current);
    }
    return fresh.length;
  }
}
