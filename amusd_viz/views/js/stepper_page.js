// The stepper on a page without a kernel: every state and every press was worked out beforehand.

import { Stepper } from "./stepper.js";

export async function unpackGraph(packed) {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(plain).text());
}

export function mountStepper(host, fixed, graph) {
  const driver = new GraphDriver(fixed, graph);
  driver.stepper = new Stepper(host, driver);
  return driver.stepper;
}

class GraphDriver {
  constructor(fixed, graph) {
    this.fixed = fixed;
    this.graph = graph;
    this.path = [{ state: 0, sentence: 0, wasted: 0 }];
  }

  get view() {
    const { state, sentence, wasted } = this.path[this.path.length - 1];
    const view = { sentence: this.graph.sentences[sentence], wasted, canUndo: this.path.length > 1 };
    this.graph.names.forEach((name, i) => {
      view[name] = this.graph.parts[i][this.graph.states[state][0][i]];
    });
    return view;
  }

  press(action) {
    const here = this.path[this.path.length - 1];
    const edge = this.graph.states[here.state][1][this.graph.actions.indexOf(action)];
    if (edge) this.path.push({ state: edge[0], sentence: edge[1], wasted: here.wasted + edge[2] });
    this.stepper.show();
  }

  undo() {
    if (this.path.length > 1) this.path.pop();
    this.stepper.show();
  }
}
