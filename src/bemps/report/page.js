"use strict";
(() => {
  const bar = document.querySelector(".filters");
  const choices = [...bar.querySelectorAll("select")];
  const blocks = [...document.querySelectorAll(".block")];
  const wide = [...document.querySelectorAll(".table, figure")];
  const mark = () => {  // measured without the mark, whose own words take room
    for (const box of wide) box.classList.remove("scrolls");
    const cut = wide.filter(box => box.scrollWidth > box.clientWidth + 1);
    for (const box of cut) box.classList.add("scrolls");
  };
  const show = () => {
    for (const block of blocks)
      block.hidden = choices.some(c => c.name in block.dataset && block.dataset[c.name] !== c.value);
    for (const section of document.querySelectorAll("section")) {
      const none = section.querySelector(".none");
      if (none) none.hidden = [...section.querySelectorAll(".block")].some(b => !b.hidden);
    }
    mark();
  };
  addEventListener("resize", mark);
  for (const folded of document.querySelectorAll("details")) folded.addEventListener("toggle", mark);
  for (const choice of choices) {
    choice.addEventListener("change", show);
    choice.parentNode.hidden = choice.options.length < 2;
  }
  bar.hidden = choices.every(c => c.options.length < 2);
  show();

  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  for (const title of document.querySelectorAll("svg g > title")) {
    const group = title.parentNode;
    const words = title.textContent;
    title.remove();
    group.setAttribute("aria-label", words);
    const place = event => {
      tip.textContent = words;
      tip.hidden = false;
      const room = tip.getBoundingClientRect();
      const left = event.clientX + 16 + room.width > innerWidth ? event.clientX - 16 - room.width : event.clientX + 16;
      tip.style.left = Math.max(4, left) + "px";
      tip.style.top = Math.max(4, Math.min(event.clientY + 16, innerHeight - room.height - 4)) + "px";
    };
    group.addEventListener("pointerenter", place);
    group.addEventListener("pointermove", place);
    group.addEventListener("pointerleave", () => { tip.hidden = true; });
  }
})();
