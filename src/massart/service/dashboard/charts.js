// The charts, drawn by Plotly in the colours of the page.

import { at } from "./text.js";

const EDGES = ["<1s", "<10s", "<1min", "<10min", "<1h", "<1d", "more"];
const CONFIG = { displayModeBar: false, responsive: true, doubleClick: "reset" };

const colours = () => {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(`--${name}`).trim();
};

function faded(colour, opacity) {
  const part = (place) => parseInt(colour.slice(place, place + 2), 16);
  return `rgba(${part(1)}, ${part(3)}, ${part(5)}, ${opacity})`;
}

function layout(colour, more = {}) {
  const axis = { gridcolor: colour("line"), zerolinecolor: colour("quiet"), linecolor: colour("line"), automargin: true,
    fixedrange: true };
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    separators: ".,", font: { color: colour("text"), family: "system-ui, sans-serif", size: 12 },
    margin: { l: 48, r: 12, t: 8, b: 36 }, hovermode: "x unified",
    hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("text") } },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 12 } },
    ...more,
    xaxis: { ...axis, zeroline: false, spikecolor: colour("quiet"), spikethickness: 1, spikedash: "solid", ...more.xaxis },
    yaxis: { ...axis, ...more.yaxis },
  };
}

function draw(id, traces, look, empty, words = "No decision has been settled yet.") {
  const place = at(id);
  if (empty || !window.Plotly) {
    if (window.Plotly) window.Plotly.purge(place);
    place.classList.add("none");
    place.textContent = window.Plotly ? words : "Charts need the package plotly on the server.";
    return;
  }
  if (place.classList.contains("none")) {
    place.classList.remove("none");
    place.textContent = "";
  }
  window.Plotly.react(place, traces, look, CONFIG);
}

function band(x, series, name, colour) {
  const known = x.map((_, place) => place).filter((place) => series[place].low !== null);
  const at_ = known.map((place) => x[place]);
  const edge = { x: at_, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false };
  return [
    { ...edge, y: known.map((place) => series[place].low) },
    { ...edge, y: known.map((place) => series[place].high), fill: "tonexty", fillcolor: faded(colour, 0.14) },
    { x, y: series.map((one) => one.value), mode: "lines", name, line: { color: colour, width: 2 },
      hovertemplate: "%{y:+.3f}" },
  ];
}

// A range that the wide bands of the first decisions do not decide.
function range(all, guarantee) {
  const late = all.flatMap((series) => series.slice(Math.floor(series.length / 4)));
  const values = late.flatMap((one) => [one.value, one.low, one.high]).filter((value) => value !== null);
  if (guarantee !== null) values.push(guarantee);
  if (!values.length) return undefined;
  const low = Math.min(0, ...values), high = Math.max(0, ...values), room = 0.06 * (high - low || 1);
  return [low - room, high + room];
}

const room = ([low, high]) => [low - 0.03 * (high - low), high + 0.03 * (high - low)];

export function lift(series, guarantee) {
  const colour = colours(), x = series.round;
  const traces = [
    ...band(x, series.baseline, "over the baseline", colour("c2")),
    ...band(x, series.random, "over a random action", colour("c1")),
  ];
  const shown = guarantee !== null && guarantee > 0 ? guarantee : null;
  if (shown !== null && x.length) {
    traces.push({ x: [x[0], x[x.length - 1]], y: [shown, shown], mode: "lines", name: "guaranteed over a random action",
      line: { color: colour("c3"), width: 2, dash: "dash" }, hovertemplate: "%{y:+.3f}" });
  }
  draw("chart-lift", traces, layout(colour, {
    xaxis: { title: { text: "decisions settled" }, rangemode: "tozero" },
    yaxis: { range: range([series.random, series.baseline], shown), tickformat: "+.2f" },
  }), !x.length);
}

export function error({ rounds, errors, recent, recent_rows, certificate }) {
  const colour = colours();
  const traces = [
    { x: rounds, y: recent, mode: "lines", name: `last ${recent_rows} rows or more`,
      line: { color: colour("c2"), width: 1.5 },
      hovertemplate: "%{y:.1%}" },
    { x: rounds, y: errors, mode: "lines", name: "all rows so far", line: { color: colour("c1"), width: 2.5 },
      hovertemplate: "%{y:.1%}" },
  ];
  const bound = certificate?.confident_mistake_bound ?? null, values = [...errors, ...recent].filter((one) => one !== null);
  const share = bound === null || !rounds.length ? null : bound / certificate.rounds;
  if (share !== null && share < 1) {
    values.push(share);
    traces.push({ x: [rounds[0], rounds[rounds.length - 1]], y: [share, share], mode: "lines", name: "bound at the last round",
      line: { color: colour("c3"), width: 2, dash: "dash" }, hovertemplate: "%{y:.1%}" });
  }
  draw("chart-error", traces, layout(colour, {
    xaxis: { title: { text: "rows learned" }, rangemode: "tozero" },
    yaxis: { tickformat: ".0%", range: [0, Math.min(1.02, Math.max(0.1, 1.1 * Math.max(0, ...values)))] },
  }), !rounds.length, "No row has been learned yet.");
}

export function others(series, settings) {
  const colour = colours(), x = series.round, empty = !x.length;
  const line = (y, name, hue, format) => ({ x, y, mode: "lines", name, line: { color: colour(hue), width: 2 },
    hovertemplate: `%{y:${format}}<extra></extra>` });
  const rounds = { rangemode: "tozero", title: { text: "decisions settled" } };
  draw("chart-reward", [line(series.rewards, "reward", "c1", ".3f")],
    layout(colour, { xaxis: rounds, showlegend: false, yaxis: { range: room(settings.reward_range) } }), empty);
  draw("chart-exploration", [line(series.explored, "exploration", "c4", ".1%")],
    layout(colour, { xaxis: rounds, showlegend: false, yaxis: { tickformat: ".1~%", range: [0, Math.max(0.1, 1.1 * Math.max(...series.explored))] } }), empty);
  draw("chart-actions", series.actions.map((one, place) => ({
    x, y: one.shares, name: one.id.length > 24 ? `${one.id.slice(0, 23)}…` : one.id, stackgroup: "all", mode: "lines",
    line: { width: 0.5, color: colour(`c${place + 1}`) }, fillcolor: faded(colour(`c${place + 1}`), 0.75),
    hovertemplate: "%{y:.1%}",
  })), layout(colour, { xaxis: rounds, yaxis: { tickformat: ".0%", range: [0, 1] } }), empty);
  draw("chart-delay", [{ x: EDGES, y: series.delays.counts, type: "bar", marker: { color: colour("c6") },
    hovertemplate: "%{y:,}<extra></extra>" }],
    layout(colour, { showlegend: false, hovermode: "closest", xaxis: { tickangle: 0, tickfont: { size: 10 } }, yaxis: { title: { text: "rewards" } } }),
    !series.delays.counts.some((one) => one > 0));
}
