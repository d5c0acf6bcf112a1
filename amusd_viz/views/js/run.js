// A trace made ready for questions about any moment: what was committed, believed, known by then.
// Everything here is stored with the time it became known, so that no answer can look ahead.

import { atOf, readTrace, sideOf } from "./read.js";
import { say } from "./sentences.js";

// Of a proposal: further candidates of a position (of a tree) have a third part.
export const keyOf = (branch, position, candidate = 0) =>
  candidate ? `${branch}:${position}:${candidate}` : `${branch}:${position}`;

// A growing list of (time, value), asked for the last value not later than a time.
class Steps {
  constructor(initial) {
    this.initial = initial;
    this.times = [];
    this.values = [];
  }
  push(at, value) {
    this.times.push(at);
    this.values.push(value);
  }
  countAt(t) {
    return lastNotAfter(this.times, t) + 1;
  }
  at(t) {
    const i = lastNotAfter(this.times, t);
    return i < 0 ? this.initial : this.values[i];
  }
}

export function lastNotAfter(times, t) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// {header, events} -> run. `number` is its place on the stage, 0 at the top.
export function indexRun(trace, number = 0) {
  const run = emptyRun(trace, number);
  for (const event of trace.events) {
    TAKE[event.kind]?.(run, event);
    if (event.start !== undefined && event.end > event.start) {
      run.spans[sideOf(event)].push(event);
    }
    if (!event.open) run.end = Math.max(run.end, atOf(event));
  }
  for (const side of ["draft", "target"]) {
    run.spans[side].sort((a, b) => a.start - b.start);
    run.spanStarts[side] = run.spans[side].map((span) => span.start);
  }
  if (run.finished) run.end = run.finished.t;
  run.step = typicalStep(run);
  return run;
}

export function readRun(text, number = 0, name = "trace") {
  return indexRun(readTrace(text, name), number);
}

function emptyRun(trace, number) {
  const { header } = trace;
  return {
    number,
    trace,
    header,
    label: say(`method_${header.method}`) || header.method,
    hasDraft: header.method !== "autoregressive" && Boolean(header.draft ?? true),
    commits: [], // one per output token
    committed: new Steps(0),
    verdicts: [],
    verdictTimes: new Steps(null),
    windows: new Steps(null),
    proposals: new Map(),
    proposed: [], // the main chain
    candidates: [], // the others of trees
    heads: [], // those of heads that step in for the draft
    breadth: 0, // most of them at one position
    writes: [], // per position: Steps of what the draft believes there
    length: new Steps(0),
    known: new Steps(0),
    hearingTimes: new Steps(null),
    deaths: new Steps(null), // the branch that is dead without its draft knowing, or null
    deathOf: new Map(), // by branch; a branch dies once
    rollbacks: [],
    drops: new Map(),
    arrivals: new Map(),
    waits: [],
    spans: { draft: [], target: [] },
    spanStarts: { draft: [], target: [] },
    finished: null,
    failures: [],
    branch: 0,
    step: 0,
    end: 0,
  };
}

const TAKE = {
  proposed(run, event) {
    if (event.open) return;
    const proposal = event.text ? event : { ...event, text: textOf("", event.token) };
    run.proposals.set(keyOf(event.branch, event.position, event.candidate), proposal);
    if (event.branch < 0) {
      run.heads.push(proposal);
      return;
    }
    if (event.candidate) {
      run.candidates.push(proposal);
      run.breadth = Math.max(run.breadth, event.candidate);
      return;
    }
    run.proposed.push(proposal);
    write(run, event.position, event.end, proposal);
    run.length.push(event.end, event.position + 1);
    const commit = run.commits[event.position];
    if (commit && commit.token !== event.token && !currentDeath(run)) {
      die(run, event.branch, event.position, event.end, commit.verdict);
    }
  },
  received(run, event) {
    if (event.side === "target") run.arrivals.set(keyOf(event.branch, event.position), event.t);
    else run.known.push(event.t, Math.min(event.position + (event.count ?? 1), run.commits.length));
  },
  dropped(run, event) {
    run.drops.set(keyOf(event.branch, event.position, event.candidate), { at: event.t, fate: event.fate });
  },
  verify_started(run, event) {
    run.windows.push(event.t, event);
  },
  verified(run, event) {
    if (event.open) return;
    run.verdicts.push(event);
    run.verdictTimes.push(event.end, event);
    event.committed.forEach((token, i) => commit(run, event, token, i));
    run.committed.push(event.end, run.commits.length);
    lookForDeath(run, event);
  },
  rolled_back(run, event) {
    run.hearingTimes.push(event.t, event);
    event.adopted.forEach((token, i) => adopt(run, event.position + i, token, event.t));
    run.length.push(event.t, event.position + event.adopted.length);
    const death = currentDeath(run);
    if (death) death.heard = event.t;
    run.rollbacks.push({ t: event.t, branch: event.branch, death });
    run.branch = event.branch;
    run.deaths.push(event.t, null);
  },
  carried_on(run, event) {
    run.hearingTimes.push(event.t, event);
  },
  fast_forwarded(run, event) {
    run.hearingTimes.push(event.t, event);
    event.adopted.forEach((token, i) => adopt(run, event.position + i, token, event.t));
    run.length.push(event.t, event.position + event.adopted.length);
  },
  waited(run, event) {
    run.waits.push(event);
  },
  finished(run, event) {
    run.finished = event;
  },
  failed(run, event) {
    run.failures.push(event);
  },
};

function textOf(text, token) {
  return text || `⟨${token}⟩`;
}

// The branch of what a window, or its verdict, holds at a position: the last ones may be the heads'.
export function branchIn(window, position) {
  const size = window.proposals ?? sizeOf(window);
  const drafted = size - (window.own ?? 0);
  return window.own && position - window.position >= drafted ? window.chain : window.branch;
}

// How many proposals a verification looks at.
export function sizeOf(window) {
  return window.tokens?.length ?? 0;
}

function commit(run, verdict, token, offset) {
  const position = verdict.position + offset;
  if (position !== run.commits.length) return;
  const how = offset < verdict.accepted ? "accepted" : (verdict.extra ?? "none");
  const text = textOf(verdict.texts?.[offset], token);
  run.commits.push({ position, token, text, at: verdict.end, how, verdict });
}

function write(run, position, at, entry) {
  (run.writes[position] ??= new Steps(null)).push(at, entry);
}

function adopt(run, position, token, at) {
  const text = run.commits[position]?.text ?? textOf("", token);
  write(run, position, at, { token, text, at, adopted: true, position });
}

function currentDeath(run) {
  return run.deaths.values[run.deaths.values.length - 1] ?? null;
}

// A branch is dead from the moment the target has committed another token than the draft believes.
function lookForDeath(run, verdict) {
  if (currentDeath(run)) return;
  const length = run.length.at(verdict.end);
  for (let p = verdict.position; p < Math.min(length, run.commits.length); p++) {
    const believed = run.writes[p]?.at(verdict.end);
    if (believed && !believed.adopted && believed.token !== run.commits[p].token) {
      die(run, believed.branch, p, verdict.end, verdict);
      return;
    }
  }
}

function die(run, branch, position, since, verdict) {
  const { how } = run.commits[position];
  const cause = how === "correction" && branchIn(verdict, position) >= 0 ? how : "contradicted";
  const death = { run: run.number, branch, position, since, verdict, cause, heard: null };
  run.deaths.push(since, death);
  run.deathOf.set(branch, death);
}

// The death, known by t, that dooms a proposal; null if it is not doomed by then.
export function doomOf(run, branch, position, t) {
  const death = run.deathOf.get(branch);
  return death && death.since <= t && death.position <= position ? death : null;
}

// Median of the first steps: stable while a live run grows.
function typicalStep(run) {
  const spans = run.proposed.length ? run.proposed : run.verdicts.filter((v) => v.end > v.start);
  const first = spans.slice(0, 8).map((p) => p.end - p.start);
  first.sort((a, b) => a - b);
  return Math.max(1, first[first.length >> 1] ?? 20e6);
}

// What of a trace is known at t. Spans in progress keep their beginning and lose their outcome.
export function knownAt(trace, t) {
  const events = [];
  for (const event of trace.events) {
    const at = event.end ?? event.t;
    if (at === undefined) continue;
    if (at <= t) events.push(event);
    else if (event.start !== undefined && event.start <= t) events.push(opened(event));
  }
  return { header: trace.header, events };
}

function opened(event) {
  const open = { kind: event.kind, start: event.start, end: Infinity, open: true };
  if (event.side) open.side = event.side;
  if (event.kind === "proposed" || event.kind === "verified") {
    open.branch = event.branch;
    open.position = event.position;
  }
  if (event.kind === "waited") open.reason = event.reason;
  return open;
}
