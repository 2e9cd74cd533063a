// Tiles, advice and recent decisions.

import * as text from "./text.js";

const { at, element } = text;

export function tile(name, value, note, tone = "") {
  const made = element("div", "", "tile"), list = element("dl");
  list.append(element("dt", name), element("dd", value, tone));
  made.append(list);
  if (note) made.append(element("small", note));
  return made;
}

const tone = (one) => (one.low !== null && one.low > 0 ? "good" : one.high !== null && one.high < 0 ? "bad" : "");

export function tiles({ series, guarantee, counts, model_version, model_age }) {
  const random = series.lift_over_random, baseline = series.lift_over_baseline;
  const unused = ["late", "duplicate", "unknown"].filter((why) => counts[why]);
  const settled = `${text.count(series.rounds)} settled`;
  const made = [
    tile("Lift over random", text.lift(random.value), text.between(random, text.lift), tone(random)),
    tile("Lift over baseline", text.lift(baseline.value), text.between(baseline, text.lift), tone(baseline)),
    tile("Reward", text.number(series.reward.value), text.between(series.reward, text.number)),
    tile("Guaranteed lift", guarantee.per_decision === null ? "none yet" : text.lift(guarantee.per_decision),
      guarantee.holds ? "per decision, over random" : "contradicted", guarantee.holds ? "" : "bad"),
    tile("Exploration", text.share(series.exploration), "lately"),
    tile("Decisions", text.count(counts.decisions ?? 0),
      series.defaults ? `${settled}, ${text.count(series.defaults)} by time-out` : settled),
    tile("Pending", text.count(counts.waiting ?? 0), "waiting for a reward"),
    tile("Reward delay", text.span(series.delays.median), "median of the last 1,000"),
    tile("Model", `v${text.count(model_version)}`,
      model_age === null ? "has learned nothing" : `learned ${text.span(model_age)} ago`),
  ];
  if (unused.length) {
    const count = unused.reduce((sum, why) => sum + counts[why], 0);
    made.push(tile("Rewards not used", text.count(count),
      unused.map((why) => `${text.count(counts[why])} ${why}`).join(", ")));
  }
  made[0].id = "tile-lift";
  at("tiles").replaceChildren(...made);
}

export function head(name, settings) {
  at("name").textContent = name;
  const badges = [element("span", settings.mode, settings.mode === "online" ? "badge" : "badge warn")];
  if (settings.paused) badges.push(element("span", "learning paused", "badge warn"));
  at("badges").replaceChildren(...badges);
}

export const sentence = (words) => `${words[0].toUpperCase()}${words.slice(1)}${/[.!?]$/.test(words) ? "" : "."}`;

export function guarantee(given, series) {
  const random = series.lift_over_random;
  const parts = [sentence(given.sentence)];
  if (series.exploration !== null && series.exploration < 0.05 && random.low !== null && random.low < 0 && random.high > 0) {
    parts.push("The bands are wide where other actions are rarely tried: with a least exploration of 0.05 or more, lift " +
      "can be measured sooner.");
  }
  if (series.first_version > 1) parts.push(`Counted from version ${text.count(series.first_version)} of the model on.`);
  at("guarantee").textContent = parts.join(" ");
}

export function advice(findings) {
  at("advice").hidden = !findings.length;
  at("advice-list").replaceChildren(...findings.map((one) => {
    const item = element("li", "", one.severity);
    item.append(element("strong", sentence(one.sentence)), ` ${sentence(one.cause)} ${sentence(one.advice)}`);
    return item;
  }));
}

function chances(decision) {
  const cell = element("td"), bars = element("div", "", "chances");
  for (const one of decision.actions.slice(0, 24)) {
    const bar = element("i", "", one.id === decision.action ? "taken" : "");
    bar.style.height = `${Math.max(4, 100 * one.probability)}%`;
    bar.title = `${one.id}: ${text.share(one.probability)}`;
    bars.append(bar);
  }
  bars.append(element("b", text.share(decision.probability)));
  bars.setAttribute("role", "img");
  bars.setAttribute("aria-label", decision.actions.map((one) => `${one.id} ${text.share(one.probability)}`).join(", "));
  cell.append(bars);
  return cell;
}

const ENDS = { default: "no reward came", inactive: "never activated", logged: "not learned", superseded: "not learned" };

function earned(settled) {
  if (!settled) return "waiting";
  const words = settled.reward === null ? "" : text.number(settled.reward);
  return settled.why in ENDS ? `${words} (${ENDS[settled.why]})`.trim() : words;
}

const tail = (id) => (id.length > 16 ? `…${id.slice(-14)}` : id);

export function events(found) {
  const rows = found.map(({ decision, time, settled }) => {
    const row = element("tr");
    row.append(element("td", text.clock(time)), element("td", decision.action), chances(decision),
      element("td", earned(settled)), element("td", `v${text.count(decision.model_version)}`),
      element("td", tail(decision.event_id), "id"));
    row.lastChild.title = decision.event_id;
    return row;
  });
  if (!rows.length) {
    const cell = element("td", "No decisions yet.", "quiet");
    cell.colSpan = 6;
    const row = element("tr");
    row.append(cell);
    rows.push(row);
  }
  at("events").replaceChildren(...rows);
}
