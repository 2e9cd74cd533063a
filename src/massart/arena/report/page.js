"use strict";
(() => {
  const race = JSON.parse(document.getElementById("race-data").textContent);
  const darkness = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 40rem)");
  const number = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  const signed = new Intl.NumberFormat("en", { maximumFractionDigits: 0, signDisplay: "exceptZero" });
  const charts = [];

  const colour = (style) => (darkness.matches ? style.dark : style.light);
  const faint = (hex) => hex + (darkness.matches ? "3d" : "2b");
  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function told(world, curve) {
    return curve.x.map((t, i) => {
      const range = curve.seeds > 1
        ? `<br>${signed.format(curve.low[i])} to ${signed.format(curve.high[i])} over ${curve.seeds} seeds`
        : "";
      const rate = (curve.mistakes[i] / t).toFixed(3);
      return `<b>${curve.learner}</b> after ${number.format(t)} rounds<br>` +
        `${signed.format(curve.mean[i])} against noise rate × rounds${range}<br>` +
        `${number.format(curve.mistakes[i])} mistakes, ${rate} per round`;
    });
  }

  // Two traces per learner: its band, then its mean. The bound comes last, on top of everything.
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
        text: told(world, curve), hovertemplate: "%{text}<extra></extra>",
      });
    }
    if (world.bound) {
      all.push({
        x: world.bound.x, y: world.bound.mean, mode: "lines", name: "the bound",
        line: { color: colour(race.bound), width: 2, dash: "dash" },
        text: world.bound.x.map((t, i) => `<b>the bound</b> after ${number.format(t)} rounds<br>` +
          `${signed.format(world.bound.mean[i])} against noise rate × rounds<br>` +
          `${number.format(world.bound.mistakes[i])} mistakes`),
        hovertemplate: "%{text}<extra></extra>",
      });
    }
    return all;
  }

  function extent(world, shown, whole) {
    let low = 0, high = world.bound ? world.bound.mean[world.bound.mean.length - 1] : 1;
    for (const curve of world.curves.filter((one) => shown.has(one.learner))) {
      for (let i = 0; i < curve.x.length; i += 1) {
        if (curve.x[i] < world.from) continue;
        low = Math.min(low, curve.low[i]);
        high = Math.max(high, curve.high[i]);
      }
    }
    if (world.ceiling !== null && !whole) high = Math.min(high, world.ceiling);
    const room = 0.06 * (high - low);
    return [low - room, high + room];
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
        dtick: 1, tickformat: ",d", minor: { dtick: "D2", showgrid: false },
      },
      yaxis: {
        ...axis, range: extent(chart.world, chart.shown, chart.whole), tickformat: "~s", zerolinewidth: 1.5,
        title: { text: narrow.matches ? "" : "mistakes − noise rate × rounds", standoff: 8 },
      },
    };
  }

  const config = { responsive: true, displaylogo: false, displayModeBar: false, showTips: false };
  const draw = (chart) => Plotly.react(chart.place, traces(chart.world, chart.shown), layout(chart), config);

  function press(button, on) {
    button.setAttribute("aria-pressed", String(on));
  }

  function bind(chart) {
    const section = chart.place.closest("section");
    const chips = [...section.querySelectorAll("button[data-learner]")];
    for (const chip of chips) {
      chip.addEventListener("click", () => {
        const name = chip.dataset.learner;
        if (chart.shown.has(name)) chart.shown.delete(name); else chart.shown.add(name);
        press(chip, chart.shown.has(name));
        draw(chart);
      });
    }
    const zoom = section.querySelector("button[data-zoom]");
    if (zoom) {
      zoom.addEventListener("click", () => {
        chart.whole = !chart.whole;
        press(zoom, chart.whole);
        draw(chart);
      });
    }
  }

  race.worlds.forEach((world, index) => {
    const shown = new Set(world.curves.filter((curve) => curve.shown).map((curve) => curve.learner));
    charts.push({ world, shown, whole: false, place: document.getElementById(`chart-${index}`) });
  });
  charts.forEach((chart) => { draw(chart); bind(chart); });
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
