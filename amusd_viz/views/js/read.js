// The one reader of trace files: the widget, the saved page and a dropped file all come through here.
// It tolerates kinds it does not know and refuses what is not a trace, in a sentence.

import { say } from "./sentences.js";

const SCHEMA_VERSION = 1;
const FARTHEST_POSITION = 200000;
const MOST_COMMITTED = 4096;
const MOST_CANDIDATES = 4096;

// The numbers each known kind must carry; other fields are optional for a viewer.
const NUMBERS = {
  prefill: ["start", "end"],
  proposed: ["start", "end", "branch", "position", "token"],
  received: ["t", "branch", "position"],
  dropped: ["t", "branch", "position"],
  verify_started: ["t", "branch", "position"],
  verified: ["start", "end", "branch", "position", "proposals", "accepted"],
  rolled_back: ["t", "branch", "position", "length"],
  carried_on: ["t", "known"],
  fast_forwarded: ["t", "position"],
  waited: ["start", "end"],
  finished: ["t", "tokens"],
  failed: ["t"],
};
const LISTS = { verified: ["committed"], rolled_back: ["adopted", "discarded"], fast_forwarded: ["adopted"] };
const DRAFT_KINDS = new Set(["proposed", "rolled_back", "carried_on", "fast_forwarded"]);
const SIDED = new Set(["prefill", "received", "waited", "failed"]);

export class TraceProblem extends Error {}

// Text of a trace file -> {header, events}; events sorted by the time they became known.
export function readTrace(text, name = "trace") {
  const lines = String(text).split("\n");
  const header = readHeader(lines[0], name);
  const last = lines.reduce((found, line, i) => (line.trim() ? i : found), 0);
  const events = [];
  for (let i = 1; i < lines.length; i++) {
    if (!lines[i].trim()) continue;
    const event = readLine(lines[i], i, name, i === last);
    if (event) events.push(event);
  }
  return { header, events: inOrder(events) };
}

// Lines of a live run's batch -> events, in the order they came.
export function readEvents(text, name = "live run") {
  return text
    .split("\n")
    .map((line, i) => (line.trim() ? readLine(line, i, name, false) : null))
    .filter(Boolean);
}

export function inOrder(events) {
  let last = 0;
  const keyed = events.map((event) => {
    last = NUMBERS[event.kind] ? atOf(event) : last;
    return [last, event];
  });
  return keyed.sort((a, b) => a[0] - b[0]).map((pair) => pair[1]);
}

// The moment an event is known: the end of a span, the time of anything else.
export function atOf(event) {
  return event.end ?? event.t ?? 0;
}

// Proposals of a branch below 0 are of heads on the target's side, that step in for the draft.
export function sideOf(event) {
  if (event.kind === "proposed" && event.branch < 0) return "target";
  if (SIDED.has(event.kind)) return event.side;
  return DRAFT_KINDS.has(event.kind) ? "draft" : "target";
}

function readHeader(line, name) {
  let header = null;
  try {
    header = JSON.parse(line);
  } catch {
    throw new TraceProblem(say("notATrace", { name }));
  }
  if (!header || header.kind !== "header") throw new TraceProblem(say("notATrace", { name }));
  if (header.schema > SCHEMA_VERSION) {
    throw new TraceProblem(say("newerTrace", { name, schema: header.schema, known: SCHEMA_VERSION }));
  }
  if (typeof header.method !== "string" || !["measured", "simulated"].includes(header.source)) {
    throw new TraceProblem(say("notATrace", { name }));
  }
  return header;
}

function readLine(line, index, name, isLast) {
  let event = null;
  try {
    event = JSON.parse(line);
  } catch {
    if (isLast) return null;
    throw new TraceProblem(say("notAnEvent", { name, line: index + 1 }));
  }
  if (!event || typeof event.kind !== "string") {
    throw new TraceProblem(say("notAnEvent", { name, line: index + 1 }));
  }
  if (NUMBERS[event.kind] && !isSound(event)) {
    throw new TraceProblem(say("notAnEvent", { name, line: index + 1 }));
  }
  return event;
}

function isSound(event) {
  const counts = NUMBERS[event.kind].every((field) => Number.isInteger(event[field]));
  const lists = (LISTS[event.kind] ?? []).every(
    (field) => Array.isArray(event[field]) && event[field].length <= MOST_COMMITTED,
  );
  const texts = ["text", "what", "reason"].every((field) => typeof (event[field] ?? "") === "string");
  const inRange = (event.position ?? 0) >= 0 && (event.position ?? 0) <= FARTHEST_POSITION;
  const inTree = [event.candidate ?? 0, event.parent ?? 0].every(
    (each) => Number.isInteger(each) && each >= 0 && each < MOST_CANDIDATES,
  );
  const sided = !SIDED.has(event.kind) || event.side === "draft" || event.side === "target";
  const forward = event.start === undefined || (event.start >= 0 && event.end >= event.start);
  return counts && lists && texts && inRange && inTree && sided && forward;
}
