// A run that is still going: its events arrive in batches, which may repeat or come too early.

import { readEvents } from "./read.js";

export class Arrivals {
  // ask(place, have): called when a batch is missing; `have` events are here.
  constructor(ask) {
    this.ask = ask;
    this.counts = new Map();
  }

  // {run, from, lines} -> the events of it that are new, in order.
  take({ run, from, lines }) {
    const have = this.counts.get(run) ?? 0;
    if (from > have) {
      this.ask(run, have);
      return [];
    }
    const fresh = readEvents(lines).slice(have - from);
    this.counts.set(run, have + fresh.length);
    return fresh;
  }

  forget() {
    this.counts.clear();
  }
}
