// What a class means, and its name where the button cuts it, beside the button: while the pointer rests on it, while it has the focus, after a long press.

import { isCut } from "./class_fit.js";

const RESTS = 350, LINGERS = 200, PRESSED = 500; // milliseconds: before it shows; before it goes; of a long press

export class ClassHelp {
  constructor(box) {
    Object.assign(this, { box, timer: 0, pressing: 0, swallow: false, classes: new Map() });
    this.tip = document.createElement("div");
    this.tip.id = "class-help";
    this.tip.className = "class-help";
    this.tip.hidden = true;
    this.tip.setAttribute("aria-hidden", "true"); // screen readers get the same words with the button
    this.words = document.createElement("div"); // what aria-describedby leads to
    this.words.hidden = true;
    box.after(this.tip, this.words);
    for (const place of [box, this.tip]) {
      place.addEventListener("pointerover", (event) => { if (event.pointerType !== "touch") this.over(event.target); });
      place.addEventListener("pointerout", (event) => { if (event.pointerType !== "touch") this.later(() => this.hide(), LINGERS); });
    }
    box.addEventListener("focusin", ({ target }) => { if (target.matches(":focus-visible")) this.show(target.closest(".class")); });
    box.addEventListener("focusout", () => this.hide());
    box.addEventListener("scroll", () => this.hide(), { passive: true });
    box.addEventListener("pointerdown", (event) => this.down(event));
    for (const name of ["pointerup", "pointercancel", "pointermove"]) box.addEventListener(name, (event) => this.up(event));
    box.addEventListener("contextmenu", (event) => { if (this.swallow) event.preventDefault(); });
    box.addEventListener("click", (event) => this.clicked(event), true);
    document.addEventListener("pointerdown", (event) => { if (!this.tip.contains(event.target)) this.hide(); });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !this.tip.hidden) { this.hide(); event.stopPropagation(); } }, true);
  }

  learn(classes) {
    this.hide();
    this.classes = new Map(classes.filter(({ description, examples }) => description || examples.length).map((each) => [each.name, each]));
    this.words.replaceChildren(...[...this.classes.values()].map((each) => {
      const line = document.createElement("p");
      line.id = `class-words-${each.id}`;
      line.textContent = wordsOf(each);
      return line;
    }));
    for (const button of this.box.querySelectorAll(".class")) {
      const about = this.classes.get(button.dataset.label);
      if (about) button.setAttribute("aria-describedby", `class-words-${about.id}`);
    }
  }

  later(work, milliseconds) { clearTimeout(this.timer); this.timer = setTimeout(work, milliseconds); }

  over(target) {
    const button = target.closest(".class");
    if (this.tip.contains(target)) clearTimeout(this.timer); // it can be read and scrolled at leisure
    else if (button) this.later(() => { if (button.matches(":hover")) this.show(button); }, this.tip.hidden ? RESTS : LINGERS);
  }

  show(button) {
    clearTimeout(this.timer);
    const about = button && button.isConnected && this.about(button);
    if (!about) { this.hide(); return; }
    this.tip.replaceChildren(...partsOf(about));
    this.tip.hidden = false;
    const frame = this.box.parentElement.getBoundingClientRect(), at = button.getBoundingClientRect();
    this.tip.style.bottom = `${frame.bottom - at.top + 4}px`;
    this.tip.style.left = `${Math.max(0, Math.min(at.left - frame.left, frame.width - this.tip.offsetWidth))}px`;
  }

  // a name that is cut is shown even if nothing else is known of the class
  about(button) {
    const name = button.dataset.label;
    return this.classes.get(name) || (isCut(button) ? { name, description: "", examples: [] } : null);
  }

  hide() { clearTimeout(this.timer); this.tip.hidden = true; }

  down(event) {
    this.swallow = false;
    clearTimeout(this.pressing);
    const button = event.target.closest(".class");
    if (event.pointerType !== "touch" || !button || !this.about(button)) return;
    this.from = [event.clientX, event.clientY];
    this.pressing = setTimeout(() => { this.swallow = true; this.show(button); }, PRESSED);
  }

  up(event) {
    const moved = event.type === "pointermove" && this.from && Math.hypot(event.clientX - this.from[0], event.clientY - this.from[1]);
    if (event.type !== "pointermove" || moved > 10) clearTimeout(this.pressing);
  }

  // a long press asks and does not answer
  clicked(event) {
    if (!this.swallow) { this.hide(); return; }
    this.swallow = false;
    event.stopPropagation();
    event.preventDefault();
  }
}

function wordsOf({ description, examples }) {
  const shown = examples.map(({ text }) => text).join("; ");
  return [description, shown && `For example: ${shown}`].filter(Boolean).join(" ");
}

function partsOf({ name, description, examples }) {
  const title = element("strong", name), parts = [title];
  if (description) parts.push(element("p", description));
  if (examples.length) {
    const list = document.createElement("ul");
    list.append(...examples.map(({ text, image }) => {
      const line = element("li", image ? "" : text);
      if (image) { const picture = document.createElement("img"); picture.src = image; picture.alt = text; line.append(picture); }
      return line;
    }));
    parts.push(list);
  }
  return parts;
}

function element(kind, words) {
  const made = document.createElement(kind);
  made.textContent = words;
  made.dir = "auto";
  return made;
}
