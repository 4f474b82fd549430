// Files that the server makes: asked for, watched until they are ready, and then downloaded.

import { fragment, get, post, Refused } from "./post.js";

const PAUSE = 500; // milliseconds between looks
const UNFINISHED = ["waiting", "running"];

export class Results {
  // ready: a file was made, or could not be; refused: it is not there any more; trouble: words while a look fails, "" after one
  constructor({ ready, refused, trouble }) {
    Object.assign(this, { ready, refused, trouble, mine: new Set(), watching: false });
  }

  // begin to make a file; it is downloaded when it is ready
  async make({ what, format, resolved, audit }) {
    const job = await post("api/result", { what, format: format || null, resolved: Boolean(resolved), audit: Boolean(audit) });
    this.mine.add(job.id);
    await this.show();
    if (document.getElementById("result-files")) document.getElementById("panel").scrollTop = 0; // its button may be far below
    this.watch();
  }

  async cancel(id) {
    this.mine.delete(id);
    await post("api/result/cancel", { id });
    await this.show();
  }

  // the list in the panel, if that is open; what somebody else has begun is watched too
  async show() {
    const place = document.getElementById("result-files");
    if (!place) return;
    const html = await fragment("panel/result-files");
    const focused = document.activeElement?.closest?.("#result-files [data-id]")?.dataset.id;
    renew(place, html);
    if (focused) (place.querySelector(`[data-id="${focused}"]`) || document.getElementById("panel")).focus({ preventScroll: true });
  }

  get unfinished() { return [...document.querySelectorAll("#result-files [data-state]")].some((row) => UNFINISHED.includes(row.dataset.state)); }

  async watch() {
    if (this.watching) return;
    this.watching = true;
    while (this.mine.size || this.unfinished) {
      await new Promise((over) => { setTimeout(over, PAUSE); });
      let trouble = "";
      try { await this.look(); } catch (error) { if (error instanceof Refused) this.refused(error); else trouble = error.message; }
      this.trouble(trouble);
    }
    this.watching = false;
  }

  async look() {
    for (const id of [...this.mine]) {
      const job = await get(`api/result?id=${id}`).catch((error) => {
        if (error instanceof Refused) this.mine.delete(id); // trouble passes
        throw error;
      });
      if (UNFINISHED.includes(job.state)) continue;
      this.mine.delete(id);
      if (job.file) take(job);
      this.ready(job);
    }
    await this.show();
  }
}

// what has not changed stays the same element: a link is clicked, and a button has the focus, while another file is being made
function renew(place, html) {
  const draft = document.createElement("div");
  draft.innerHTML = html; // made by the server's templates
  const list = place.querySelector(".files"), fresh = draft.querySelector(".files");
  if (!list || !fresh) { place.replaceChildren(...draft.childNodes); return; }
  const jobs = new Set([...fresh.children].map((row) => row.dataset.job));
  for (const row of [...list.children]) if (!jobs.has(row.dataset.job)) row.remove();
  let known = list.firstElementChild;
  for (const row of [...fresh.children]) {
    if (!known || known.dataset.job !== row.dataset.job) { list.insertBefore(row, known); continue; }
    renewRow(known, row);
    known = known.nextElementSibling;
  }
}

function renewRow(known, row) {
  const parts = [...row.children];
  known.dataset.state = row.dataset.state;
  [...known.children].forEach((part, i) => { if (part.outerHTML !== parts[i].outerHTML) part.replaceWith(parts[i]); });
}

function take({ id, file }) {
  const link = document.createElement("a");
  link.href = `result?id=${id}`;
  link.download = file;
  document.body.append(link);
  link.click();
  link.remove();
}
