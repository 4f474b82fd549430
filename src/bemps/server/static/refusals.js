// What the server refused, in words: every answer by the text of its item, and once why.

const LONGEST = 80, MOST = 20; // characters of a text; items of a list that are named

export class Refusals {
  constructor() { this.reasons = new Map(); } // from the words of the server to what it refused

  add({ path, body, texts = [] }, reason) {
    const { items, label, kind } = body;
    const said = items ? `${items.length.toLocaleString("en")} item${items.length > 1 ? "s" : ""} as ${label}` : label || kind || path.slice(4);
    const named = texts.slice(0, MOST).map((text) => `“${text}”`).join(", ");
    const more = texts.length > MOST ? ` and ${(texts.length - MOST).toLocaleString("en")} more` : "";
    const what = named ? `${said} for ${named}${more}` : said;
    if (!this.reasons.has(reason)) this.reasons.set(reason, new Set());
    this.reasons.get(reason).add(what);
  }

  clear() { this.reasons.clear(); }

  get words() { return [...this.reasons].map(([reason, what]) => `Not saved: ${[...what].join("; ")}. ${reason}`).join(" "); }
}

export function shortened(text) {
  const words = (text || "").replace(/\s+/g, " ").trim();
  return words.length > LONGEST ? `${words.slice(0, LONGEST - 1)}…` : words;
}
