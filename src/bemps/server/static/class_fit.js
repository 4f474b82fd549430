// How the class buttons stand, so that all of them and the commands are in view: with full names where there is room, else with
// names of a few lines. What is cut is shown beside the button (class_help.js).

const SLACK = 1.15; // of half a name, because lines end with a whole word
const WIDEST = 21 * 16; // pixels of text in a column of two lines
const COMFORTABLE = 15 * 16, LEAST = 10 * 16; // pixels: a card that shows some lines; buttons, where none of the layouts fits
const FILLED = 0.8, NEXT_WORD = 4 * 16; // of a line, because lines end with a whole word; pixels

// from the most readable to the smallest: the least width of the text in a column, and the lines of a name (0: all of them)
const LAYOUTS = [
  ({ word }) => [word, 0],
  ({ name, word }) => [Math.max(word, Math.min(WIDEST, (name / 2) * SLACK)), 2],
  ({ word }) => [word, 3],
  ({ word }) => [word, 2],
  () => [0, 2], // words wider than a column are broken
];
const SCROLLED = [LAYOUTS[3], LAYOUTS[0]]; // where nothing fits: the first in which no two names look alike

export class ClassFit {
  constructor(box) {
    Object.assign(this, { box, widths: { name: 0, word: 0, alike: 0 }, seen: "" });
    const observer = new ResizeObserver(() => this.look());
    for (const place of [box, document.querySelector(".bar")]) observer.observe(place);
    addEventListener("resize", () => this.look());
  }

  // other classes
  learn(names) {
    const ruler = document.createElement("canvas").getContext("2d");
    const words = this.box.querySelector(".class span");
    if (words) ruler.font = getComputedStyle(words).font;
    const widest = (texts) => Math.ceil(Math.max(0, ...texts.map((text) => ruler.measureText(text).width)));
    const sorted = [...names].sort(), beginnings = sorted.slice(1).map((name, i) => sharedBeginning(name, sorted[i]));
    this.widths = { name: widest(names), word: widest(names.flatMap((name) => name.split(/\s+/))), alike: widest(beginnings) };
    this.fit();
  }

  // after a change of the window, the panel or the header; nothing else moves a button
  look() { if (this.seen !== this.state()) this.fit(); }

  state() { return [innerWidth, innerHeight, this.box.clientWidth, document.querySelector(".bar").offsetHeight].join(" "); }

  // full names while the card has lines enough; then the card gives way; then the buttons scroll
  fit() {
    this.limit("");
    const least = parseFloat(getComputedStyle(document.querySelector(".card")).minHeight);
    if (!this.fits(COMFORTABLE, LAYOUTS.slice(0, -1)) && !this.fits(least, LAYOUTS)) {
      SCROLLED.some((layout) => { this.arrange(layout); return this.tellsApart(); });
      const excess = this.excess(least);
      if (excess > 0) this.limit(`${Math.max(LEAST, this.box.offsetHeight - 1 - excess)}px`);
    }
    this.seen = this.state();
  }

  fits(card, layouts) {
    return layouts.some((layout) => {
      this.arrange(layout);
      return this.excess(card) <= 0 && this.box.scrollHeight <= this.box.clientHeight + 1 && this.tellsApart();
    });
  }

  // whether what is seen of two names is not the same
  tellsApart() {
    const lines = Number(this.box.dataset.lines), words = this.box.querySelector(".class span");
    return !lines || !words || lines * words.clientWidth * FILLED >= this.widths.alike + NEXT_WORD;
  }

  arrange(layout) {
    const [width, lines] = layout(this.widths);
    this.box.style.setProperty("--longest", `${Math.ceil(width)}px`);
    this.box.dataset.lines = lines;
  }

  limit(height) {
    this.box.style.maxHeight = height;
    this.box.classList.toggle("limited", Boolean(height));
  }

  // how far the commands are below the window, with a card of this height
  excess(card) {
    const boxOf = (name) => document.querySelector(name).getBoundingClientRect();
    const foot = parseFloat(getComputedStyle(document.querySelector(".foot")).minHeight); // without news, which pass
    const below = boxOf(".commands").bottom - boxOf(".card").bottom + foot;
    return Math.ceil(boxOf(".card").top + scrollY + card + below - innerHeight);
  }
}

// whether the name on a button is cut
export function isCut(button) {
  const words = button.querySelector("span");
  return words.scrollHeight > words.clientHeight + 1 || words.scrollWidth > words.clientWidth + 1;
}

function sharedBeginning(one, other) {
  let end = 0;
  while (end < one.length && one[end] === other[end]) end += 1;
  return one.slice(0, end);
}
