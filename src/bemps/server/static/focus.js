// The focus stays on the same control while what it is in is made anew. On the page itself, Enter would answer.

// before the change; what it returns is called after it. `instead` takes the focus where the control is gone
export function focusKept(box, instead = null) {
  const control = document.activeElement;
  if (!box.contains(control)) return () => {};
  const mark = markOf(control), at = alike(box, mark).indexOf(control);
  const { value, selectionStart } = control;
  return () => {
    const again = alike(box, mark)[at] || instead;
    if (!again) return;
    again.focus({ preventScroll: true });
    if (again.type === "search") again.value = value; // letters that came while the server looked
    if (again !== instead && Number.isInteger(selectionStart)) again.setSelectionRange?.(selectionStart, selectionStart);
  };
}

function alike(box, mark) { return [...box.querySelectorAll("button, a, input, select, textarea, summary, [tabindex]")].filter((each) => markOf(each) === mark); }

// what tells a control from others: its id, else what it does, in which form, and what it says
function markOf(control) {
  if (control.id) return control.id;
  const { tagName, name, type, value, form, dataset } = control;
  const words = control.getAttribute("aria-label") || (Object.keys(dataset).length ? "" : control.textContent.trim());
  const choice = ["checkbox", "radio"].includes(type) ? value : "";
  return JSON.stringify([tagName, name, type, choice, words, dataset, form ? form.dataset : {}, control.closest("[id]").id]);
}
