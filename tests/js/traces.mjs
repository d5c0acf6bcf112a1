// Traces for the tests, made by the Python simulator when one is asked for; kept by their settings.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const cache = new Map();

// settings: {method, tokens, agreement, seed, draft, target, latency, policy, lookahead} -> text of a trace.
export function simulated(settings = {}) {
  const key = JSON.stringify(settings);
  if (!cache.has(key)) {
    const python = process.env.PYTHON ?? "python3";
    cache.set(key, execFileSync(python, [`${HERE}simulated.py`, key], { encoding: "utf8", maxBuffer: 1e9 }));
  }
  return cache.get(key);
}

export function pair(settings = {}) {
  return ["synchronous", "amusd"].map((method) => simulated({ ...settings, method }));
}

// A small seeded generator of numbers in [0, 1), so that every failure can be repeated.
export function random(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4294967296;
  };
}

// A run of one window that is a tree: the target leaves the main chain at once and goes two candidates on.
export function treeTrace() {
  const header = { kind: "header", schema: 1, source: "simulated", method: "speculator", policy: "" };
  Object.assign(header, {
    max_new_tokens: 4,
    target: { name: "t" },
    draft: { name: "heads" },
    prompt: "Why?",
  });
  const proposed = (position, candidate, text, parent) => ({
    ...{ kind: "proposed", start: 30e6 + position * 2e6, end: 32e6 + position * 2e6, branch: 0 },
    ...{ position, candidate, token: 100 + 10 * position + candidate, text: ` ${text}`, head: position - 1 },
    ...(parent === undefined ? {} : { parent }),
  });
  const dropped = (position, candidate, fate) => ({
    kind: "dropped",
    t: 90e6,
    branch: 0,
    position,
    candidate,
    fate,
  });
  const events = [
    { kind: "prefill", start: 0, end: 28e6, side: "target", tokens: 4 },
    verified({
      start: 28e6,
      end: 30e6,
      position: 0,
      proposals: 0,
      accepted: 0,
      committed: [7],
      texts: ["The"],
    }),
    ...[proposed(1, 0, "sky"), proposed(1, 1, "blue"), proposed(1, 2, "sea")],
    ...[proposed(2, 0, "is"), proposed(2, 1, "air", 1), proposed(3, 0, "blue"), proposed(3, 1, "waves", 1)],
    { kind: "verify_started", t: 40e6, branch: 0, position: 1, tokens: [110, 120, 130], others: 4 },
    verified({
      ...{ start: 40e6, end: 90e6, position: 1, proposals: 3, accepted: 2, path: [1, 1] },
      ...{ committed: [111, 121, 9], texts: [" blue", " air", " scatters"], extra: "correction" },
      probabilities: [0.5, 0.6, 0.7],
    }),
    ...[dropped(1, 0, "rejected"), dropped(1, 2, "rejected"), dropped(2, 0, "never_judged")],
    ...[dropped(3, 0, "never_judged"), dropped(3, 1, "rejected")],
    { kind: "finished", t: 120e6, tokens: 4, reason: "length" },
  ];
  return [header, ...events].map((each) => JSON.stringify(each)).join("\n");
}

function verified(fields) {
  return { kind: "verified", branch: 0, extra: "plain", ...fields };
}
