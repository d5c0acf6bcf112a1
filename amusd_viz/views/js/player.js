// The playhead and its clock. Paced by elapsed time, not by counting frames.

const SECONDS_A_STEP = 0.5; // default speed: one draft step lasts half a second
const REST_MS = 300; // stillness after a verdict that kills a branch, and after a rollback

export class Player {
  // onChange(t, why) is called whenever the playhead moves or playing starts or stops.
  constructor(onChange) {
    this.onChange = onChange;
    this.t = 0;
    this.end = 0;
    this.step = 20e6;
    this.pace = 1; // multiplies the default speed
    this.race = false;
    this.rests = []; // times (ns) at which to rest
    this.playing = false;
    this.frame = 0;
    this.restUntil = 0;
    this.history = [];
    this.visible = true;
  }

  // How many times slower than the run itself.
  get slowdown() {
    return this.race ? 1 : (SECONDS_A_STEP * 1e9) / this.step / this.pace;
  }

  load(end, step, rests) {
    this.end = end;
    this.step = step;
    this.rests = rests;
  }

  jump(t, why = "jump") {
    this.history = [];
    this.move(t, why);
  }

  // To a time, remembering this one, so that `back` restores the picture exactly.
  stepTo(t) {
    this.pause();
    this.history.push(this.t);
    if (this.history.length > 5000) this.history.shift();
    this.move(t, "step");
  }

  // To where the last step began; otherwise to the given time.
  back(otherwise) {
    this.pause();
    this.move(this.history.pop() ?? otherwise, "step");
  }

  move(t, why) {
    this.t = Math.min(Math.max(0, Math.round(t)), this.end);
    this.onChange(this.t, why);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.playing) return;
    if (this.t >= this.end) this.t = 0;
    this.history = [];
    this.playing = true;
    this.last = null;
    this.restUntil = 0;
    this.onChange(this.t, "play");
    this.ask();
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    cancelAnimationFrame(this.frame);
    this.onChange(this.t, "pause");
  }

  ask() {
    this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    if (!this.playing) return;
    const elapsed = this.last === null || !this.visible ? 0 : Math.min(now - this.last, 250);
    this.last = now;
    if (now >= this.restUntil && elapsed > 0) this.advance((elapsed * 1e6) / this.slowdown, now);
    if (this.playing) this.ask();
  }

  advance(by, now) {
    let next = this.t + by;
    if (!this.race) {
      const rest = this.rests.find((t) => t > this.t && t <= next);
      if (rest !== undefined) {
        next = rest;
        this.restUntil = now + REST_MS;
      }
    }
    this.move(next, "playing");
    if (this.t >= this.end) this.pause();
  }
}
