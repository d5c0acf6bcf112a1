// All words of the lab, so that they can be translated.

const labPercent = (value) => `${Math.round(100 * value)} %`;
const labSteps = (value) => `${value} target step${value === 1 ? "" : "s"}`;

export const LAB_WORDS = {
  lab: "Lab: when does asynchrony win?",
  simulated: "SIMULATED",
  advanced: "Advanced",
  presets: "Start from…",
  settings: {
    acceptance: "Acceptance",
    ratio: "Draft / target time",
    latency: "Message latency",
    wait: "Wait (AMUSD)",
    slope: "Cost of a proposal",
    tensor_parallel: "Target on both devices",
    run_ahead: "Run-ahead",
    jitter: "Jitter",
    lookahead: "Lookahead (synchronous)",
  },
  help: {
    acceptance: "How often the draft's token is the one the target chooses.",
    ratio: "How long a draft step takes, in target steps.",
    latency: "How long AMUSD's messages travel, both ways together. Synchronous decoding runs on one device.",
    wait: "How many proposals AMUSD's target waits for before it verifies.",
    slope: "What each proposal of a window adds to the time of a target pass.",
    tensor_parallel: "Equal hardware: how many times faster the synchronous target is when it has both devices.",
    run_ahead: "How far AMUSD's draft may be past the last commit it knows.",
    jitter: "How much steps and passes vary: their standard deviation, as a share.",
    lookahead: "How many proposals a synchronous round drafts.",
  },
  value(name, value) {
    if (name === "acceptance" || name === "jitter" || name === "slope") return `${Math.round(1000 * value) / 10} %`;
    if (name === "latency") return labSteps(value);
    if (name === "wait") return value ? `${value} proposal${value === 1 ? "" : "s"}` : "never waits";
    if (name === "lookahead") return value ? `${value} proposal${value === 1 ? "" : "s"}` : "the best";
    if (name === "tensor_parallel") return value > 1 ? `${value} times faster` : "no";
    if (name === "run_ahead") return `${value} tokens`;
    return String(value);
  },
  method(method, setting) {
    const names = { plain: "plain decoding", synchronous: "synchronous", amusd: "AMUSD" };
    return setting ? `${names[method]}, ${setting}` : names[method];
  },
  point({ label, acceptance, ratio, gain }, index) {
    const measured = gain ? `: AMUSD ${gain.toFixed(2)} times synchronous` : "";
    return `${pointLetter(index)} ${label} (acceptance ${labPercent(acceptance)}, ratio ${ratio.toFixed(2)})${measured}`;
  },
  map: "Gain of AMUSD over the best of synchronous and plain decoding, by acceptance and time ratio",
  mapTitle: "AMUSD over the best of synchronous and plain decoding",
  xAxis: "draft / target time",
  yAxis: "acceptance",
  equal: "1.0",
  here: "here",
  cell: (acceptance, ratio, gain) => `acceptance ${labPercent(acceptance)}, ratio ${ratio.toFixed(2)}: ${gain.toFixed(2)} times`,
};

export function pointLetter(index) {
  return String.fromCharCode(65 + (index % 26));
}
