// The legs: length within stroke, force within its limit, pressures of both chambers.

import { byId, element, setText, setTone } from "./dom.js";
import { fixed, percent, signed } from "./format.js";

const NEAR = 0.7;
const AT_LIMIT = 0.9;
/** Most actuators whose rows have the usual height. */
const MANY = 12;

/** Return the tone of a share of a limit. */
export function toneOf(share) {
  if (!Number.isFinite(share)) return "idle";
  return Math.abs(share) >= AT_LIMIT ? "bad" : Math.abs(share) >= NEAR ? "warn" : "good";
}

/** One row a leg. */
export class Legs {
  constructor() {
    this._links = [];
    this._rows = [];
  }

  hello({ describe }) {
    this._links = describe.links;
    const head = element("tr");
    for (const text of ["", "length", "mm", "force", "kN", "bar"]) {
      const cell = element("th", /^(mm|kN|bar)$/.test(text) ? "figure" : "", text);
      cell.scope = "col";
      head.append(cell);
    }
    this._rows = describe.links.map((link, index) => new Row(link, index + 1));
    byId("legs").classList.toggle("many", describe.links.length > MANY);
    byId("legs").replaceChildren(head, ...this._rows.map((row) => row.line));
  }

  status(status) {
    let share = 0;
    let which = -1;
    this._rows.forEach((row, index) => {
      const force = status.forces_n[index];
      const link = this._links[index];
      const length = status.lengths_m[index];
      row.show(length === null ? null : length - link.neutral_length_m, link.stroke_m, force, link.maximum_force_n,
        status.pressures_pa?.[index]);
      const ratio = force === null ? 0 : Math.abs(force) / link.maximum_force_n;
      if (ratio > share) [share, which] = [ratio, index];
    });
    const limit = which < 0 ? 0 : this._links[which].maximum_force_n / 1000;
    const words = which < 0 ? ""
      : `Max. force: actuator ${which + 1}, ${fixed(share * limit, 1)} of ${fixed(limit, 0)} kN, margin ${percent(1 - share)}`;
    setText(byId("legs-note"), words);
    setTone(byId("legs-note"), which < 0 ? "idle" : toneOf(share));
  }
}

class Row {
  constructor(link, number) {
    this.line = element("tr");
    const name = element("th", "", String(number));
    name.scope = "row";
    name.title = link.name;
    [this._lengthBar, this._lengthMark] = bar();
    [this._forceBar, this._forceMark] = bar();
    this._length = element("td", "figure");
    this._force = element("td", "figure");
    this._pressures = element("td", "figure pressures");
    this.line.append(name, this._lengthBar, this._length, this._forceBar, this._force, this._pressures);
    this.line.title = link.name;
  }

  show(length, stroke, force, mostForce, pressures) {
    place(this._lengthBar, this._lengthMark, length === null ? NaN : length / stroke);
    place(this._forceBar, this._forceMark, force === null ? NaN : force / mostForce);
    setText(this._length, length === null ? "–" : signed(length * 1e3, 2));
    setText(this._force, force === null ? "–" : signed(force * 1e-3, 1));
    setText(this._pressures, pressures ? pressures.map((one) => fixed(one === null ? null : one * 1e-5, 0)).join(" / ") : "–");
  }
}

function bar() {
  const cell = element("td", "gauge");
  cell.setAttribute("aria-hidden", "true");
  const track = element("div", "gauge-track");
  const mark = element("div", "gauge-mark");
  track.append(mark);
  cell.append(track);
  return [cell, mark];
}

function place(cell, mark, share) {
  setTone(cell, toneOf(share));
  const held = Number.isFinite(share) ? Math.max(-1, Math.min(1, share)) : 0;
  mark.style.left = `${(Math.min(held, 0) + 1) * 50}%`;
  mark.style.width = `${Math.abs(held) * 50}%`;
}
