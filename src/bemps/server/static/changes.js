// What is new in the classes, in words, and which keys mean another class than they ever did on this page.

export class ClassHistory {
  constructor() { Object.assign(this, { list: [], gone: [], owners: new Map(), numbers: new Map() }); }

  // given: { list, gone }, as the server has them; returns { words, moved }; `added`: the class that this person has just made
  learn({ list, gone }, added = "") {
    const first = !this.list.length && !this.gone.length;
    const words = first ? [] : [...this.left(list, gone), ...list.flatMap((now) => this.changed(now, added)), ...this.reordered(list)];
    // a key that was free for a while is remembered too: fingers do not know that a class went
    const moved = list.flatMap(({ id, keys }) => keys.filter((key) => this.owners.has(key) && this.owners.get(key) !== id));
    for (const { id, keys } of list) for (const key of keys) this.owners.set(key, id);
    for (const { id, name } of [...gone, ...list]) this.numbers.set(name, id);
    this.list = list;
    this.gone = gone;
    return { words: words.join(" "), moved };
  }

  // the label of an answer, with the number of its class: it holds whatever the class is called when the answer arrives
  labelled(label) { return label && this.numbers.has(label) ? { label, class_id: this.numbers.get(label) } : { label }; }

  // classes that have no button any more
  left(list, gone) {
    const present = new Set(list.map(({ id }) => id));
    const reasons = new Map(gone.map((each) => [each.id, each]));
    return this.list.filter(({ id }) => !present.has(id)).map(({ id, name }) => {
      if (!reasons.has(id)) return `${name} was deleted.`;
      const { into } = reasons.get(id);
      return into ? `${name} was merged: what was labelled ${name} counts as ${into} now.` : `${name} is hidden now. Its labels stay.`;
    });
  }

  changed({ id, name, keys, description, examples }, added) {
    const by = keys.length ? `key ${keys.join(" or ")}` : "no key";
    const old = this.list.find((each) => each.id === id);
    if (!old) {
      const digit = name.match(/^\d(?![\p{L}\d_.,])/u)?.[0]; // which stands for it, unless another class has it
      const taken = digit && !keys.includes(digit) && this.list.some((each) => each.keys.includes(digit)) ? ` (${digit} is another class)` : "";
      if (name === added && !taken) return [];
      return [this.gone.some((each) => each.id === id) ? `${name} is back: ${by}${taken}.` : `New class ${name}: ${by}${taken}.`];
    }
    const news = [];
    if (old.name !== name) news.push(`${old.name} is called ${name} now.`);
    if (old.keys.join() !== keys.join()) news.push(`${name} has another key: ${by}.`);
    if (old.description !== description) news.push(description ? `${name} has a new description.` : `${name} has no description any more.`);
    if (JSON.stringify(old.examples) !== JSON.stringify(examples)) news.push(`${name} has other examples.`);
    return news;
  }

  // whether buttons that were there before stand in another order
  reordered(list) {
    const order = (some, others) => some.map(({ id }) => id).filter((id) => others.some((each) => each.id === id)).join();
    return order(this.list, list) === order(list, this.list) ? [] : ["The classes stand in another order now. Their keys are the same."];
  }
}
