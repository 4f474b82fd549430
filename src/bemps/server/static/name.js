import { post } from "./post.js";

document.getElementById("who").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await post("api/name", { name: document.getElementById("name").value });
    location.reload();
  } catch (error) {
    document.getElementById("problem").textContent = error.message;
  }
});
