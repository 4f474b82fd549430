// From data to what is seen. Texts go in as text, never as HTML.

const find = (id) => document.getElementById(id);

export function showItem(item, over) {
  const place = find("content");
  place.replaceChildren();
  place.classList.remove("zoomed");
  place.classList.toggle("quiet", !item);
  place.removeAttribute("data-item");
  place.dir = "auto";
  showNote(item && item.note);
  showEarlier(item);
  if (!item) { place.textContent = over ? "Everything is answered. Thank you!" : "One moment, looking for the next item …"; return; }
  place.dataset.item = item.id;
  if (item.image) place.append(picture(item)); else place.textContent = item.text;
  place.scrollTop = 0;
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
  const many = classes.length > 9;
  find("finder").hidden = !many;
  find("classes").classList.toggle("many", many);
  find("classes").replaceChildren(...classes.map(({ name, keys }) => {
    const button = document.createElement("button");
    button.className = "class";
    button.dataset.label = name;
    const words = document.createElement("span");
    words.textContent = name;
    words.dir = "auto";
    button.append(keyCap(keys[0]), words, ...keys.slice(1).map((key) => keyCap(key, "other")));
    button.setAttribute("aria-keyshortcuts", keys.filter((key) => key.length === 1).join(" "));
    button.addEventListener("click", () => label(name));
    return button;
  }));
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
    const cap = button.querySelector("kbd").textContent;
    button.classList.toggle("faint", Boolean(key) && !(cap.length > 1 && cap[0] === key));
  }
}

export function showBanner(words) {
  const banner = find("banner");
  banner.hidden = !words;
  if (banner.textContent !== words) banner.textContent = words || "";
}

export function showSaved(words, kind) {
  const place = find("saved");
  place.textContent = words;
  place.className = `saved ${kind}`;
}

export function say(words) { find("live").textContent = words; }
