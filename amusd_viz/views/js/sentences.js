// Every sentence and word on screen, with named slots, so that they can be translated in one place.

export const SENTENCES = {
  method_amusd: "AMUSD",
  method_synchronous: "synchronous",
  method_autoregressive: "autoregressive",
  measured: "MEASURED",
  simulated: "SIMULATED",

  // (A): one sentence a step
  start: "The models read the prompt. Nothing is written yet.",
  failedDraft: "{run}: the draft failed ({what}). The target goes on alone.",
  failedTarget: "{run}: the target failed ({what}). The run ends here.",
  windowTaken_one: "{run}: the target begins to judge one proposal, {tokens}.",
  windowTaken_many: "{run}: the target begins to judge {count} proposals, {tokens}.",
  windowTaken_none: "{run}: the target takes a step of its own, without proposals.",
  rejectedDead: "{run}: the target rejected {rejected} and committed {committed}. The draft does not know yet; it still works on a dead branch.",
  rejectedIdle: "{run}: the target rejected {rejected} and committed {committed}. The draft does not know yet; it stands still.",
  contradictedDead: "{run}: the target committed {committed} where the draft believes {rejected}. The draft does not know yet; it still works on a dead branch.",
  contradictedIdle: "{run}: the target committed {committed} where the draft believes {rejected}. The draft does not know yet; it stands still.",
  verdictFirst: "{run}: the target read the prompt and committed the first token, {committed}.",
  verdictPlain: "{run}: the target committed {committed} by itself.",
  verdictBonus_one: "{run}: the target accepted {accepted} and added a bonus token, {committed}.",
  verdictBonus_many: "{run}: the target accepted {count} proposals, {accepted}, and added a bonus token, {committed}.",
  verdictCorrection: "{run}: the target rejected {rejected} and committed {committed}.",
  verdictCut: "{run}: the target accepted {accepted}; the output ends here.",
  carriedOn: "{run}: the draft hears that {known} tokens are committed. It agrees and carries on.",
  fastForwarded_one: "{run}: the draft hears of {tokens}, which it had not drafted, and takes it over.",
  fastForwarded_many: "{run}: the draft hears of {count} tokens it had not drafted, and takes them over.",
  rolledBack_one: "{run}: the draft hears of {committed}. It discards {discarded} and starts branch {branch}.",
  rolledBack_many: "{run}: the draft hears of {committed}. It discards {count} tokens, {discarded}, and starts branch {branch}.",
  waitBegins_draft: "{run}: the draft stands still: {reason}.",
  waitBegins_target: "{run}: the target stands still: {reason}.",
  waitEnds_draft: "{run}: the draft goes on.",
  waitEnds_target: "{run}: the target goes on.",
  finished: "{run}: the run ends after {count} tokens: {reason}.",

  // why a device stands still, and why a run ended
  wait_proposals: "waits for the draft",
  wait_run_ahead_limit: "is as far ahead as it may be",
  wait_turn: "waits for the target",
  wait_first_commit: "waits for the first token",
  wait_end_token: "has proposed an end",
  wait_length_limit: "has drafted to the end",
  finish_end_token: "an end token",
  finish_length: "the length limit",
  finish_stop_condition: "a stop condition",
  finish_stop_request: "it was stopped",

  // rows and lanes
  target: "target",
  draft: "draft",
  position: "position",
  committedCount: "{count} committed",
  committedShort: "{count}",
  lead: "+{count}",
  knows: "knows {count}",
  draftFailed: "failed",
  judging: "judging",
  deadBranch: "dead branch {branch}",
  discarded_one: "discarded",
  discarded_many: "discarded",
  onItsWay: "on its way",
  prompt: "prompt",
  clock: "{ms} ms",
  time: "ms",
  ahead: "+{count} more",
  alone: "works alone",
  noPrompt: "(no prompt recorded)",

  // fates
  fate_accepted: "accepted: the target's own choice was the same token",
  fate_rejected: "rejected: the target chose another token",
  fate_after_mismatch: "after the mismatch: it stood behind the rejected token",
  fate_never_judged: "never judged: its branch died first",
  fate_contradicted: "contradicted: the bonus token committed here was another",
  fate_too_late: "too late: it arrived after its branch was dead",
  fate_overtaken: "overtaken: the target had committed the same token already",
  fate_unfinished: "unfinished: the run ended first",
  fate_doomed: "on a dead branch: the draft does not know yet",
  fate_pending: "not judged yet",
  fate_window: "being judged now",

  // controls
  controls: "Controls",
  word_play: "play",
  word_pause: "pause",
  word_step: "step",
  word_rollback: "rollback",
  word_race: "Race",
  button_play: "Play (space)",
  button_pause: "Pause (space)",
  button_next: "Next beat (→); shift: next event",
  button_previous: "Back (←)",
  button_nextRollback: "Next rollback (R)",
  button_previousRollback: "Previous rollback (shift+R)",
  button_faster: "Twice as fast (+)",
  button_slower: "Half as fast (-)",
  button_race: "Race: play at true speed",
  speed_title: "How much slower than the run itself",
  pace_true: "true speed",
  pace_slowed: "slowed {times}×",
  pace_fast: "sped up {times}×",
  scrubber: "Playhead",
  scrubberValue: "{ms} ms of {end} ms. {sentence}",
  theater: "Theater: {runs}",

  // problems
  notATrace: "{name} is not a trace: its first line is no header of a run. Traces are made by: amusd-viz decode PROMPT --trace FILE",
  newerTrace: "{name} has schema {schema}; this viewer reads up to {known}. Upgrade amusd-viz to open it.",
  notAnEvent: "{name} cannot be opened: line {line} is no event.",
  nothing: "There is no run to show yet.",
};

// The sentence of that name with its {slots} filled; an empty string if there is none.
export function say(name, slots = {}) {
  const sentence = Object.hasOwn(SENTENCES, name) ? SENTENCES[name] : "";
  return sentence.replace(/\{(\w+)\}/g, (_, slot) => String(slots[slot] ?? ""));
}

// As `say`, with the form for one or for many: name_one, name_many.
export function sayMany(name, count, slots = {}) {
  return say(`${name}_${count === 1 ? "one" : "many"}`, { count, ...slots });
}
