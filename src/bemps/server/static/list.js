// A list of items that get one label at once: everything is ticked, single ones are unticked, a class is chosen and confirmed.

export class ItemList {
  constructor({ confirm }) {
    Object.assign(this, { confirm, form: null, label: "" });
  }

  // the panel was filled anew
  attach(panel) {
    this.form = panel.querySelector("#item-list");
    this.label = "";
    if (!this.form) return;
    this.count();
    this.form.addEventListener("change", () => this.count());
    this.form.querySelector(".ticks").addEventListener("keydown", (event) => this.move(event));
  }

  // whether the keys of classes belong to the list
  get isOpen() { return Boolean(this.form && this.form.isConnected && this.form.offsetParent); }

  get boxes() { return [...this.form.querySelectorAll(".ticks input")]; }

  get ticked() { return this.boxes.filter((box) => box.checked).map((box) => box.value); }

  choose(label) {
    this.label = label;
    for (const button of this.form.querySelectorAll("[data-act=list-class]")) {
      button.setAttribute("aria-pressed", String(button.dataset.label === label));
    }
    this.count();
    this.form.querySelector("#list-confirm").focus();
  }

  // classes may have got other names
  learn(classes) {
    if (!this.form || !this.form.isConnected) return;
    const names = new Map(classes.map(({ id, name }) => [String(id), name]));
    for (const button of this.form.querySelectorAll("[data-act=list-class]")) {
      const name = names.get(button.dataset.class) || button.dataset.label;
      if (button.getAttribute("aria-pressed") === "true") this.label = name;
      button.dataset.label = name;
      button.querySelector("span").textContent = name;
    }
    this.count();
  }

  // what is seen of an item
  textOf(id) { return this.boxes.find((box) => box.value === id)?.closest("label").innerText.trim() || ""; }

  tickAll(on) {
    for (const box of this.boxes) box.checked = on;
    this.count();
  }

  count() {
    const n = this.ticked.length, button = this.form.querySelector("#list-confirm");
    button.disabled = !n || !this.label;
    button.textContent = !this.label ? `Choose a class for ${amount(n)}` : n ? `Label ${amount(n)} as ${this.label}` : "Nothing is ticked";
  }

  submit() {
    const items = this.ticked;
    if (items.length && this.label) this.confirm(items, this.label);
  }

  move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], boxes = this.boxes;
    const at = boxes.indexOf(event.target);
    if (!step || at < 0) return;
    event.preventDefault();
    boxes[Math.max(0, Math.min(boxes.length - 1, at + step))].focus();
  }
}

export function amount(n) { return `${n.toLocaleString("en")} item${n === 1 ? "" : "s"}`; }
