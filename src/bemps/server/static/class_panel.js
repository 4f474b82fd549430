// What the panel of the classes asks for. `change` posts and shows the panel again; `item` is the id of the item on show.

export function classTasks(values, { change, item }) {
  const named = { name: values.name };
  return {
    "add-class": () => change("api/class", named),
    "edit-class": () => edit(values, change),
    "move-class": () => change("api/class/change", { ...named, move: Number(values.move) }),
    "hide-class": () => change("api/class/change", { ...named, hidden: values.hidden === "yes" }),
    "delete-class": () => change("api/class/delete", named),
    "merge-class": () => change("api/class/merge", { ...named, into: values.into }),
    "split-class": () => change("api/class/split", named),
    "add-example": () => change("api/class/example", { ...named, text: values.text }),
    "add-item-example": () => {
      if (!item) throw new Error("There is no item on show. Open one under Labelled first.");
      return change("api/class/example", { ...named, item });
    },
    "remove-example": () => change("api/class/example", { ...named, item: values.item, text: values.text, remove: true }),
  };
}

// one Save for everything that was changed; the name last, as the others go by the old one
async function edit({ old, name = old, key, description, colour }, change) {
  const letters = [
    key !== undefined && ["api/class/key", { name: old, key }],
    (description !== undefined || colour !== undefined) && ["api/class/change", { name: old, description, colour }],
    name !== old && ["api/class/rename", { old, new: name }],
  ].filter(Boolean);
  for (const [i, [path, body]] of letters.entries()) await change(path, body, i === letters.length - 1);
}
