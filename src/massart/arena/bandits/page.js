"use strict";
(() => {
  const race = JSON.parse(document.getElementById("race-data").textContent);
  const darkness = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 40rem)");
  const number = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  const signed = new Intl.NumberFormat("en", {
    minimumFractionDigits: 3, maximumFractionDigits: 3, signDisplay: "exceptZero",
  });

  const colour = (style) => (darkness.matches ? style.dark : style.light);
  const faint = (hex) => hex + (darkness.matches ? "33" : "1f");
  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function told(curve) {
    return curve.x.map((t, i) => {
      const range = curve.seeds > 1
        ? `<br>${signed.format(curve.low[i])} to ${signed.format(curve.high[i])} over ${curve.seeds} seeds`
        : "";
      return `<b>${curve.learner}</b> after ${number.format(t)} rounds<br>` +
        `${signed.format(curve.mean[i])} per round against a random arm${range}`;
    });
  }

  // Two traces per policy: its band, then its mean. The guarantee comes last, on top of everything.
  function traces(world, shown) {
    const all = [];
    for (const curve of world.curves) {
      const style = race.styles[curve.learner];
      const visible = shown.has(curve.learner);
      all.push({
        x: [...curve.x, ...[...curve.x].reverse()], y: [...curve.high, ...[...curve.low].reverse()],
        fill: "toself", fillcolor: faint(colour(style)), line: { width: 0 }, mode: "lines",
        hoverinfo: "skip", visible,
      });
      all.push({
        x: curve.x, y: curve.mean, mode: "lines", visible, name: curve.learner,
        line: { color: colour(style), width: style.width, dash: style.dash },
        text: told(curve), hovertemplate: "%{text}<extra></extra>",
      });
    }
    if (world.guarantee !== null) {
      all.push({
        x: [1, world.from, world.rounds], y: Array(3).fill(world.guarantee), mode: "lines", name: "guaranteed",
        line: { color: colour(race.guarantee), width: 2, dash: "dash" },
        text: Array(3).fill(`<b>guaranteed</b> in the long run<br>${signed.format(world.guarantee)} per round`),
        hovertemplate: "%{text}<extra></extra>",
      });
    }
    return all;
  }

  function layout(chart) {
    const ink = variable("--ink-soft"), grid = variable("--line");
    const axis = { gridcolor: grid, linecolor: grid, zerolinecolor: variable("--zero"), color: ink };
    const end = Math.log10(chart.world.rounds), begin = Math.log10(chart.world.from);
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, hovermode: "closest",
      hoverlabel: {
        bgcolor: variable("--card"), bordercolor: variable("--line"), align: "left",
        font: { color: variable("--ink"), family: variable("--sans"), size: 13 },
      },
      font: { family: variable("--sans"), size: 13, color: ink },
      margin: narrow.matches ? { l: 48, r: 12, t: 8, b: 44 } : { l: 68, r: 20, t: 8, b: 52 },
      height: narrow.matches ? 320 : 420, dragmode: narrow.matches ? false : "zoom",
      xaxis: {
        ...axis, type: "log", range: [begin, end + 0.01 * (end - begin)], title: { text: "rounds", standoff: 8 },
        dtick: end - begin > 1 ? 1 : "D2", tickformat: ",d", minor: { dtick: "D2", showgrid: false },
      },
      yaxis: {
        ...axis, range: chart.world.span, tickformat: "+.2~f", zerolinewidth: 1.5,
        title: { text: narrow.matches ? "" : "reward per round above a random arm", standoff: 8 },
      },
    };
  }

  const config = { responsive: true, displaylogo: false, displayModeBar: false, showTips: false };
  const draw = (chart) => Plotly.react(chart.place, traces(chart.world, chart.shown), layout(chart), config);

  const charts = race.worlds.map((world, index) => ({
    world, shown: new Set(world.curves.map((curve) => curve.learner)),
    place: document.getElementById(`chart-${index}`),
  }));
  for (const chart of charts) {
    draw(chart);
    for (const chip of chart.place.closest("section").querySelectorAll("button[data-learner]")) {
      chip.addEventListener("click", () => {
        const name = chip.dataset.learner;
        if (!chart.shown.delete(name)) chart.shown.add(name);
        chip.setAttribute("aria-pressed", String(chart.shown.has(name)));
        draw(chart);
      });
    }
  }
  darkness.addEventListener("change", () => charts.forEach(draw));
  narrow.addEventListener("change", () => charts.forEach(draw));

  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copy).textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "copied";
      } catch {
        getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
        button.textContent = "selected";
      }
    });
  }
})();
