// Traces at the full rate: what is subscribed, kept, drawn, and how much of it was lost on the way.

import { Channels } from "./channels.js";
import { byId, choice, element, remember, remembered, setText, setTone } from "./dom.js";
import { fixed, shown, signed } from "./format.js";
import { Painter, TRACES_MS } from "./graphics.js";
import { Plots, lineOf } from "./plots.js";
import { Ring, readTraces } from "./ring.js";

const LONGEST_S = 60;
const MOST_FRAMES = 250_000;
const WORDS_MS = 200;

/** The panel of traces. */
export class Traces {
  constructor(connection) {
    this._connection = connection;
    this._channels = new Channels((names) => this._subscribe(names));
    this._units = new Map();
    this._ring = null;
    this._plots = null;
    this._legend = [];
    this._names = [];
    this._rate = 1000;
    this._lost = 0;
    this._paused = false;
    this._wordsAt = 0;
    this._seconds = 10;
    this._painter = new Painter(() => this._draw());
    choice(byId("traces-window"), [[2, "2 s"], [10, "10 s"], [60, "60 s"]], remembered("window", 10), (seconds) => {
      this._seconds = seconds;
      this._ask();
      remember("window", seconds);
    });
    byId("traces-pause").addEventListener("click", () => this._pause(!this._paused));
  }

  hello({ describe }) {
    this._rate = describe.rate_hz;
    this._units = new Map(describe.channels.map(([name, unit]) => [name, unit]));
    this._channels.offer(describe.channels, describe.freedoms);
  }

  /** What the console has agreed to send. */
  confirmed({ channels, refused }) {
    if (refused.length) setText(byId("traces-loss"), `not there: ${refused.join(", ")}`);
    const same = channels.length === this._names.length && channels.every((name, index) => name === this._names[index]);
    if (same && this._ring) return;
    this._names = channels;
    const frames = Math.min(MOST_FRAMES, Math.ceil((LONGEST_S + 1) * this._rate));
    this._ring = new Ring(frames, channels.length, 1 / this._rate);
    this._plots?.destroy();
    const drawn = channels.map((name, place) => ({ name, place, unit: this._units.get(name) ?? "1" }));
    this._plots = new Plots(byId("traces"), drawn);
    this._makeLegend(drawn);
  }

  /** Take one binary message. */
  take(buffer) {
    const message = readTraces(buffer);
    // Messages of the choice before may still be on their way.
    if (!this._ring || message.channels !== this._names.length) return;
    this._ring.push(message);
    this._lost = message.lost;
    this._ask();
  }

  _subscribe(names) {
    this._connection.traces(names);
  }

  _pause(paused) {
    this._paused = paused;
    this._ask();
    byId("traces-pause").setAttribute("aria-pressed", String(paused));
    setText(byId("traces-pause"), paused ? "Continue" : "Pause");
  }

  _ask() {
    if (!this._ring || this._paused) return;
    // A column of a minute's picture is long: drawing it more often than it changes would only warm the room.
    this._painter.ask(Math.max(TRACES_MS, (1000 * this._seconds) / this._plots.columns));
  }

  _draw() {
    if (this._paused) return;
    this._plots.draw(this._ring.picture(this._seconds, this._plots.columns), this._seconds);
    const now = performance.now();
    if (now - this._wordsAt > WORDS_MS) {
      this._wordsAt = now;
      this._showWords();
    }
  }

  _showWords() {
    for (const { figure, place, unit } of this._legend) {
      const how = shown(unit);
      const value = this._ring.value(place);
      setText(figure, Number.isFinite(value) ? `${signed(value * how.factor, Math.min(how.digits, 3))} ${how.unit}` : "–");
    }
    const lost = this._lost;
    setText(byId("traces-loss"), `${fixed(this._rate, 0)} Hz, ${lost ? `${lost} frames not shown` : "nothing lost"}`);
    setTone(byId("traces-loss"), lost ? "warn" : "idle");
  }

  _makeLegend(drawn) {
    this._legend = [];
    byId("traces-legend").replaceChildren(...drawn.map(({ name, place, unit }) => {
      const item = element("li");
      const mark = element("span", "swatch");
      const { colour, dash } = lineOf(name, place);
      mark.style.borderTopColor = colour;
      mark.style.borderTopStyle = dash ? "dashed" : "solid";
      const figure = element("span", "figure");
      figure.dataset.channel = name;
      item.append(mark, element("span", "", name), figure);
      this._legend.push({ figure, place, unit });
      return item;
    }));
  }
}
