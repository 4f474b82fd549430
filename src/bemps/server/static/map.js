// The picture of the items: a click opens the item under it, a rectangle lists what is in it.

import { fragment } from "./post.js";

const CLICK = 5, REACH = 9; // units of the drawing: a shorter movement is a click, and what it may miss a point by

export class ItemMap {
  constructor({ open, trouble }) {
    Object.assign(this, { open, trouble, start: null });
  }

  // the panel was filled anew
  attach(panel) {
    this.picture = panel.querySelector("#map");
    if (!this.picture) return;
    this.picture.addEventListener("pointerdown", (event) => this.down(event));
    this.picture.addEventListener("pointermove", (event) => { if (this.start) this.draw(this.start, this.at(event)); });
    this.picture.addEventListener("pointerup", (event) => this.up(event));
    this.picture.addEventListener("pointercancel", () => this.end());
  }

  // where the pointer is, in units of the drawing
  at(event) {
    const box = this.picture.getBoundingClientRect(), side = this.picture.viewBox.baseVal.width;
    return { x: ((event.clientX - box.left) / box.width) * side, y: ((event.clientY - box.top) / box.height) * side };
  }

  down(event) {
    event.preventDefault();
    this.start = this.at(event);
    this.picture.setPointerCapture(event.pointerId);
  }

  up(event) {
    if (!this.start) return;
    const from = this.start, to = this.at(event);
    this.start = null;
    if (Math.hypot(to.x - from.x, to.y - from.y) < CLICK) { this.end(); this.pick(to); } else this.select(from, to);
  }

  end() { this.start = null; this.draw({ x: 0, y: 0 }, { x: 0, y: 0 }); }

  draw(from, to) {
    const region = this.picture.querySelector("#map-region");
    const values = { x: Math.min(from.x, to.x), y: Math.min(from.y, to.y), width: Math.abs(to.x - from.x), height: Math.abs(to.y - from.y) };
    for (const [name, value] of Object.entries(values)) region.setAttribute(name, value);
  }

  pick({ x, y }) {
    let nearest = null, least = REACH;
    for (const point of this.picture.querySelectorAll("[data-item]")) {
      const distance = Math.hypot(point.cx.baseVal.value - x, point.cy.baseVal.value - y);
      if (distance <= least) { nearest = point; least = distance; }
    }
    if (nearest) this.open(nearest.dataset.item);
  }

  select(from, to) {
    const margin = Number(this.picture.dataset.margin), side = this.picture.viewBox.baseVal.width;
    const share = (value) => ((value - margin) / (side - 2 * margin)).toFixed(4);
    const region = { left: Math.min(from.x, to.x), right: Math.max(from.x, to.x), top: Math.min(from.y, to.y), bottom: Math.max(from.y, to.y) };
    return this.list(new URLSearchParams(Object.entries(region).map(([name, value]) => [name, share(value)])));
  }

  async list(query) {
    const place = document.getElementById("map-items");
    try { place.innerHTML = await fragment(`panel/map-items?${query}`); } catch (error) { this.trouble(error); return; } // made by the server's templates
    place.scrollIntoView({ block: "nearest" });
  }
}
