// The page of projects: a file is dropped or chosen, looked at, and becomes a project. Everything is sent to this server alone.

import { fragment, post } from "./post.js";

const find = (id) => document.getElementById(id);
const accepted = document.body.dataset.accepted.split(" ");
const largest = Number(document.body.dataset.largest);
const AT_ONCE = 4; // files of a folder that are on their way at the same time
let upload = "";
let busy = false;

// -- files ----------------------------------------------------------------------------------------------------------

// files: [{ file, name }], where the name has the folders above the file
async function take(files) {
  const wanted = files.filter(({ name }) => isWanted(name, files.length === 1));
  if (busy) return;
  if (!wanted.length) { complain(files.length ? `Nothing here that can be labelled. Choose one of ${accepted.join(", ")}.` : "No file was chosen."); return; }
  const total = wanted.reduce((sum, { file }) => sum + file.size, 0);
  if (total > largest) { complain(`More than ${Math.floor(largest / 2 ** 20)} MB. Choose a part of it.`); return; }
  busy = true;
  complain("");
  try {
    await drop();
    upload = (await post("api/uploads", { left_out: endingsOf(files.filter((file) => !wanted.includes(file))) })).upload;
    await sendAll(wanted, total);
    showProgress("Reading …", null);
    await look();
    nameAfter(files[0].name);
  } catch (error) {
    await drop(); // a refused file leaves nothing behind
    complain(error.message);
  } finally {
    busy = false;
    find("progress").hidden = true;
  }
}

// images and texts are called as the folder or zip file that they came in
function nameAfter(name) {
  const folder = name.includes("/") ? name.split("/")[0] : /\.zip$/i.test(name) ? name.slice(0, -4) : "";
  if (folder && !find("reading")) find("title").value = folder.replaceAll("_", " ").slice(0, 200);
}

// the only file is sent whatever it is: the server says what is wrong with it
function isWanted(name, alone) {
  if (alone) return true;
  if (isHidden(name)) return false;
  return accepted.includes(endingOf(name)) && endingOf(name) !== ".zip";
}

function endingOf(name) {
  const last = name.split("/").pop();
  return last.includes(".", 1) ? last.slice(last.lastIndexOf(".")).toLowerCase() : "";
}

// how many files have each ending; nobody misses the hidden ones
function endingsOf(files) {
  const counts = {};
  for (const { name } of files.filter(({ name }) => !isHidden(name))) counts[endingOf(name)] = (counts[endingOf(name)] || 0) + 1;
  return Object.fromEntries(Object.entries(counts).slice(0, 1000));
}

function isHidden(name) { return name.split("/").some((part) => part.startsWith(".")); }

async function sendAll(files, total) {
  const sent = new Map();
  const waiting = [...files];
  const words = files.length === 1 ? files[0].name : `${files.length.toLocaleString("en")} files`;
  const worker = async () => {
    while (waiting.length) {
      const { file, name } = waiting.shift();
      await send(file, name, (bytes) => {
        sent.set(name, bytes);
        showProgress(`Copying ${words} …`, total ? [...sent.values()].reduce((a, b) => a + b, 0) / total : null);
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

// fetch cannot tell how much was sent
function send(file, name, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `api/upload?upload=${upload}&name=${encodeURIComponent(name)}`);
    request.setRequestHeader("content-type", "application/octet-stream");
    request.setRequestHeader("accept", "application/json");
    request.upload.addEventListener("progress", (event) => progress(event.loaded));
    request.addEventListener("load", () => (request.status < 300 ? resolve() : reject(new Error(wordsOf(request)))));
    request.addEventListener("error", () => reject(new Error("The file could not be sent: the server cannot be reached, or the file has changed.")));
    request.send(file);
  });
}

function wordsOf(request) {
  try {
    const { error, fix } = JSON.parse(request.responseText);
    return `${error} ${fix}`;
  } catch { return `The server answered ${request.status}.`; }
}

function showProgress(words, share) {
  find("progress").hidden = false;
  find("progress-words").textContent = words;
  if (share === null) find("bar").removeAttribute("value"); else find("bar").value = share;
}

async function drop() {
  const old = upload;
  upload = "";
  find("preview").hidden = true;
  find("preview").replaceChildren();
  showLists(true);
  if (old) try { await post("api/uploads/drop", { upload: old }); } catch { /* gone already */ }
}

// -- what is in it --------------------------------------------------------------------------------------------------

// `before`: the form that people have filled in already, before they chose other letters or another sheet
async function look(before = null, changed = "") {
  const [encoding, sheet] = ["encoding", "sheet"].map((name) => encodeURIComponent(before?.elements[name]?.value || ""));
  const html = await fragment(`panel/preview?upload=${upload}&encoding=${encoding}&sheet=${sheet}`);
  find("preview").innerHTML = html; // made by the server's templates
  find("preview").hidden = false;
  showLists(false);
  find("make").addEventListener("submit", (event) => { event.preventDefault(); make(event.target); });
  find("make").addEventListener("change", (event) => { if (["encoding", "sheet"].includes(event.target.id)) again(event.target); else mark(); });
  for (const choice of find("make").elements.source) choice.addEventListener("change", () => { find("make-problem").textContent = ""; }); // said of another choice
  find("cancel").addEventListener("click", () => { complain(""); drop(); find("choose-file").focus(); });
  find("class-column")?.addEventListener("change", () => { showNames(); suggestLabelled(); });
  if (before) takeOver(before, changed === "sheet");
  showNames();
  if (!before || changed === "sheet") suggestLabelled();
  mark();
  find("preview").querySelector("h2").focus();
}

function showLists(visible) {
  for (const part of [find("new"), find("projects")]) if (part) part.hidden = !visible;
}

async function again(field) {
  try {
    await look(find("make"), field.id);
    find(field.id)?.focus();
  } catch (error) { find("make-problem").textContent = error.message; }
}

// what was typed and chosen holds with other letters too; columns are the same by their place, but for another sheet
function takeOver(before, otherColumns) {
  for (const field of find("make").querySelectorAll(":is(input, select, textarea)[id]:not(#encoding, #sheet)")) {
    const old = before.querySelector(`#${field.id}`);
    if (!old || (otherColumns && field.options)) continue;
    if (field.type === "file") field.files = old.files;
    else if (["checkbox", "radio"].includes(field.type)) field.checked = old.checked;
    else if (!field.options) field.value = old.value;
    else if (field.options.length === old.options.length) field.selectedIndex = old.selectedIndex;
  }
}

function mark() {
  const reading = [find("before")?.value, find("reading")?.value].filter(Boolean);
  for (const cell of find("preview").querySelectorAll("[data-column]")) cell.classList.toggle("read", reading.includes(cell.dataset.column));
  const column = find("preview").querySelector("th.read"), rows = column?.closest(".rows");
  if (rows) rows.scrollLeft = column.offsetLeft + column.offsetWidth > rows.clientWidth ? column.offsetLeft - 24 : 0; // it is in view
  const source = find("make").elements.source.value;
  for (const part of find("make").querySelectorAll("[data-source]")) part.hidden = part.dataset.source !== source;
}

function showNames() {
  const column = find("class-column")?.selectedOptions[0];
  if (!column) return;
  find("class-names").textContent = column.dataset.names;
  find("labelled-words").textContent = column.dataset.full === "yes" ? " Every row has one: nothing would be left to label." : "";
}

// a column that is filled in every row would leave nothing to label
function suggestLabelled() {
  const column = find("class-column")?.selectedOptions[0];
  if (column) find("labelled").checked = column.dataset.full === "no";
}

// one name in each line, which may have commas; a single line has several names with commas between
function typedNames(text) {
  const names = (separator) => text.split(separator).map((name) => name.trim()).filter(Boolean);
  const lines = names("\n");
  return lines.length > 1 && !lines.some((line) => line.endsWith(",")) ? lines : names(/[\n,]/);
}

async function make(form) {
  const { source, title, classes } = form.elements;
  const reading = [find("before")?.value, find("reading")?.value].filter(Boolean);
  const file = source.value === "file" ? find("class-file").files[0] : null;
  const body = {
    upload,
    title: title.value,
    reading: [...new Set(reading)],
    classes: source.value === "typed" ? typedNames(classes.value) : [],
    class_file: file ? { name: file.name, text: await file.text() } : null,
    class_column: source.value === "column" ? form.elements.class_column.value : "",
    labelled: source.value === "column" && find("labelled").checked,
    encoding: find("encoding")?.value || "",
    sheet: find("sheet")?.value || "",
  };
  if (source.value === "typed" && !body.classes.length) {
    find("make-problem").textContent = "Type the classes, or choose “Later, while labelling”.";
    classes.focus();
    return;
  }
  if (source.value === "file" && !file) {
    find("make-problem").textContent = "Choose the file of the classes, or type them.";
    find("class-file").focus();
    return;
  }
  await go("api/projects", body, (words) => { find("make-problem").textContent = words; });
}

async function go(path, body, said) {
  if (busy) return;
  busy = true;
  document.body.classList.add("busy");
  try {
    location.assign((await post(path, body, 600)).url);
  } catch (error) {
    said(error.message);
    busy = false;
  }
  document.body.classList.remove("busy");
}

function complain(words) {
  find("problem").hidden = !words;
  find("problem").textContent = words;
  if (words) find("problem").scrollIntoView({ block: "nearest" });
}

// -- dropping and choosing ------------------------------------------------------------------------------------------

// all files below what was dropped
async function filesOf(entry, above = "") {
  if (entry.isFile) return [{ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), name: above + entry.name }];
  const reader = entry.createReader();
  const inner = [];
  for (;;) { // it hands out a hundred at a time
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) break;
    inner.push(...some);
  }
  return (await Promise.all(inner.map((each) => filesOf(each, `${above}${entry.name}/`)))).flat();
}

function chosen(input) {
  take([...input.files].map((file) => ({ file, name: file.webkitRelativePath || file.name })));
  input.value = "";
}

for (const name of ["dragenter", "dragover"]) {
  document.addEventListener(name, (event) => { event.preventDefault(); find("drop").classList.add("over"); });
}
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) find("drop").classList.remove("over"); });
document.addEventListener("drop", async (event) => {
  event.preventDefault();
  find("drop").classList.remove("over");
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  const loose = entries.length ? [] : [...event.dataTransfer.files].map((file) => ({ file, name: file.name })); // from a mail or another page
  try { take(loose.length ? loose : (await Promise.all(entries.map((entry) => filesOf(entry)))).flat()); } catch { complain("What was dropped cannot be read."); }
});
find("choose-file").addEventListener("click", () => find("file").click());
find("choose-folder").addEventListener("click", () => find("folder").click());
find("file").addEventListener("change", () => chosen(find("file")));
find("folder").addEventListener("change", () => chosen(find("folder")));
for (const button of document.querySelectorAll("[data-sample]")) {
  button.addEventListener("click", () => go("api/samples", { name: button.dataset.sample }, complain));
}
// -- deleting -------------------------------------------------------------------------------------------------------

let deleting = null; // the button of the project that is asked about

function askToDelete(button) {
  deleting = button;
  const { title, name, labels, items } = button.dataset;
  find("confirm-title").textContent = `Delete “${title}”?`;
  find("confirm-words").textContent = `Its ${labels} labels and ${items} items (${name}) go to the folder “deleted”, with what was dropped for it. They stay there until you remove them, and you can restore the project here. Whoever labels in it now has to stop.`;
  find("confirm").returnValue = "keep";
  find("confirm").showModal();
  find("confirm").querySelector("[value=keep]").focus();
}

async function deleteProject() {
  if (find("confirm").returnValue !== "delete" || !deleting) { deleting?.focus(); return; }
  complain("");
  try {
    const { id } = await post("api/projects/delete", { key: deleting.dataset.delete }, 120);
    remember({ words: `“${deleting.dataset.title}” was deleted. It is under Deleted projects, below, until you remove it from the folder.`, id });
  } catch (error) { complain(error.message); deleting.focus(); }
}

async function restore({ restore: id, name }) {
  complain("");
  try {
    await post("api/projects/restore", { id }, 120);
    remember({ words: `${name} is back, with all its labels.`, id: "" });
  } catch (error) { complain(error.message); }
}

// the page is made anew, and says what was done
const NEWS = "bemps-projects-news";
function remember(news) { sessionStorage.setItem(NEWS, JSON.stringify(news)); location.reload(); }

function showNews() {
  const news = JSON.parse(sessionStorage.getItem(NEWS) || "null");
  sessionStorage.removeItem(NEWS);
  const button = news && news.id && document.querySelector(`[data-restore="${CSS.escape(news.id)}"]`);
  if (!news) return;
  find("undo-words").textContent = news.words;
  find("undo").hidden = false;
  find("undo-delete").hidden = !button;
  if (button) { Object.assign(find("undo-delete").dataset, button.dataset); find("undo-delete").focus(); }
}

for (const button of document.querySelectorAll("[data-delete]")) button.addEventListener("click", () => askToDelete(button));
for (const button of [...document.querySelectorAll("[data-restore]"), find("undo-delete")]) button.addEventListener("click", () => restore(button.dataset));
showNews();
find("confirm").addEventListener("close", deleteProject);
document.body.dataset.ready = "yes";
