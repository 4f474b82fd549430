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
    document.addEventListener("keydown", (event) => this.keyDown(event));
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

  keyDown(event) {
    const isLost = this.control !== null && !isThere(this.control);
    if (this.pressed(event, isLost) && isLost) this.control = null; // the keys have gone on
  }

  // whether the key did something; `isLost`: whether the control that had the focus is gone
  pressed(event, isLost) {
    if (event.key === "Escape") { this.hold(""); this.command("escape", event); return true; }
    if (event.ctrlKey || event.metaKey) return this.withControl(event);
    if (event.altKey || event.isComposing || isField(event.target)) return false;
    if (event.key in SCROLLS) return this.scroll(event);
    if (event.key === "Enter" && [document.body, this.content].includes(event.target) && !event.repeat) { this.enter(event, isLost); return true; }
    if (event.repeat || this.off) return false;
    const key = event.key.length === 1 ? event.key.toLowerCase() : "";
    const isUsed = Boolean(key) && this.used(this.first + key, key, event);
    if (isUsed) event.preventDefault();
    return isUsed;
  }

  // an Enter for a control that is gone answers nothing; the next one is for the item
  enter(event, isLost) {
    this.control = null;
    if (isLost && event.target === document.body) this.content.focus({ preventScroll: true });
    else this.command("enter", event);
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
    if (!here && ![document.body, this.content].includes(event.target)) return false;
    const { scrollHeight, clientHeight } = this.content;
    if (here && event.key === " ") event.preventDefault();
    if (scrollHeight <= clientHeight + 1) return false;
    event.preventDefault();
    const share = SCROLLS[event.key] * (event.key === " " && event.shiftKey ? -1 : 1);
    this.content.scrollTop += Number.isFinite(share) ? share * clientHeight : Math.sign(share) * scrollHeight;
    return true;
  }

  hold(key) {
    this.first = key;
    clearTimeout(this.timer);
    if (key) this.timer = setTimeout(() => this.hold(""), PAIR_WAIT);
    this.pending(key);
  }

  withControl(event) {
    if (isField(event.target)) return false;
    const key = event.key.toLowerCase();
    const name = key === "y" || (key === "z" && event.shiftKey) ? "r" : key === "z" ? "u" : "";
    const isUsed = Boolean(name) && this.command(name, event);
    if (isUsed) event.preventDefault();
    return isUsed;
  }
}

function isThere(control) { return control.isConnected && control.getClientRects().length > 0; }

// a panel that people open to type in takes letters from its first moment, before its field is there
export function isField(target) {
  return target.isContentEditable || target.matches?.("[data-typing]") || ["TEXTAREA", "SELECT"].includes(target.tagName) ||
    (target.tagName === "INPUT" && !["checkbox", "radio", "button", "submit"].includes(target.type));
}
