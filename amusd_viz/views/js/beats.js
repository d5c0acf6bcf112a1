// The moments worth stopping at, and the sentence that belongs to any moment.

import { say, sayMany } from "./sentences.js";
import { believedAt, stateAt } from "./state.js";
import { shown } from "./measure.js";
import { atOf } from "./read.js";
import { branchIn, lastNotAfter } from "./run.js";

// All beats of one run in order: {t, run, kind, event}.
function beatsOf(run) {
  if (run.beats) return run.beats;
  const beats = [];
  const add = (t, kind, event) => beats.push({ t, run: run.number, kind, event });
  for (const event of run.trace.events) {
    if (event.kind === "verify_started") add(event.t, "window", event);
    else if (event.kind === "verified" && !event.open) add(event.end, "verdict", event);
    else if (event.kind === "carried_on") add(event.t, "carriedOn", event);
    else if (event.kind === "fast_forwarded") add(event.t, "fastForwarded", event);
    else if (event.kind === "rolled_back") add(event.t, "rolledBack", event);
    else if (event.kind === "failed") add(event.t, "failed", event);
    else if (event.kind === "finished") add(event.t, "finished", event);
    else if (event.kind === "waited") {
      add(event.start, "waitBegins", event);
      if (!event.open) add(event.end, "waitEnds", event);
    }
  }
  run.beats = beats.sort((a, b) => a.t - b.t || WEIGHT[a.kind] - WEIGHT[b.kind]);
  run.beatTimes = run.beats.map((beat) => beat.t);
  return run.beats;
}

// What is said when several things happen at one moment: the last of these.
const WEIGHT = Object.fromEntries(
  [
    "waitEnds",
    "waitBegins",
    "window",
    "carriedOn",
    "fastForwarded",
    "verdict",
    "rolledBack",
    "failed",
    "finished",
  ].map((kind, i) => [kind, i]),
);

// The times to stop at, ascending: beats of all runs or of one, or every event.
export function stopsOf(runs, { pinned = null, every = false } = {}) {
  const times = new Set([0]);
  for (const run of runs) {
    if (pinned !== null && run.number !== pinned) continue;
    if (every) {
      for (const event of run.trace.events) {
        if (Number.isFinite(atOf(event))) times.add(atOf(event));
      }
    } else for (const beat of beatsOf(run)) times.add(beat.t);
  }
  return [...times].sort((a, b) => a - b);
}

// The moments at which a draft is about to roll back and does not know: one per rollback.
export function rollbackMoments(runs, pinned = null) {
  const watched = runs.filter((run) => pinned === null || run.number === pinned);
  return watched.flatMap(momentsOf).sort((a, b) => a.t - b.t);
}

function momentsOf(run) {
  run.moments ??= [...run.deathOf.values()].map((death) => {
    const until = death.heard ?? run.end;
    return { t: Math.round(death.since + (until - death.since) / 2), run: run.number, death };
  });
  return run.moments;
}

// Where a theater opens: the first rollback that caught a draft at work, else the first, else the end.
export function openingMoment(runs) {
  const moments = rollbackMoments(runs);
  const atWork = moments.find(({ t, run, death }) => {
    return t > death.since && stateAt(runs[run], t).draft?.kind === "proposed";
  });
  return (atWork ?? moments[0])?.t ?? Math.max(0, ...runs.map((run) => run.end));
}

// "rollback 2", "start", "end", "192 ms", or a number of ns -> ns; null if it means nothing.
export function momentOf(runs, at) {
  if (at === null || at === undefined || at === "") return openingMoment(runs);
  if (typeof at === "number") return Math.max(0, at);
  const text = String(at).trim();
  if (text === "start") return 0;
  if (text === "end") return Math.max(0, ...runs.map((run) => run.end));
  const rollback = /^rollback (\d+)$/.exec(text);
  if (rollback) return rollbackMoments(runs)[Number(rollback[1]) - 1]?.t ?? null;
  const time = /^([\d.]+) ?(ms|s)$/.exec(text);
  return time ? Math.round(Number(time[1]) * (time[2] === "s" ? 1e9 : 1e6)) : null;
}

// (A): the sentence of a moment. A dead branch whose draft does not know it outranks everything.
export function sentenceAt(runs, t, pinned = null) {
  const watched = runs.filter((run) => pinned === null || run.number === pinned);
  const dying = watched
    .map((run) => ({ run, state: stateAt(run, t) }))
    .filter(({ state }) => state.death && !state.finished)
    .sort((a, b) => b.state.death.since - a.state.death.since)[0];
  if (dying) return deathSentence(dying.run, dying.state);
  const latest = watched
    .map((run) => beatsOf(run)[lastNotAfter(run.beatTimes, t)])
    .filter(Boolean)
    .sort((a, b) => b.t - a.t || WEIGHT[b.kind] - WEIGHT[a.kind])[0];
  return latest
    ? SAY[latest.kind](
        runs.find((run) => run.number === latest.run),
        latest.event,
      )
    : say("start");
}

function deathSentence(run, state) {
  const { death } = state;
  const believed = believedAt(run, death.position, state.t);
  const slots = {
    run: run.label,
    rejected: quoted(believed?.text ?? ""),
    committed: quoted(run.commits[death.position].text),
  };
  const what = death.cause === "correction" ? "rejected" : "contradicted";
  // A speculator's heads live in the target's process: no message, and no work on what is dead.
  if (run.header.method === "speculator") return say(`${what}Heads`, slots);
  return say(what + (state.draft?.kind === "waited" ? "Idle" : "Dead"), slots);
}

const SAY = {
  window(run, event) {
    const tokens = event.tokens ?? [];
    if (!tokens.length) return say("windowTaken_none", { run: run.label });
    const texts = tokens.map((token, i) => {
      const position = event.position + i;
      return textAt(run, branchIn(event, position), position, token);
    });
    if (event.own) {
      const how = event.own === tokens.length ? "windowTaken_own" : "windowTaken_mixed";
      const slots = { run: run.label, tokens: listed(texts), own: listed(texts.slice(-event.own)) };
      return say(how, slots);
    }
    if (event.others)
      return say("windowTaken_tree", { run: run.label, tokens: listed(texts), others: event.others });
    return sayMany("windowTaken", tokens.length, { run: run.label, tokens: listed(texts) });
  },
  verdict(run, event) {
    const texts = event.committed.map((_, i) => run.commits[event.position + i]?.text ?? "");
    const slots = {
      run: run.label,
      accepted: listed(texts.slice(0, event.accepted)),
      committed: quoted(texts[texts.length - 1] ?? ""),
    };
    if (event.extra === "correction") {
      const position = event.position + event.accepted;
      slots.rejected = quoted(textAt(run, branchIn(event, position), position, null));
      return say("verdictCorrection", slots);
    }
    if (event.extra === "bonus") return sayMany("verdictBonus", event.accepted, slots);
    if (event.extra === "none") return say("verdictCut", slots);
    return say(event.position === 0 ? "verdictFirst" : "verdictPlain", slots);
  },
  carriedOn: (run, event) => say("carriedOn", { run: run.label, known: event.known }),
  fastForwarded(run, event) {
    const texts = event.adopted.map((_, i) => run.commits[event.position + i]?.text ?? "");
    return sayMany("fastForwarded", texts.length, { run: run.label, tokens: listed(texts) });
  },
  rolledBack(run, event) {
    const texts = event.discarded.map((token, i) => textAt(run, event.branch - 1, event.position + i, token));
    return sayMany("rolledBack", texts.length, {
      run: run.label,
      committed: quoted(run.commits[event.position]?.text ?? ""),
      discarded: listed(texts),
      branch: event.branch,
    });
  },
  waitBegins: (run, event) =>
    say(`waitBegins_${event.side}`, { run: run.label, reason: waitReason(run, event.reason) }),
  waitEnds: (run, event) => say(`waitEnds_${event.side}`, { run: run.label }),
  failed: (run, event) =>
    say(event.side === "draft" ? "failedDraft" : "failedTarget", {
      run: run.label,
      what: shown(event.what ?? ""),
    }),
  finished: (run, event) =>
    say("finished", { run: run.label, count: event.tokens, reason: say(`finish_${event.reason}`) }),
};

export function waitReason(run, reason) {
  const turns = reason === "run_ahead_limit" && run.header.method === "synchronous";
  return say(turns ? "wait_turn" : `wait_${reason}`);
}

// The same in a word or two, for where there is little room.
export function waitShort(run, reason) {
  return run.header.method === "synchronous" ? say("waits") : say(`waits_${reason}`) || say("waits");
}

function textAt(run, branch, position, token) {
  return run.proposals.get(`${branch}:${position}`)?.text ?? (token === null ? "" : `⟨${token}⟩`);
}

export function quoted(text) {
  return `“${shown(text, 24)}”`;
}

function listed(texts) {
  const most = 4;
  const some = texts.slice(0, most).map((text) => quoted(text));
  return some.join(", ") + (texts.length > most ? ", …" : "");
}
