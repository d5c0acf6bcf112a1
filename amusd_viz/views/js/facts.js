// What is known about one token, window or run at a moment: plain data for cards and tables.

import { branchIn, doomOf, keyOf, sizeOf } from "./run.js";
import { atOf, sideOf } from "./read.js";
import { chosenIn, fateAt } from "./state.js";
import { quoted } from "./beats.js";
import { shown } from "./measure.js";
import { say } from "./sentences.js";

// id: "run:branch:position" (a proposal), "run:c:position" (committed), "run:w:position" (a window).
// -> {title, rows: [[name, value]], more, best} or null if nothing is known of it at t.
export function factsOf(runs, id, t) {
  const [number, what, place, candidate] = id.split(":");
  const run = runs.find((each) => each.number === Number(number));
  const position = Number(place);
  if (!run) return null;
  if (what === "w") return windowFacts(run, position, t);
  if (what === "c") return commitFacts(run, position, t);
  return proposalFacts(run, Number(what), position, t, Number(candidate ?? 0));
}

function proposalFacts(run, branch, position, t, candidate) {
  const proposal = run.proposals.get(keyOf(branch, position, candidate));
  if (!proposal || proposal.end > t) return null;
  const verdict = judgingVerdict(run, branch, position, t);
  const index = verdict ? position - verdict.position : -1;
  const arrived = run.arrivals.get(keyOf(branch, position));
  const rows = [
    [say(branch < 0 ? "fact_headProbability" : "fact_draftProbability"), percent(proposal.probability)],
    [say("fact_targetProbability"), percent(judgedProbability(verdict, position, candidate))],
    [say("fact_fate"), say(`fate_${fateAt(run, branch, position, t, candidate)}`)],
    [say("fact_drafted"), span(proposal.start, proposal.end)],
    [say("fact_arrived"), arrived !== undefined && arrived <= t ? ms(arrived) : ""],
    [say("fact_judged"), verdict ? ms(verdict.end) : ""],
  ];
  return {
    title: say("card_proposal", { text: quoted(proposal.text), position }),
    rows: rows.filter(([, value]) => value),
    more: [
      [say("fact_branch"), branch < 0 ? "" : String(branch)],
      [say("fact_candidate"), candidate ? String(candidate) : ""],
      [say("fact_head"), typeof proposal.head === "number" ? String(proposal.head) : ""],
      [say("fact_drafter"), proposal.drafter === "prompt lookup" ? say("drafter_lookup") : ""],
      [say("fact_token"), String(proposal.token)],
      [say("fact_unsure"), proposal.unsure ? say("yes") : ""],
    ].filter(([, value]) => value),
    best: bestOf(proposal.alternatives, verdict?.alternatives?.[index]),
  };
}

// A verdict's probabilities are of the window's proposals; in a tree, of what was committed there.
function judgedProbability(verdict, position, candidate) {
  const inTree = verdict?.path?.length > 0;
  const told = verdict && (!inTree || chosenIn(verdict, position, candidate));
  return told ? verdict.probabilities?.[position - verdict.position] : undefined;
}

function commitFacts(run, position, t) {
  const commit = run.commits[position];
  if (!commit || commit.at > t) return null;
  const { verdict } = commit;
  const index = position - verdict.position;
  const candidate = commit.how === "accepted" ? verdict.path?.[index] : 0;
  const proposal = run.proposals.get(keyOf(branchIn(verdict, position), position, candidate));
  const drafted = proposal && proposal.end <= t ? proposal : null;
  return {
    title: say("card_commit", { text: quoted(commit.text), position }),
    rows: [
      [say("fact_how"), say(`how_${commit.how}`)],
      [
        say("fact_draftProbability"),
        drafted && drafted.token === commit.token ? percent(drafted.probability) : "",
      ],
      [
        say("fact_targetProbability"),
        commit.how === "accepted"
          ? percent(verdict.probabilities?.[index])
          : bestProbability(verdict, index, commit.token),
      ],
      [say("fact_insteadOf"), drafted && drafted.token !== commit.token ? quoted(drafted.text) : ""],
      [say("fact_committed"), ms(commit.at)],
    ].filter(([, value]) => value),
    more: [[say("fact_token"), String(commit.token)]],
    best: bestOf(drafted?.alternatives, verdict.alternatives?.[index]),
  };
}

function windowFacts(run, position, t) {
  const i = run.windows.times.findLastIndex(
    (at, k) => at <= t && run.windows.values[k].position === position,
  );
  const window = run.windows.values[i];
  if (!window) return null;
  const verdict = run.verdicts.find((v) => v.position === position && v.start === window.t && v.end <= t);
  const texts = (window.tokens ?? []).map((token, k) =>
    quoted(
      run.proposals.get(keyOf(branchIn(window, position + k), position + k))?.text ?? `⟨${token}⟩`,
    ),
  );
  const last = position + Math.max(1, sizeOf(window)) - 1;
  return {
    title: say("card_window", { from: position, to: last, count: sizeOf(window) }),
    rows: [
      [say("fact_proposals"), texts.join(" ")],
      [say("fact_own"), window.own ? String(window.own) : ""],
      [say("fact_others"), window.others ? String(window.others) : ""],
      [
        say("fact_accepted"),
        verdict ? say("ofCount", { count: verdict.accepted, all: verdict.proposals }) : say("fate_window"),
      ],
      [
        say("fact_committed"),
        verdict ? verdict.committed.map((_, k) => quoted(run.commits[position + k].text)).join(" ") : "",
      ],
      [say("fact_time"), verdict ? span(verdict.start, verdict.end) : say("since", { ms: ms(window.t) })],
    ].filter(([, value]) => value),
    more: [[say("fact_branch"), String(window.branch)]],
    best: [],
  };
}

function judgingVerdict(run, branch, position, t) {
  return run.verdicts.find(
    (v) =>
      v.end <= t &&
      position >= v.position &&
      position < v.position + v.proposals &&
      branchIn(v, position) === branch,
  );
}

function bestOf(draft, target) {
  return [
    ["draft", draft],
    ["target", target],
  ]
    .filter(([, list]) => Array.isArray(list) && list.length)
    .map(([side, list]) => ({
      side: say(side),
      candidates: list
        .slice(0, 5)
        .map(([, text, probability]) => [quoted(String(text)), percent(Number(probability))]),
    }));
}

function bestProbability(verdict, index, token) {
  const found = (verdict.alternatives?.[index] ?? []).find((candidate) => candidate[0] === token);
  return found ? percent(found[2]) : "";
}

function percent(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "";
  return value > 0 && value < 0.001 ? "< 0.1 %" : `${(100 * value).toFixed(1)} %`;
}

export function ms(ns) {
  return say("clock", { ms: (ns / 1e6).toFixed(1) });
}

function span(start, end) {
  return say("fromTo", {
    from: (start / 1e6).toFixed(1),
    to: (end / 1e6).toFixed(1),
    long: ((end - start) / 1e6).toFixed(1),
  });
}

// Totals of a run up to t: rows of [name, value].
export function scoresOf(run, t) {
  const seen = (list, at = atOf) => list.filter((each) => at(each) <= t);
  const committed = run.committed.at(t);
  const verdicts = seen(run.verdicts).filter((v) => v.proposals);
  const judged = verdicts.reduce((sum, v) => sum + v.proposals, 0);
  const accepted = verdicts.reduce((sum, v) => sum + v.accepted, 0);
  const until = Math.min(t, run.end) || 1;
  const rows = [
    [say("score_tokens"), String(committed)],
    [say("score_rate"), say("perSecond", { rate: (committed / (until / 1e9)).toFixed(1) })],
  ];
  if (!run.hasDraft) return rows;
  const doomed = seen(run.proposed).filter((p) => doomOf(run, p.branch, p.position, t)).length;
  rows.push(
    [say("score_verifications"), String(verdicts.length)],
    [say("score_accepted"), judged ? say("ofCount", { count: accepted, all: judged }) : "0"],
    [say("score_rollbacks"), String(seen(run.rollbacks).length)],
    [say("score_doomed"), say("ofCount", { count: doomed, all: seen(run.proposed).length })],
    [say("score_idleDraft"), percent(idle(run, "draft", t, until))],
    [say("score_idleTarget"), percent(idle(run, "target", t, until))],
  );
  return rows;
}

function idle(run, side, t, until) {
  const waits = run.waits.filter((wait) => wait.side === side && wait.start < t);
  return waits.reduce((sum, wait) => sum + Math.min(wait.end, t) - wait.start, 0) / until;
}

// Every event known at t as a row of words: [time, run, device, kind, details].
export function eventRows(runs, t) {
  const rows = runs.flatMap((run) => run.trace.events.map((event) => ({ run, event })));
  return rows
    .filter(({ event }) => !event.open && (event.end ?? event.t) <= t)
    .sort((a, b) => atOf(a.event) - atOf(b.event))
    .map(({ run, event }) => [
      (atOf(event) / 1e6).toFixed(2),
      run.label,
      say(sideOf(event)),
      say(`kind_${event.kind}`) || event.kind,
      details(run, event),
    ]);
}

function details(run, event) {
  const { position } = event;
  const text = (branch, p) => quoted(run.proposals.get(keyOf(branch, p))?.text ?? "");
  switch (event.kind) {
    case "proposed":
      return say(event.branch < 0 ? "row_headProposed" : "row_proposed", {
        text: quoted(event.text || `⟨${event.token}⟩`),
        position,
        branch: event.branch,
        head: event.head,
      });
    case "received":
      return say(event.side === "target" ? "row_arrived" : "row_heard", {
        position,
        branch: event.branch,
        count: event.count ?? 1,
      });
    case "dropped":
      return say("row_dropped", {
        text: text(event.branch, position),
        position,
        fate: say(`fate_${event.fate}`),
      });
    case "verify_started":
      return say("row_window", { count: (event.tokens ?? []).length, position });
    case "verified":
      return say("row_verified", {
        accepted: event.accepted,
        proposals: event.proposals,
        extra: say(`how_${event.extra}`),
      });
    case "rolled_back":
      return say("row_rolledBack", { position, count: event.discarded.length, branch: event.branch });
    case "carried_on":
      return say("row_known", { count: event.known });
    case "waited":
      return say(`wait_${event.reason}`);
    case "finished":
      return say(`finish_${event.reason}`);
    case "failed":
      return shown(event.what ?? "", 200);
    default:
      return "";
  }
}
