// Looking for more of a class: a line above the item says so while it lasts, and a click ends it.

const find = (id) => document.getElementById(id);

export class ClassSearch {
  // changed: the order is another one now; ended: it has ended by itself; trouble: it goes on although somebody has stopped it
  constructor({ post, changed, ended, trouble }) {
    Object.assign(this, { post, changed, ended, trouble, label: "", waiting: "" });
    find("class-search-stop").addEventListener("click", () => this.stop());
  }

  // what the server says with every reply: the search of this person, or null
  show(search, byHand = false) {
    const before = this.label;
    this.search = search;
    this.label = search ? search.label : "";
    find("class-search").hidden = !search && !this.waiting;
    find("class-search-stop").hidden = !search;
    if (this.waiting) find("class-search-words").textContent = `One moment: looking for ${this.waiting} …`;
    else if (search) find("class-search-words").textContent = `Looking for ${search.label}, ${search.asked} of ${search.size}: most are asked because they may be ${search.label}.`;
    if (before && !search && !byHand) this.ended(before);
    if (before !== this.label) this.changed();
  }

  begin(label) {
    this.waiting = label;
    this.show(this.search, true);
  }

  async start(label) {
    this.begin(label); // the model may be busy for some seconds
    try {
      const reply = await this.post("api/class/search", { label });
      this.waiting = "";
      this.show(reply.class_search, true);
    } finally {
      if (this.waiting) this.begin(""); // refused: as before
    }
  }

  async stop() {
    try {
      const reply = await this.post("api/class/search/stop", {});
      this.show(reply.class_search, true);
    } catch (error) { this.trouble(error); }
  }
}
