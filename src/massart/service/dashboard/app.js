// The page: log in, choose a loop or a stream, and look at it every few seconds.

import * as api from "./api.js";
import * as charts from "./charts.js";
import { settings } from "./settings.js";
import * as stream from "./stream.js";
import * as text from "./text.js";
import * as views from "./views.js";

const { at, element, show } = text;
const EVERY = 2000; // milliseconds between two looks
const SOON = 200; // while the service has not counted everything
const ADVICE = 15000; // milliseconds between two diagnoses
const EVENTS = 20;

// What is shown is a loop or a stream, written as in the address: "loop=shop", "stream=mail".
let chosen = location.hash.slice(1) || null;
let advised = { name: null, again: 0 };
let names = [], timer = null, turn = 0, last = null, pause = EVERY;

function logIn(sentence = "") {
  clearTimeout(timer);
  turn += 1;
  api.key.forget();
  for (const id of ["page", "pick", "live", "leave"]) at(id).hidden = true;
  at("login").hidden = false;
  show("login-error", sentence);
  at("key").value = "";
  at("key").focus();
}

function failed(problem) {
  if (problem.status === 401) {
    logIn("This key is not known to the service.");
    return;
  }
  if (!(problem instanceof api.Problem)) console.error(problem);
  show("notice", problem.status === 403 ? `${problem.message} Log in with another key.` : problem.message);
  at("live").classList.add("stale");
  at("live").textContent = "not up to date";
}

const place = (kind, name) => `${kind}=${encodeURIComponent(name)}`;

function group(kind, label, found) {
  const made = element("optgroup");
  made.label = label;
  made.append(...found.map((one) => {
    const option = element("option", one.name);
    option.value = place(kind, one.name);
    return option;
  }));
  return made;
}

async function list() {
  const [{ loops }, { streams }] = await Promise.all([api.loops(), api.streams()]);
  const now = [...loops.map((one) => place("loop", one.name)), ...streams.map((one) => place("stream", one.name))];
  if (now.join("\n") !== names.join("\n") || !at("loops").firstChild) {
    names = now;
    const groups = [["loop", "Loops", loops], ["stream", "Streams", streams]].filter(([, , found]) => found.length);
    at("loops").replaceChildren(...groups.map((one) => group(...one)));
  }
  if (!names.includes(chosen)) chosen = names[0] ?? null;
  if (chosen !== null) at("loops").value = chosen;
  at("pick").hidden = !names.length;
  at("empty").hidden = names.length > 0;
  for (const [id, what] of [["empty-command", "loops"], ["empty-stream", "streams"]]) {
    at(id).textContent =
      `curl -X PUT ${location.origin}/v1/${what}/first \\\n  -H "Authorization: Bearer $MASSART_KEY" -d '{}'`;
  }
  at("loop").hidden = !chosen?.startsWith("loop=");
  at("stream").hidden = !chosen?.startsWith("stream=");
}

function draw(found) {
  if (found.state) {
    stream.draw(found);
    return;
  }
  views.head(found.name, found.settings);
  views.tiles(found);
  views.guarantee(found.guarantee, found.series);
  views.events(found.recent);
  charts.lift(found.series, found.guarantee.per_decision);
  charts.others(found.series, found.settings);
}

// What may be wrong is looked for less often: the service reads 500 decisions for it.
async function advise(name) {
  if (name === advised.name && Date.now() < advised.again) return;
  advised = { name, again: Date.now() + ADVICE };
  const found = await api.health(name).catch(() => null);
  if (found !== null && place("loop", name) === chosen) views.advice(found.findings);
}

async function look() {
  clearTimeout(timer);
  const mine = ++turn;
  try {
    await list();
    if (mine !== turn) return;
    at("login").hidden = true;
    at("page").hidden = at("live").hidden = at("leave").hidden = false;
    if (chosen !== null) {
      const cut = chosen.indexOf("="), name = decodeURIComponent(chosen.slice(cut + 1));
      const found = await (chosen.startsWith("stream=") ? api.streamOverview(name) : api.overview(name, EVENTS));
      if (mine !== turn) return;
      last = found;
      pause = found.series?.complete === false ? SOON : EVERY;
      draw(found);
      if (found.series) {
        advise(found.name);
        settings(found.name, found.settings, look);
      }
    }
    show("notice", "");
    at("live").classList.remove("stale");
    at("live").replaceChildren("live", element("span", `, ${new Date().toLocaleTimeString()}`));
  } catch (problem) {
    if (mine === turn) failed(problem);
  }
  if (mine === turn && api.key.get()) timer = setTimeout(look, document.hidden ? 10 * EVERY : pause);
}

at("login-form").addEventListener("submit", (event) => {
  event.preventDefault();
  api.key.set(at("key").value.trim());
  look();
});
at("leave").addEventListener("click", () => logIn());
at("loops").addEventListener("change", () => {
  chosen = location.hash = at("loops").value;
  look();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => last && draw(last));
document.addEventListener("visibilitychange", () => !document.hidden && api.key.get() && look());

if (api.key.get()) look();
else logIn();
