// Words in a text that are marked. It works on the text nodes of what is on show already: no text ever becomes HTML.

const LETTER = "[\\p{L}\\p{N}\\p{M}_]";
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const MOST = 2000; // marks in one text

// terms: { text, prefix, whole, kind, title, colour }
export function highlight(place, terms) {
  clear(place);
  const { words, pattern } = compiled(terms);
  if (!pattern) return;
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT), nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  let left = MOST;
  for (const node of nodes) left -= markNode(node, pattern, words, left);
}

export function clear(place) {
  for (const mark of place.querySelectorAll("mark")) mark.replaceWith(...mark.childNodes);
  place.normalize();
}

// the words of a project, of a search, and for a guess, as terms
export function keywordTerms(keywords) {
  return keywords.map(({ word, prefix, class: name, colour }) => ({
    text: word, prefix, whole: true, title: name, colour, kind: "word",
  }));
}

export function searchTerms(text) { return text ? [{ text, kind: "hit" }] : []; }

export function guessTerms(words, name) { return words.map((text) => ({ text, whole: true, kind: "for-guess", title: `speaks for ${name}` })); }

function compiled(terms) {
  const words = terms.filter(({ text }) => text.trim());
  if (!words.length) return { words, pattern: null };
  // the longest first: "credit card" before "credit"
  words.sort((one, other) => other.text.length - one.text.length);
  return { words, pattern: new RegExp(words.map((term) => `(${expression(term)})`).join("|"), "giu") };
}

function expression({ text, prefix, whole }) {
  const parts = text.trim().split(/\s+/).map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const body = parts.join("\\s+"), letters = [...text.trim()];
  const before = whole && isLetter(letters[0]) ? `(?<!${LETTER})` : "";
  const after = whole && isLetter(letters[letters.length - 1]) ? (prefix ? `${LETTER}*` : `(?!${LETTER})`) : "";
  return before + body + after;
}

// languages that write no spaces have no ends of words to look for
function isLetter(sign) { return new RegExp(LETTER, "u").test(sign) && !UNSPACED.test(sign); }

function markNode(node, pattern, words, most) {
  const pieces = [], text = node.data;
  let end = 0, count = 0;
  for (const found of text.matchAll(pattern)) {
    if (!found[0] || count >= most) continue;
    const term = words[found.slice(1).findIndex((group) => group !== undefined)];
    const mark = document.createElement("mark");
    mark.className = term.kind;
    if (term.title) mark.title = term.title;
    if (term.colour) mark.dataset.colour = term.colour;
    mark.textContent = found[0];
    pieces.push(text.slice(end, found.index), mark);
    end = found.index + found[0].length;
    count += 1;
  }
  if (count) node.replaceWith(...pieces, text.slice(end));
  return count;
}
