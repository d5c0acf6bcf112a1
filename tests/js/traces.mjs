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
