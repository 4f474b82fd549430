import { post } from "./post.js";

const find = (id) => document.getElementById(id);

async function start(name, isConfirmed = false) {
  find("problem").textContent = "";
  try {
    const reply = await post("api/name", { name, is_confirmed: isConfirmed });
    if (reply.question) ask(reply);
    else location.reload();
  } catch (error) {
    find("problem").textContent = error.message;
  }
}

// somebody has the name already: perhaps the same person on another device
function ask({ name, question }) {
  find("who").hidden = true;
  find("taken").hidden = false;
  find("question").textContent = question;
  find("same").textContent = `Yes, I am ${name}`;
  find("same").onclick = () => start(name, true);
  find("same").focus();
}

find("who").addEventListener("submit", (event) => {
  event.preventDefault();
  start(find("name").value);
});

find("another").addEventListener("click", () => {
  find("taken").hidden = true;
  find("who").hidden = false;
  find("name").select();
});
