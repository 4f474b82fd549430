// What undo took back and redo brought back, in a sentence.

const LONGEST = 60; // letters of an item that is not on show

const TAKEN_BACK = {
  label: (label) => `your label ${label}`,
  skip: () => "you skipped this item",
  unsure: () => "you were unsure about this item",
  later: () => "you put this item off",
  note: () => "your note",
  clear: () => "you cleared your answer",
  adjudicate: (label) => `your decision ${label}`,
};

const DONE_AGAIN = {
  label: (label) => `label ${label} for`,
  skip: () => "skipped",
  unsure: () => "unsure about",
  later: () => "put off",
  note: () => "your note on",
  clear: () => "cleared your answer to",
  adjudicate: (label) => `decision ${label} for`,
};

export function answerWords({ kind, label }) { return label || { skip: "skipped", note: "a note alone" }[kind] || kind; }

// now: the label that holds again, of this person, or the decision of somebody
export function takenBack({ kind, label }, now) {
  const words = `Taken back: ${TAKEN_BACK[kind](label)}.`;
  if (kind === "adjudicate") return `${words} ${now.decision ? `The decision of ${now.decision.annotator} holds: ${now.decision.label}.` : "The labels of people count again."}`;
  return now.label && !["note", "later"].includes(kind) ? `${words} Your label is ${now.label} again.` : words;
}

export function doneAgain({ kind, label }, item) { return `Done again: ${DONE_AGAIN[kind](label)} “${beginning(item)}”.`; }

function beginning(item) {
  const words = (item.text || "").split(/\s+/).join(" ").trim();
  return words.length > LONGEST ? `${words.slice(0, LONGEST).trim()}…` : words;
}
