// What is new in a list of classes, in words, and which keys mean another class than before.

export function classChanges(before, after) {
  if (!before.length) return { words: "", moved: [] };
  const known = new Map(before.map((one) => [one.id, one]));
  const words = after.flatMap((one) => changeOf(known.get(one.id), one));
  const owner = new Map(before.flatMap(({ id, keys }) => keys.map((key) => [key, id])));
  const moved = after.flatMap(({ id, keys }) => keys.filter((key) => owner.has(key) && owner.get(key) !== id));
  return { words: words.join(" "), moved };
}

function changeOf(old, { name, keys }) {
  const by = keys.length ? `key ${keys.join(" or ")}` : "no key";
  if (!old) return [`New class ${name}: ${by}.`];
  const renamed = old.name === name ? [] : [`${old.name} is called ${name} now.`];
  return old.keys.join() === keys.join() ? renamed : [...renamed, `${name} has another key: ${by}.`];
}
