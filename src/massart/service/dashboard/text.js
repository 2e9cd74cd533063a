// Numbers and times as text, and elements that hold text and nothing else.

const signed = new Intl.NumberFormat("en", { minimumFractionDigits: 3, maximumFractionDigits: 3, signDisplay: "exceptZero" });
const plain = new Intl.NumberFormat("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const percent = new Intl.NumberFormat("en", { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });

const or = (format) => (value) => (value === null || value === undefined ? "–" : format(value));

export const lift = or((value) => signed.format(value));
export const number = or((value) => plain.format(value));
export const count = or((value) => whole.format(value));
export const share = or((value) => percent.format(value));
export const between = (one, format) =>
  one.low === null ? "no interval yet" : `${format(one.low)} to ${format(one.high)}`;

export const span = or((seconds) => {
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${(seconds / 60).toFixed(1)} min`;
  if (seconds < 86400) return `${(seconds / 3600).toFixed(1)} h`;
  return `${(seconds / 86400).toFixed(1)} d`;
});

export const clock = (seconds) => {
  const date = new Date(1000 * seconds);
  const today = date.toDateString() === new Date().toDateString();
  return today ? date.toLocaleTimeString() : date.toLocaleString();
};

export function element(tag, words = "", classes = "") {
  const made = document.createElement(tag);
  made.textContent = words;
  if (classes) made.className = classes;
  return made;
}

export const at = (id) => document.getElementById(id);

export function show(id, words) {
  at(id).hidden = !words;
  at(id).textContent = words || "";
}
