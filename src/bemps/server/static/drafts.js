// What is typed in the panels and not saved: it stays while a panel is made anew, closed, or left for another.

export class Drafts {
  constructor() { this.panels = new Map(); } // by name of the panel: [key of the field, { value, seen, earlier }]

  // before the content of a panel goes
  keep(name, content) {
    const typed = fieldsOf(content).filter(isChanged);
    this.panels.set(name, typed.map((field) => [keyOf(field), { value: field.value, seen: field.dataset.seen, earlier: field.dataset.earlier }]));
  }

  // after the content was made anew; `opened`: whether it was away
  restore(name, content, opened) {
    const fields = new Map(fieldsOf(content).map((field) => [keyOf(field), field]));
    for (const [key, draft] of this.panels.get(name) || []) if (fields.has(key)) fill(fields.get(key), opened ? { ...draft, earlier: "yes" } : draft);
    if (content.querySelector("[data-earlier]")) content.querySelector("h2").after(notice());
  }

  forget(name) { this.panels.delete(name); }

  // what was sent from a panel is saved: it is the present state, beside which only later letters are changes
  settle(name, content, sent) {
    const saved = new Map([...sent].map(([field, value]) => [keyOf(field), value])), isSaved = (key, value) => saved.get(key) === value;
    for (const [field, value] of sent) settleField(field, value);
    for (const field of fieldsOf(content)) if (isSaved(keyOf(field), field.value)) settleField(field, field.value); // made anew meanwhile
    this.panels.set(name, (this.panels.get(name) || []).filter(([key, { value }]) => !isSaved(key, value)));
  }
}

// what a form has when it is sent
export function sentValues(form) { return new Map([...form.elements].map((field) => [field, field.value])); }

function settleField(field, value) {
  if (field.dataset.seen !== undefined) field.dataset.seen = value;
  if (field.options) for (const option of field.options) option.defaultSelected = option.value === value;
  else field.defaultValue = value;
}

// what a person changed in a form; the rest may be older than what others have saved meanwhile
export function changedValues(form) {
  return Object.fromEntries([...form.elements].filter((field) => field.name && isChanged(field)).map(({ name, value }) => [name, value]));
}

// what these fields had when the form was opened, by their names
export function seenValues(form, names) { return Object.fromEntries(names.map((name) => [name, form.elements[name].dataset.seen])); }

// what a refusal has said of these fields is seen
export function learnPresent(form, present = {}) {
  for (const [name, value] of Object.entries(present)) if (form?.elements?.[name]) form.elements[name].dataset.seen = value;
}

function isChanged(field) {
  if (!field.options) return field.value !== field.defaultValue;
  return field.selectedIndex !== Math.max(0, [...field.options].findIndex((option) => option.defaultSelected));
}

function keyOf(field) { return field.dataset.draft || field.id; }

function fieldsOf(content) {
  const fields = [...content.querySelectorAll('input:not([type]), input[type="text"], textarea, select')];
  return fields.filter((field) => field.form && field.form.dataset.search === undefined && field.form.dataset.act !== "make-result" && keyOf(field));
}

// `seen` is the version of the text that what is typed is about
function fill(field, { value, seen, earlier }) {
  if (field.value === value) return; // it was saved while the panel was away
  if (field.options && ![...field.options].some((option) => option.value === value)) return;
  field.value = value;
  if (earlier) field.dataset.earlier = earlier;
  if (seen !== undefined) field.dataset.seen = seen;
  field.closest("details")?.setAttribute("open", "");
}

function notice() {
  const words = document.createElement("p"), button = document.createElement("button");
  words.className = "said";
  words.id = "drafts";
  words.textContent = "Typed before and not saved yet. ";
  button.className = "link";
  button.dataset.act = "discard";
  button.textContent = "Discard";
  words.append(button);
  return words;
}
