// What is true at a moment: a function of the run and the time, and of nothing else.
// Nothing later than the time is looked at, except the beginning of work that is in progress.

import { branchIn, doomOf, keyOf, lastNotAfter, sizeOf } from "./run.js";

// -> plain data about one run at `t` (ns).
export function stateAt(run, t) {
  const verdict = run.verdictTimes.at(t);
  const window = run.windows.at(t);
  const hearing = run.hearingTimes.at(t);
  const death = run.deaths.at(t);
  const committed = run.committed.at(t);
  const known = run.known.at(t);
  const length = run.length.at(t);
  return {
    t,
    committed,
    known,
    length,
    verdict,
    window: window && !(verdict && verdict.end >= window.t && verdict.start === window.t) ? window : null,
    death,
    hearing,
    graveyard: graveyardAt(run, verdict, hearing),
    draft: doingAt(run, "draft", t),
    target: doingAt(run, "target", t),
    draftFailed: failedAt(run, "draft", t),
    targetFailed: failedAt(run, "target", t),
    finished: run.finished && run.finished.t <= t ? run.finished : null,
    ended: t >= run.end,
  };
}

// What the draft believes at a position: {token, text, branch?, adopted?}, or null beyond its length.
export function believedAt(run, position, t) {
  if (position >= run.length.at(t)) return null;
  return run.writes[position]?.at(t) ?? null;
}

// The fate of a proposal as known at t.
export function fateAt(run, branch, position, t, candidate = 0) {
  const commit = run.commits[position];
  const accepted = commit?.how === "accepted" && branchIn(commit.verdict, position) === branch;
  if (accepted && commit.at <= t && chosenIn(commit.verdict, position, candidate)) return "accepted";
  const drop = run.drops.get(keyOf(branch, position, candidate));
  const over = run.finished && run.finished.t <= t;
  if (drop && (drop.at <= t || over)) return drop.fate;
  if (over) return "unfinished";
  if (doomOf(run, branch, position, t)) return "doomed";
  const { window } = stateAt(run, t);
  const inWindow =
    window &&
    position >= window.position &&
    position < window.position + sizeOf(window) &&
    branchIn(window, position) === branch;
  return inWindow ? "window" : "pending";
}

// Whether the target went through this candidate; without a path, through the first of each position.
export function chosenIn(verdict, position, candidate) {
  const index = position - verdict.position;
  return index >= 0 && index < verdict.accepted && (verdict.path?.[index] ?? 0) === candidate;
}

// The further candidates (of a tree) at t: those drafted for the next window, those of the window being
// judged, or those just judged. -> {window, judged, candidates}
export function candidatesAt(run, state, t) {
  const of = (branch, from, to = Infinity) =>
    run.candidates.filter(
      (each) => each.end <= t && each.branch === branch && each.position >= from && each.position < to,
    );
  if (state.window) {
    const { branch, position } = state.window;
    return { window: state.window, judged: false, candidates: of(branch, position) };
  }
  const next = of(run.proposed.findLast((each) => each.end <= t)?.branch, state.committed);
  if (next.length || !state.verdict?.proposals) return { window: null, judged: false, candidates: next };
  const { branch, position, proposals } = state.verdict;
  return { window: state.verdict, judged: true, candidates: of(branch, position, position + proposals) };
}

// What the heads that step in for the draft proposed last, as known at t: for the next window, in the
// window being judged, or in the one just judged. -> {window, judged, proposals}
export function headsAt(run, state, t) {
  const chain = run.heads.findLast((each) => each.end <= t)?.branch;
  const proposals = run.heads.filter((each) => each.branch === chain && each.end <= t);
  const holds = (window) => Boolean(window?.own) && window.chain === chain;
  if (holds(state.window)) return { window: state.window, judged: false, proposals };
  if (holds(state.verdict)) return { window: state.verdict, judged: true, proposals };
  return { window: null, judged: false, proposals: proposals.filter((p) => p.position >= state.committed) };
}

// What a device is doing at t: the span around t, without its outcome; null if nothing is recorded.
function doingAt(run, side, t) {
  const i = lastNotAfter(run.spanStarts[side], t);
  const span = i < 0 ? null : run.spans[side][i];
  if (!span || span.end <= t) return null;
  return {
    kind: span.kind,
    start: span.start,
    reason: span.kind === "waited" ? span.reason : undefined,
    branch: span.kind === "proposed" ? span.branch : undefined,
    position: span.kind === "proposed" ? span.position : undefined,
  };
}

// The tokens of the newest rollback stay in view until the next verdict.
function graveyardAt(run, verdict, hearing) {
  if (hearing?.kind !== "rolled_back" || (verdict && verdict.end > hearing.t)) return null;
  const branch = hearing.branch - 1;
  const proposals = hearing.discarded.map((token, i) => ({
    position: hearing.position + i,
    branch,
    token,
    text: run.proposals.get(keyOf(branch, hearing.position + i))?.text ?? `⟨${token}⟩`,
  }));
  return { branch, since: hearing.t, proposals };
}

function failedAt(run, side, t) {
  return run.failures.find((failure) => failure.side === side && failure.t <= t) ?? null;
}
