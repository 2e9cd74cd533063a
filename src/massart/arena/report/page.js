"use strict";
(() => {
  const race = JSON.parse(document.getElementById("race-data").textContent);
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  const signed = new Intl.NumberFormat("en", {
    minimumFractionDigits: race.digits, maximumFractionDigits: race.digits, signDisplay: "exceptZero",
  });

  function element(name, attributes, parent, text) {
    const made = document.createElementNS(NAMESPACE, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  }

  // Colours for a light and a dark page are both there; the style sheet chooses.
  const colours = (style) => `--light:${style.light};--dark:${style.dark}`;

  // Round numbers, about `most` of them, that cover an interval.
  function ticks(low, high, most) {
    const rough = (high - low) / most;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const found = [];
    for (let k = Math.ceil(low / step); k * step <= high; k += 1) found.push(k * step || 0);  // no -0
    return { found, step };
  }

  function logTicks(low, high) {
    const found = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
      for (const digit of high / low > 30 ? [1] : [1, 2, 5]) {
        if (digit * power >= low && digit * power <= high) found.push(digit * power);
      }
    }
    return found;
  }

  function extent(chart) {
    const { world, shown } = chart;
    const end = world.reference ? world.reference.mean[world.reference.mean.length - 1] : 0;
    let low = Math.min(0, end), high = Math.max(0, end);
    for (const curve of world.curves.filter((one) => shown.has(one.learner))) {
      for (let i = 0; i < curve.x.length; i += 1) {
        if (curve.x[i] < world.from) continue;
        low = Math.min(low, curve.low[i]);
        high = Math.max(high, curve.high[i]);
      }
    }
    if (world.ceiling !== null && !chart.whole) high = Math.min(high, world.ceiling);
    const room = 0.06 * (high - low) || 0.01;
    return [low - room, high + room];
  }

  // Where rounds and values are in the picture.
  function scales(chart, width, height) {
    const narrow = width < 560;
    const [low, high] = extent(chart);
    const box = { left: narrow ? 46 : 68, right: width - 14, top: 10, bottom: height - (narrow ? 40 : 46) };
    const first = Math.log10(chart.world.from), last = Math.log10(Math.max(chart.world.rounds, 2));
    return {
      box, low, high, narrow,
      x: (t) => box.left + (box.right - box.left) * (Math.log10(t) - first) / (last - first || 1),
      y: (value) => box.bottom - (box.bottom - box.top) * (value - low) / (high - low),
    };
  }

  const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

  function drawAxes(svg, chart, scale) {
    const { box } = scale;
    const axes = element("g", { class: "axes" }, svg);
    const { found, step } = ticks(scale.low, scale.high, scale.narrow ? 5 : 7);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    for (const value of found) {
      const y = scale.y(value);
      element("line", { x1: box.left, x2: box.right, y1: y, y2: y, class: Math.abs(value) < step / 2 ? "zero" : "grid" }, axes);
      const text = race.digits ? `${value > step / 2 ? "+" : ""}${value.toFixed(digits)}` : short.format(value);
      element("text", { x: box.left - 8, y: y + 4, "text-anchor": "end" }, axes, text.replace("-", "−"));
    }
    for (const t of logTicks(chart.world.from, chart.world.rounds)) {
      const x = scale.x(t);
      element("line", { x1: x, x2: x, y1: box.top, y2: box.bottom, class: "grid" }, axes);
      element("text", { x, y: box.bottom + 18, "text-anchor": "middle" }, axes, scale.narrow ? short.format(t) : whole.format(t));
    }
    const middle = (box.top + box.bottom) / 2;
    element("text", { x: (box.left + box.right) / 2, y: box.bottom + 36, "text-anchor": "middle" }, axes, "rounds");
    if (!scale.narrow) {
      const turned = { x: 0, y: 0, transform: `translate(14 ${middle}) rotate(-90)`, "text-anchor": "middle" };
      element("text", turned, axes, race.axis);
    }
  }

  function drawCurve(group, curve, style, scale, band) {
    const marks = { style: colours(style), class: "curve" };
    if (band) {
      const upper = curve.x.map((t, i) => [scale.x(t), scale.y(curve.high[i])]);
      const lower = curve.x.map((t, i) => [scale.x(t), scale.y(curve.low[i])]).reverse();
      element("path", { ...marks, class: "band", d: `${path([...upper, ...lower])}Z` }, group);
    }
    const line = path(curve.x.map((t, i) => [scale.x(t), scale.y(curve.mean[i])]));
    element("path", { ...marks, d: line, "stroke-width": style.width, "stroke-dasharray": style.dash.join(" ") }, group);
  }

  // What is outside of the axes is cut off by a clip path of the chart's own.
  function draw(chart) {
    const width = Math.max(280, chart.place.clientWidth), height = width < 560 ? 320 : 420;
    const scale = scales(chart, width, height), { box } = scale;
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
    const clip = element("clipPath", { id: `clip-${chart.index}` }, svg);
    element("rect", { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top }, clip);
    drawAxes(svg, chart, scale);
    const curves = element("g", { "clip-path": `url(#clip-${chart.index})` }, svg);
    for (const curve of chart.world.curves) {
      if (chart.shown.has(curve.learner)) drawCurve(curves, curve, race.styles[curve.learner], scale, true);
    }
    if (chart.world.reference) drawCurve(curves, chart.world.reference, race.reference, scale, false);
    chart.dot = element("circle", { r: 5, class: "dot", visibility: "hidden" }, svg);
    chart.scale = scale;
    chart.width = chart.place.clientWidth;
    chart.place.replaceChildren(svg, chart.tip);
    hide(chart);
  }

  // The point nearest to the pointer, of the curves that are shown.
  function nearest(chart, x, y) {
    const { scale, world, shown } = chart;
    let best = null;
    const visible = world.curves.filter((curve) => shown.has(curve.learner));
    for (const curve of world.reference ? [...visible, world.reference] : visible) {
      for (let i = 0; i < curve.x.length; i += 1) {
        const px = scale.x(curve.x[i]), py = scale.y(curve.mean[i]);
        if (px < scale.box.left - 1 || py < scale.box.top || py > scale.box.bottom) continue;
        const distance = Math.hypot(px - x, py - y);
        if (!best || distance < best.distance) best = { curve, i, px, py, distance };
      }
    }
    return best && best.distance < 60 ? best : null;
  }

  function lines(world, { curve, i }) {
    const t = curve.x[i], own = curve.learner !== undefined;
    const details = [`${signed.format(curve.mean[i])} ${race.against}`];
    if (own && curve.seeds > 1) {
      details.push(`${signed.format(curve.low[i])} to ${signed.format(curve.high[i])} over ${curve.seeds} seeds`);
    }
    if (world.noise_rate !== null) {
      const mistakes = curve.mean[i] + world.noise_rate * t;
      details.push(`${whole.format(mistakes)} mistakes, ${(mistakes / t).toFixed(3)} per round`);
    }
    return [`after ${whole.format(t)} ${t === 1 ? "round" : "rounds"}`, ...details];
  }

  function hide(chart) {
    chart.tip.hidden = true;
    chart.dot.setAttribute("visibility", "hidden");
  }

  function show(chart, event) {
    const frame = chart.place.getBoundingClientRect();
    const found = nearest(chart, event.clientX - frame.left, event.clientY - frame.top);
    if (!found) { hide(chart); return; }
    const style = found.curve.learner === undefined ? race.reference : race.styles[found.curve.learner];
    const name = document.createElement("strong");
    name.textContent = style.title;
    const rest = lines(chart.world, found).map((text) => {
      const line = document.createElement("span");
      line.textContent = text;
      return line;
    });
    chart.tip.replaceChildren(name, ...rest);
    chart.tip.hidden = false;
    const left = found.px + 14 + chart.tip.offsetWidth > frame.width ? found.px - 14 - chart.tip.offsetWidth : found.px + 14;
    chart.tip.style.left = `${Math.max(0, left)}px`;
    chart.tip.style.top = `${Math.max(0, found.py - chart.tip.offsetHeight - 8)}px`;
    for (const [key, value] of Object.entries({ cx: found.px, cy: found.py, style: colours(style), visibility: "visible" })) {
      chart.dot.setAttribute(key, value);
    }
  }

  function bind(chart) {
    const section = chart.place.closest("section");
    for (const chip of section.querySelectorAll("button[data-learner]")) {
      chip.addEventListener("click", () => {
        const name = chip.dataset.learner;
        if (!chart.shown.delete(name)) chart.shown.add(name);
        chip.setAttribute("aria-pressed", String(chart.shown.has(name)));
        draw(chart);
      });
    }
    const zoom = section.querySelector("button[data-zoom]");
    if (zoom) {
      zoom.addEventListener("click", () => {
        chart.whole = !chart.whole;
        zoom.setAttribute("aria-pressed", String(chart.whole));
        draw(chart);
      });
    }
    chart.place.addEventListener("pointermove", (event) => show(chart, event));
    chart.place.addEventListener("pointerdown", (event) => show(chart, event));
    chart.place.addEventListener("pointerleave", () => hide(chart));
  }

  const charts = race.worlds.map((world, index) => {
    const tip = document.createElement("div");
    tip.className = "tip";
    const shown = new Set(world.curves.filter((curve) => curve.shown).map((curve) => curve.learner));
    return { world, index, shown, tip, whole: false, place: document.getElementById(`chart-${index}`) };
  });
  for (const chart of charts) { draw(chart); bind(chart); }

  // A frame whose table does not fit shows a hint, until it has been scrolled to its end.
  const frames = [...document.querySelectorAll(".scroll")];
  function hint(frame) {
    const marks = frame.parentElement.classList;
    marks.toggle("wide", frame.scrollWidth > frame.clientWidth + 1);
    marks.toggle("more", frame.scrollLeft + frame.clientWidth < frame.scrollWidth - 1);
  }
  for (const frame of frames) {
    hint(frame);
    frame.addEventListener("scroll", () => hint(frame), { passive: true });
  }
  window.addEventListener("resize", () => {
    for (const chart of charts) if (chart.place.clientWidth !== chart.width) draw(chart);
    frames.forEach(hint);
  });

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
