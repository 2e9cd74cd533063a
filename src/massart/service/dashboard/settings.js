// The settings as a form; a change is shown first, and sent when it is confirmed.

import * as api from "./api.js";
import { at, element, show } from "./text.js";

const FIELDS = [
  { name: "mode", label: "Mode", options: ["online", "apprentice", "logging"],
    hint: "apprentice and logging take the baseline" },
  { name: "paused", label: "Learning paused", kind: "check" },
  { name: "reward_window", label: "Reward window (seconds)", kind: "number", needed: true },
  { name: "default_reward", label: "Default reward", kind: "number", hint: "empty: the lowest reward" },
  { name: "aggregation", label: "Several rewards of a decision",
    options: ["earliest", "sum", "average", "median", "min", "max"] },
  { name: "exploration", label: "Least exploration", kind: "number", model: true,
    hint: "0 to 1; empty: as little as the theory needs" },
  { name: "hold_rewards", label: "Learn when the window is over", kind: "check" },
  { name: "clip_rewards", label: "Clip rewards to the range", kind: "check" },
];

let known = null, loop = null, edited = false, done = () => {};

const shown = (value) => (value === null || value === undefined ? "(empty)" : String(value));

function value(field) {
  const input = at(`setting-${field.name}`);
  if (field.kind === "check") return input.checked;
  if (field.kind === "number") return input.value.trim() === "" ? null : Number(input.value);
  return input.value;
}

const changes = () => FIELDS.filter((field) => value(field) !== known[field.name]);

function mark() {
  const count = changes().length;
  edited = count > 0;
  at("settings-change").disabled = at("settings-undo").disabled = !count;
}

function input(field) {
  const made = element(field.options ? "select" : "input");
  made.id = `setting-${field.name}`;
  if (field.options) made.append(...field.options.map((one) => element("option", one)));
  else if (field.kind === "check") made.type = "checkbox";
  else {
    made.type = "number";
    made.step = "any";
    made.required = Boolean(field.needed);
  }
  made.addEventListener("input", mark);
  return made;
}

function build() {
  const rows = FIELDS.map((field) => {
    const label = element("label");
    if (field.kind === "check") {
      label.className = "check";
      label.append(input(field), element("span", field.label));
    } else {
      label.append(element("span", field.label), input(field));
      if (field.hint) label.append(element("span", field.hint, "hint"));
    }
    return label;
  });
  const buttons = element("div", "", "buttons"), change = element("button", "Change…"), undo = element("button", "Undo", "plain");
  change.id = "settings-change";
  undo.id = "settings-undo";
  undo.type = "button";
  undo.addEventListener("click", fill);
  buttons.append(change, undo);
  const checks = element("div", "", "checks");
  checks.append(...rows.filter((one) => one.className === "check"));
  at("settings").replaceChildren(...rows.filter((one) => one.className !== "check"), checks, buttons);
}

function fill() {
  for (const field of FIELDS) {
    const place = at(`setting-${field.name}`), given = known[field.name];
    if (field.kind === "check") place.checked = Boolean(given);
    else place.value = given === null || given === undefined ? "" : given;
  }
  mark();
}

export function settings(name, given, finished) {
  done = finished;
  const other = name !== loop;
  if (other || !at("settings").firstChild) build();
  if (other || !edited) {
    loop = name;
    known = Object.fromEntries(FIELDS.map((field) => [field.name, given[field.name] ?? null]));
    fill();
  }
}

function ask(event) {
  event.preventDefault();
  const rows = changes().map((field) => {
    const row = element("tr");
    row.append(element("td", field.label, "wrap"), element("td", shown(known[field.name])), element("td", shown(value(field))));
    return row;
  });
  if (!rows.length) return;
  at("confirm-title").textContent = `Change settings of ${loop}?`;
  at("changes").replaceChildren(...rows);
  at("confirm-model").hidden = !changes().some((field) => field.model);
  show("confirm-error", "");
  at("confirm").showModal();
}

async function send() {
  const wanted = Object.fromEntries(changes().map((field) => [field.name, value(field)]));
  at("confirm-yes").disabled = true;
  try {
    await api.change(loop, wanted);
    edited = false;
    at("confirm").close();
    loop = null;
    await done();
  } catch (problem) {
    show("confirm-error", problem.message);
  } finally {
    at("confirm-yes").disabled = false;
  }
}

at("settings").addEventListener("submit", ask);
at("confirm-yes").addEventListener("click", send);
