// Requests to API v1, with the key of this tab.

const NAME = "massart-key";

export class Problem extends Error {
  constructor(status, sentence, details) {
    super(sentence);
    this.status = status;
    this.details = details;
  }
}

export const key = {
  get: () => sessionStorage.getItem(NAME),
  set: (value) => sessionStorage.setItem(NAME, value),
  forget: () => sessionStorage.removeItem(NAME),
};

const path = (loop, rest = "", room = "loops") => `/v1/${room}/${encodeURIComponent(loop)}${rest}`;

async function ask(where, options = {}) {
  const headers = { Accept: "application/json", Authorization: `Bearer ${key.get() ?? ""}` };
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(where, { ...options, headers, cache: "no-store", signal: AbortSignal.timeout(15000) });
  } catch {
    throw new Problem(0, "The service does not answer.", null);
  }
  const text = await answer.text();
  let body = null;
  try {
    body = text ? JSON.parse(text) : null;
  } catch {
    body = null;
  }
  if (!answer.ok) {
    throw new Problem(answer.status, body?.detail || body?.title || `The service answered ${answer.status}.`, body);
  }
  return body;
}

export const loops = () => ask("/v1/loops");
export const streams = () => ask("/v1/streams");
export const streamOverview = (name) => ask(path(name, "/overview", "streams"));
export const overview = (name, events) => ask(path(name, `/overview?events=${events}`));
export const health = (name) => ask(path(name, "/health"));
export const change = (name, settings) => ask(path(name), { method: "PATCH", body: JSON.stringify(settings) });
