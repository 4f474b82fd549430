// From data to what is seen. Texts go in as text, never as HTML.

import { showColumns } from "./columns.js";
import { focusKept } from "./focus.js";

const find = (id) => document.getElementById(id);

export function showItem(item, words) {
  const place = find("content");
  place.replaceChildren();
  place.classList.remove("zoomed");
  place.classList.toggle("quiet", !item);
  place.removeAttribute("data-item");
  place.dir = "auto";
  showNote(item && item.note);
  showEarlier(item);
  showColumns(item);
  if (item) place.dataset.item = item.id;
  place.classList.toggle("markdown", Boolean(item && item.html));
  if (item && item.image) place.append(picture(item));
  else if (item && item.html) place.innerHTML = item.html; // Markdown, rendered by the server, which escapes the HTML in it
  else place.textContent = item ? item.text : words;
  place.scrollTop = 0;
  requestAnimationFrame(showMore);
}

// whether there is more of the item below what is seen
export function showMore() {
  const { scrollHeight, scrollTop, clientHeight } = find("content");
  find("more").hidden = scrollHeight - scrollTop - clientHeight < 8;
}

function picture(item) {
  const image = document.createElement("img");
  image.src = item.image;
  image.alt = `Image to label: ${item.text}`;
  image.addEventListener("error", () => image.replaceWith("This image cannot be shown; skip it, or repair the file."));
  return image;
}

export function showNote(text) {
  find("item-note").hidden = !text;
  find("item-note").textContent = text ? `Note: ${text}` : "";
}

function showEarlier(item) {
  find("earlier").hidden = !(item && item.words);
  find("earlier").textContent = (item && item.words) || "";
}

export function showClasses(classes, label) {
  const many = classes.length > 9, focusAgain = focusKept(find("classes"));
  find("finder").hidden = !many;
  find("classes").classList.toggle("many", many);
  find("main").classList.toggle("wide", classes.length > 20);
  find("classes").replaceChildren(...classes.map(({ name, keys, colour }) => {
    const button = document.createElement("button");
    button.className = "class";
    if (colour) button.dataset.colour = colour;
    button.dataset.label = name;
    button.append(...keys.slice(0, 1).map((key) => keyCap(key)), ...named(name, keys[1]));
    button.setAttribute("aria-keyshortcuts", keys.filter((key) => key.length === 1).join(" "));
    button.addEventListener("click", (event) => label(name, event));
    return button;
  }));
  focusAgain();
  if (!classes.length) find("classes").textContent = "There are no classes yet. Add the first ones under Edit classes.";
}

// the name, with the letter that is its second key underlined; a cap of its own where the name does not have it
function named(name, key) {
  const words = document.createElement("span");
  words.dir = "auto";
  words.textContent = name;
  if (!key) return [words];
  const at = name.toLowerCase().search(new RegExp(`\\b${key}|${key}`));
  if (at < 0) return [words, keyCap(key, "other")];
  const letter = document.createElement("u");
  letter.textContent = name[at];
  words.replaceChildren(name.slice(0, at), letter, name.slice(at + 1));
  return [words];
}

function keyCap(key, kind = "") {
  const cap = document.createElement("kbd");
  cap.textContent = key;
  cap.className = kind;
  cap.setAttribute("aria-hidden", "true");
  return cap;
}

export function markAnswer(label) {
  for (const button of document.querySelectorAll("#classes .class")) {
    const chosen = button.dataset.label === label;
    button.classList.toggle("chosen", chosen);
    if (chosen) button.setAttribute("aria-current", "true"); else button.removeAttribute("aria-current");
  }
}

export function filterClasses(text) {
  const wanted = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const shown = [];
  for (const button of document.querySelectorAll("#classes .class")) {
    const name = button.dataset.label.toLowerCase();
    button.hidden = !wanted.every((part) => name.includes(part));
    if (!button.hidden) shown.push(button);
  }
  shown.sort((a, b) => !a.dataset.label.toLowerCase().startsWith(wanted[0] || "") - !b.dataset.label.toLowerCase().startsWith(wanted[0] || ""));
  for (const button of shown) button.classList.toggle("first", Boolean(wanted.length) && button === shown[0]);
  return shown[0];
}

export function showPending(key) {
  find("pending").textContent = key ? `${key} …` : "";
  for (const button of document.querySelectorAll("#classes .class")) {
    const cap = button.querySelector("kbd")?.textContent || "";
    button.classList.toggle("faint", Boolean(key) && !(cap.length > 1 && cap[0] === key));
  }
}

// `canClose`: what stays until somebody has read it
export function showBanner(words, canClose = false) {
  find("banner").hidden = !words;
  find("banner-close").hidden = !canClose;
  if (find("banner-words").textContent !== words) find("banner-words").textContent = words;
}

const PASSING = 8; // seconds that news stay which nobody has to act on
let passing = 0; // the timer of such news

// news that go by themselves, in place of the last such: a file is ready
export function passNotice(words) {
  clearTimeout(passing);
  dropPassed();
  addNotice(words);
  find("notice-words").lastElementChild.className = "passing";
  passing = setTimeout(dropPassed, PASSING * 1000);
  return words;
}

function dropPassed() {
  for (const line of find("notice-words").querySelectorAll(".passing")) line.remove();
  if (!find("notice-words").children.length) clearNotices();
}

// a piece of news goes below those that nobody has put away yet; returns all of them
export function addNotice(words) {
  const news = [...find("notice-words").children].map((line) => line.textContent);
  if (!news.includes(words)) {
    const line = document.createElement("span");
    line.textContent = words;
    find("notice-words").append(line, " ");
    news.push(words);
  }
  find("notice").hidden = false;
  return news.join(" ");
}

export function clearNotices() {
  find("notice").hidden = true;
  find("notice-words").replaceChildren();
}

export function showSaved(words, kind) {
  const place = find("saved");
  place.textContent = words;
  place.className = `saved ${kind}`;
}

export function say(words) { find("live").textContent = words; }
