// Talking to the server. Three outcomes: an answer, a refusal that will not change, or trouble that may pass.

const KEPT_ALIVE = 20000; // characters: browsers refuse to keep more than 64 kB alive when the page goes

// present: what values are now that somebody else has saved since the form was shown, by the names of its fields
export class Refused extends Error {
  constructor(words, present = {}) { super(words); this.present = present; }
}
export class Trouble extends Error {}

export async function post(path, body, seconds = 20) {
  return ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }, seconds);
}

export async function get(path, seconds = 20) {
  return ask(path, {}, seconds);
}

export async function fragment(path) {
  const answer = await reach(path, { headers: { accept: "text/html, application/json" } }, 30);
  if (!answer.ok) throw await problem(answer);
  return answer.text();
}

async function ask(path, options, seconds) {
  options.headers = { ...options.headers, accept: "application/json" };
  const answer = await reach(path, { ...options, keepalive: options.method === "POST" && options.body.length < KEPT_ALIVE }, seconds);
  if (!answer.ok) throw await problem(answer);
  return answer.json();
}

async function reach(path, options, seconds) {
  try {
    return await fetch(path, { ...options, signal: AbortSignal.timeout(seconds * 1000) });
  } catch (error) {
    throw new Trouble("the server cannot be reached");
  }
}

async function problem(answer) {
  let told = {};
  try { told = await answer.json(); } catch { /* not from our server: a proxy's page */ }
  const words = told.error ? `${told.error} ${told.fix || ""}`.trim() : `the server answered ${answer.status}`;
  const passes = answer.status >= 500 || [401, 408, 410, 421, 429].includes(answer.status);
  return passes ? new Trouble(words) : new Refused(words, told.present);
}
