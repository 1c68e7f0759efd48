// The pose in figures, over the picture of the table: measured and asked for.

import { byId, element, setText } from "./dom.js";
import { signed } from "./format.js";

const AXES = [
  ["surge", "mm", 1e3],
  ["sway", "mm", 1e3],
  ["heave", "mm", 1e3],
  ["roll", "°", 180 / Math.PI],
  ["pitch", "°", 180 / Math.PI],
  ["yaw", "°", 180 / Math.PI],
];

/** A row for each axis in which the table moves: what it does and what it is asked for. */
export class PoseTable {
  constructor() {
    const head = element("tr");
    for (const text of ["", "measured", "command", ""]) head.append(element("th", "", text));
    this._rows = AXES.map(([name, unit]) => {
      const line = element("tr");
      const cells = [element("td", "figure"), element("td", "figure asked")];
      cells[0].id = `pose-${name}`;
      const title = element("th", "", name);
      title.scope = "row";
      line.append(title, ...cells, element("td", "unit", unit));
      return [line, cells];
    });
    this._head = head;
  }

  hello({ describe }) {
    const moves = this._rows.filter((_, axis) => describe.freedoms.includes(AXES[axis][0]));
    byId("pose").replaceChildren(this._head, ...moves.map(([line]) => line));
  }

  status({ pose, reference }) {
    this._rows.forEach(([, [measured, asked]], axis) => {
      const factor = AXES[axis][2];
      setText(measured, signed(scaled(pose[axis], factor), 3));
      setText(asked, signed(scaled(reference[axis], factor), 3));
    });
  }
}

function scaled(value, factor) {
  return value === null ? null : value * factor;
}
