// One key is one answer. Keys in text fields, with modifiers, or switched off for screen readers, are left alone.
// Space never answers: it scrolls the item, also where a click has left the focus on a button.

const PAIR_WAIT = 2500; // milliseconds for the second key of a pair
const OFF = "bemps-keys-off";
const PAGE = 0.85; // of the visible height
const SCROLLS = { " ": PAGE, PageDown: PAGE, PageUp: -PAGE, ArrowDown: 0.12, ArrowUp: -0.12, End: Infinity, Home: -Infinity };

const CONTROLS = "button, a, summary";

export class Keyboard {
  constructor({ label, command, pending, moved, content }) {
    Object.assign(this, { label, command, pending, moved, content, names: new Map(), firsts: new Set(), first: "", timer: 0 });
    this.unsafe = new Set(); // keys that mean another class than a moment ago: the first press only says so
    document.addEventListener("keydown", (event) => this.pressed(event));
    document.addEventListener("keyup", (event) => { if (event.key === " " && this.answers(event.target)) event.preventDefault(); });
    // a control that vanishes under the focus of somebody at the keys: the Enter after that was meant for it
    this.control = null;
    document.addEventListener("focusin", ({ target }) => { this.control = target.matches?.(CONTROLS) && target.matches(":focus-visible") ? target : null; });
    document.addEventListener("focusout", ({ target }) => { setTimeout(() => { if (this.control === target && isThere(target)) this.control = null; }); });
    this.sign();
  }

  learn(classes, moved = []) {
    for (const key of moved) this.unsafe.add(key);
    this.names = new Map(classes.flatMap(({ name, keys }) => keys.map((key) => [key, name])));
    this.firsts = new Set([...this.names.keys()].filter((key) => key.length > 1).map((key) => key[0]));
  }

  get off() { return localStorage.getItem(OFF) === "yes"; }

  set off(value) { localStorage.setItem(OFF, value ? "yes" : "no"); this.sign(); }

  sign() { document.body.classList.toggle("keys-off", this.off); }

  pressed(event) {
    if (event.key === "Escape") { this.hold(""); this.command("escape", event); return; }
    if (event.ctrlKey || event.metaKey) { this.withControl(event); return; }
    if (event.altKey || event.isComposing || isField(event.target)) return;
    if (event.key in SCROLLS) { this.scroll(event); return; }
    if (event.key === "Enter" && [document.body, this.content].includes(event.target) && !event.repeat) { if (!this.tookLost(event)) this.command("enter", event); return; }
    if (event.repeat || this.off) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : "";
    if (!key) return;
    if (this.used(this.first + key, key, event)) event.preventDefault();
  }

  // whether this Enter was for a control that is gone; the next one is for the item
  tookLost({ target }) {
    const isLost = target === document.body && this.control !== null && !isThere(this.control);
    this.control = null;
    if (isLost) this.content.focus({ preventScroll: true });
    return isLost;
  }

  used(both, key, event) {
    if (this.first) { this.hold(""); return this.answer(both) || true; }
    if (this.answer(key)) return true;
    if (this.firsts.has(key)) { this.hold(key); return true; }
    return this.command(key, event);
  }

  answer(keys) {
    if (!this.names.has(keys)) return false;
    if (this.unsafe.delete(keys)) this.moved(keys, this.names.get(keys));
    else this.label(this.names.get(keys));
    return true;
  }

  // the buttons that answer; with single keys off, Space presses them as everywhere
  answers(target) { return !this.off && Boolean(target.closest?.(".class, [data-do]")); }

  scroll(event) {
    const here = this.answers(event.target);
    if (!here && ![document.body, this.content].includes(event.target)) return;
    const { scrollHeight, clientHeight } = this.content;
    if (here && event.key === " ") event.preventDefault();
    if (scrollHeight <= clientHeight + 1) return;
    event.preventDefault();
    const share = SCROLLS[event.key] * (event.key === " " && event.shiftKey ? -1 : 1);
    this.content.scrollTop += Number.isFinite(share) ? share * clientHeight : Math.sign(share) * scrollHeight;
  }

  hold(key) {
    this.first = key;
    clearTimeout(this.timer);
    if (key) this.timer = setTimeout(() => this.hold(""), PAIR_WAIT);
    this.pending(key);
  }

  withControl(event) {
    if (isField(event.target)) return;
    const key = event.key.toLowerCase();
    const name = key === "y" || (key === "z" && event.shiftKey) ? "r" : key === "z" ? "u" : "";
    if (name && this.command(name, event)) event.preventDefault();
  }
}

function isThere(control) { return control.isConnected && control.getClientRects().length > 0; }

// a panel that people open to type in takes letters from its first moment, before its field is there
function isField(target) {
  return target.isContentEditable || target.matches?.("[data-typing]") || ["TEXTAREA", "SELECT"].includes(target.tagName) ||
    (target.tagName === "INPUT" && !["checkbox", "radio", "button", "submit"].includes(target.type));
}
