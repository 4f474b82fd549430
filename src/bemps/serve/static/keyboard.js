// One key is one answer. Keys in text fields, with modifiers, or switched off for screen readers, are left alone.

const PAIR_WAIT = 2500; // milliseconds for the second key of a pair
const OFF = "bemps-keys-off";

export class Keyboard {
  constructor({ label, command, pending }) {
    Object.assign(this, { label, command, pending, names: new Map(), firsts: new Set(), first: "", timer: 0 });
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  learn(classes) {
    this.names = new Map(classes.flatMap(({ name, keys }) => keys.map((key) => [key, name])));
    this.firsts = new Set([...this.names.keys()].filter((key) => key.length > 1).map((key) => key[0]));
  }

  get off() { return localStorage.getItem(OFF) === "yes"; }

  set off(value) { localStorage.setItem(OFF, value ? "yes" : "no"); }

  pressed(event) {
    if (event.key === "Escape") { this.hold(""); this.command("escape", event); return; }
    if (event.ctrlKey || event.metaKey) { this.withControl(event); return; }
    if (event.altKey || event.repeat || event.isComposing || isField(event.target) || this.off) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : "";
    if (!key || key === " ") return;
    if (this.used(this.first + key, key, event)) event.preventDefault();
  }

  used(both, key, event) {
    if (this.first) { this.hold(""); return this.answer(both) || true; }
    if (this.answer(key)) return true;
    if (this.firsts.has(key)) { this.hold(key); return true; }
    return this.command(key, event);
  }

  answer(keys) {
    if (!this.names.has(keys)) return false;
    this.label(this.names.get(keys));
    return true;
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

function isField(target) {
  return target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName) ||
    (target.tagName === "INPUT" && !["checkbox", "radio", "button", "submit"].includes(target.type));
}
