// What the server refused, in words: every answer by the text of its item, and once why.

const LONGEST = 80, MOST = 20; // characters of a text; items of a list, and answers of one reason, that are named

export class Refusals {
  constructor() { this.reasons = new Map(); } // from the words of the server to what it refused

  add({ path, body, texts = [] }, reason) {
    const { items, label, kind } = body;
    const said = items ? `${items.length.toLocaleString("en")} item${items.length > 1 ? "s" : ""} as ${label}` : label || kind || path.slice(4);
    const what = texts.length ? `${said} for ${shortList(texts.map((text) => `“${text}”`), ", ")}` : said;
    if (!this.reasons.has(reason)) this.reasons.set(reason, new Set());
    this.reasons.get(reason).add(what);
  }

  clear() { this.reasons.clear(); }

  get words() { return [...this.reasons].map(([reason, what]) => `Not saved: ${shortList([...what], "; ")}. ${reason}`).join(" "); }
}

function shortList(words, between) {
  const named = words.slice(0, MOST).join(between), more = words.length - MOST;
  return more > 0 ? `${named} and ${more.toLocaleString("en")} more` : named;
}

export function shortened(text) {
  const words = (text || "").replace(/\s+/g, " ").trim();
  return words.length > LONGEST ? `${words.slice(0, LONGEST - 1)}…` : words;
}
