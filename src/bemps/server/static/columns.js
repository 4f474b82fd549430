// Other columns of the file beside the item: texts, links and images. Values go in as text, never as HTML.

const find = (id) => document.getElementById(id);

export function showColumns(item) {
  const columns = (item && item.columns) || [], list = find("columns");
  list.replaceChildren(...columns.map(row));
  list.hidden = !columns.length;
  list.scrollTo(0, 0);
  reach();
}

// only what scrolls is a stop of the Tab key
function reach() {
  const list = find("columns");
  if (list.scrollHeight > list.clientHeight + 1 || list.scrollWidth > list.clientWidth + 1) list.tabIndex = 0; else list.removeAttribute("tabindex");
}

// the columns in words, for those who hear the page
export function columnWords(item) { return ((item && item.columns) || []).map(({ name, text }) => `${name}: ${text.slice(0, 100)}. `).join(""); }

function row(column) {
  const line = document.createElement("div"), name = document.createElement("dt"), value = document.createElement("dd");
  name.textContent = column.name;
  name.dir = value.dir = "auto";
  value.append(column.image ? thumbnail(column) : column.link ? anchor(column.link, column.text) : column.text);
  line.append(name, value);
  return line;
}

function anchor(address, content) {
  const link = document.createElement("a");
  link.href = address;
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  link.append(content);
  return link;
}

// a small picture that opens in full; what cannot be loaded is a link, or its name
function thumbnail({ name, text, link, image }) {
  const picture = document.createElement("img");
  picture.alt = `${name}: ${text}`;
  picture.loading = "lazy";
  picture.referrerPolicy = "no-referrer";
  picture.src = image;
  const place = anchor(image, picture);
  picture.addEventListener("load", reach);
  picture.addEventListener("error", () => place.replaceWith(link ? anchor(link, text) : text));
  return place;
}

new ResizeObserver(reach).observe(find("columns"));
