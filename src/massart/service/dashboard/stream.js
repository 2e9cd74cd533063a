// A stream: tiles, progressive error, certificate and settings.

import * as charts from "./charts.js";
import * as text from "./text.js";
import { sentence, tile } from "./views.js";

const { at, element } = text;
const CLASSES = 8; // that are named

function tiles({ state, error, certificate, model_age }) {
  const { stream } = state, bound = certificate?.confident_mistake_bound ?? null;
  const tone = certificate === null ? "" : !certificate.holds ? "bad" : certificate.verdict.startsWith("within") ? "good" : "";
  const rows = state.waiting ? `${text.count(state.waiting)} waiting` : "none waiting";
  const made = [
    tile("Rounds", text.count(stream.learned), rows),
    tile("Progressive error", text.share(error), `${text.count(state.mistakes)} mistakes`),
    tile("Mistake bound", text.count(bound),
      bound === null ? "none yet" : `at confidence ${certificate.confidence}`, tone),
    tile("Certificate", certificate === null ? "–" : certificate.verdict, "", tone),
    tile("Model", `v${text.count(stream.model_version)}`,
      model_age === null ? "has learned nothing" : `learned ${text.span(model_age)} ago`),
  ];
  if (state.refused) made.push(tile("Rows refused", text.count(state.refused), "could not be learned", "bad"));
  made[1].id = "tile-error";
  made[3].classList.add("words");
  at("stream-tiles").replaceChildren(...made);
}

function settings({ settings: given, classes }) {
  const named = classes.slice(0, CLASSES).join(", ") + (classes.length > CLASSES ? `, and ${classes.length - CLASSES} more` : "");
  const declared = (value, hint) => (value === null ? ["not known", ""] : [value, hint]);
  const rows = [
    ["Classes", named || "none yet", given.classes === null ? "join as labels come" : "fixed"],
    ["Noise rate", ...declared(given.noise_rate, "declared: the largest probability of a wrong label")],
    ["Margin", ...declared(given.margin, "declared")],
    ["Horizon", ...declared(given.horizon, "declared number of rounds")],
    ["Hash bits", given.hash_bits, `${text.count(2 ** given.hash_bits)} columns`],
  ];
  at("stream-settings").replaceChildren(...rows.map(([name, value, hint]) => {
    const row = element("tr"), cell = element("td", String(value), "wrap");
    if (hint) cell.append(element("small", hint, "quiet"));
    row.append(element("th", name), cell);
    row.firstChild.scope = "row";
    return row;
  }));
}

export function draw(found) {
  const { stream } = found.state;
  at("stream-name").textContent = stream.name;
  at("stream-badges").replaceChildren(element("span", "stream", "badge"));
  tiles(found);
  settings(stream);
  at("certificate").textContent = found.certificate === null
    ? "The stream has learned nothing yet, so there is nothing to certify." : sentence(found.certificate.sentence);
  charts.error(found);
}
