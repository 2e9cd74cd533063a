// The page: log in, choose a loop, and look at it every few seconds.

import * as api from "./api.js";
import * as charts from "./charts.js";
import { settings } from "./settings.js";
import * as text from "./text.js";
import * as views from "./views.js";

const { at, element, show } = text;
const EVERY = 2000; // milliseconds between two looks
const SOON = 200; // while the service has not counted everything
const ADVICE = 15000; // milliseconds between two diagnoses
const EVENTS = 20;

let chosen = new URLSearchParams(location.hash.slice(1)).get("loop");
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

async function list() {
  const found = await api.loops();
  const now = found.loops.map((one) => one.name);
  if (now.join("\n") !== names.join("\n") || !at("loops").firstChild) {
    names = now;
    at("loops").replaceChildren(...names.map((one) => element("option", one)));
  }
  if (!names.includes(chosen)) chosen = names[0] ?? null;
  if (chosen !== null) at("loops").value = chosen;
  at("pick").hidden = !names.length;
  at("empty").hidden = names.length > 0;
  at("empty-command").textContent =
    `curl -X PUT ${location.origin}/v1/loops/first \\\n  -H "Authorization: Bearer $MASSART_KEY" -d '{}'`;
  at("loop").hidden = !names.length;
}

function draw(found) {
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
  if (found !== null && name === chosen) views.advice(found.findings);
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
      const found = await api.overview(chosen, EVENTS);
      if (mine !== turn) return;
      last = found;
      pause = found.series.complete ? EVERY : SOON;
      draw(found);
      advise(found.name);
      settings(found.name, found.settings, look);
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
  chosen = at("loops").value;
  location.hash = `loop=${encodeURIComponent(chosen)}`;
  look();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => last && draw(last));
document.addEventListener("visibilitychange", () => !document.hidden && api.key.get() && look());

if (api.key.get()) look();
else logIn();
