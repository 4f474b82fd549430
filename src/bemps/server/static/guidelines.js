// The guidelines: saved from the panel, and announced where somebody else has changed them.

import { learnPresent } from "./drafts.js";
import { post, Refused } from "./post.js";

const find = (id) => document.getElementById(id);

// `told` takes in the reply; `panels` shows the panel again, where what is typed stays
export function guidelineTasks(values, { told, panels }) {
  return {
    "save-guidelines": async () => {
      const field = find("guidelines-text");
      try {
        const reply = await post("api/guidelines", { text: values.text, seen: field.dataset.seen });
        leave();
        told(reply);
        await panels.refresh();
      } catch (error) {
        if (error instanceof Refused) await panels.refresh(); // shows what somebody else has saved; what is typed stays
        const again = find("guidelines-text");
        if (!again) return;
        learnPresent(again.form, error.present); // the next save is about that
        find("guidelines-problem").textContent = error.message;
      }
    },
    "cancel-guidelines": () => { leave(); find("guidelines-edit").querySelector("summary").focus(); },
  };
}

// the editor closes, if it is still there, and nothing in it counts as typed
function leave() {
  const field = find("guidelines-text");
  if (!field) return;
  field.value = field.defaultValue;
  find("guidelines-edit").open = false;
  find("drafts")?.remove();
}

// words for a change by somebody else; "" where there is none
export function guidelineNews(before, now, me) {
  return before && before.version !== now.version && now.by !== me ? `${now.by || "Somebody"} has changed the guidelines.` : "";
}
