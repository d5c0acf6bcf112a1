// A run that is still going: its events arrive in batches, which may repeat or come too early.

import { readEvents } from "./read.js";

export class Arrivals {
  // ask(place, have): called when a batch is missing; `have` events are here.
  constructor(ask) {
    this.ask = ask;
    this.forget();
  }

  forget() {
    this.counts = new Map();
    this.waiting = new Map();
  }

  // {run, from, lines}: keeps what is new of it until it is collected.
  take({ run, from, lines }) {
    const have = this.counts.get(run) ?? 0;
    if (from > have) {
      this.ask(run, have);
      return;
    }
    const fresh = readEvents(lines).slice(have - from);
    this.counts.set(run, have + fresh.length);
    this.waiting.set(run, [...(this.waiting.get(run) ?? []), ...fresh]);
  }

  // -> [[place, events]]: everything that came since the last call.
  collect() {
    const fresh = [...this.waiting].filter(([, events]) => events.length);
    this.waiting = new Map();
    return fresh;
  }
}
