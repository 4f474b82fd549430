// What was done on this page, in its order, and what of it was taken back: undo and redo are about these. A step has the request
// of its letter, and the item where this page can show it again; without one the server tells what it was.

export class Trail {
  constructor() { Object.assign(this, { done: [], undone: [] }); }

  add(step) { this.done.push(step); this.undone.length = 0; }

  // the step that is undone or redone now; an empty one where it was made elsewhere
  take(what) {
    const [from, to] = this.ways(what), step = from.pop() || {};
    to.push(step);
    return step;
  }

  ways(what) { return what === "undo" ? [this.done, this.undone] : [this.undone, this.done]; }

  // what was refused never was: an answer has no place here, and a step back or again is where it was
  refused({ path, about, body }) {
    if (about) this.putBack(path === "api/undo" ? "redo" : "undo", about);
    for (const name of ["done", "undone"]) this[name] = this[name].filter((step) => step.request !== body.request);
  }

  putBack(what, request) {
    const [from, to] = this.ways(what), at = from.findIndex((step) => step.request === request);
    if (at >= 0) to.push(...from.splice(at, 1));
  }
}
