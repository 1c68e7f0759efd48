// The place of the 3-D picture: loads it apart from everything else, so that nothing waits for it or fails with it.

import { byId, choice, element, remember, remembered, setText, setTone } from "./dom.js";
import { Painter, VIEW_MS, graphics } from "./graphics.js";

const FACTORS = [[1, "1 ×"], [5, "5 ×"], [20, "20 ×"]];
const SIDES = [["corner", "Corner"], ["side", "Side"], ["front", "Front"], ["top", "Top"]];

/** Shows the table in three dimensions where the browser can. */
export class View {
  constructor() {
    this._scene = null;
    this._describe = null;
    this._table = "";
    this._status = null;
    this._factor = 5;
    this._side = "corner";
    this._painter = new Painter(() => this._draw());
    choice(byId("view-from"), SIDES, "corner", (side) => {
      this._side = side;
      this._scene?.look(side);
    });
    choice(byId("view-factor"), FACTORS, remembered("factor", 5), (factor) => {
      this._factor = factor;
      this._ask();
      remember("factor", factor);
    });
    this._load();
  }

  hello({ describe }) {
    // The greeting comes again when a vehicle is loaded; the table stays the same.
    const table = JSON.stringify([describe.pid, describe.links]);
    if (table === this._table) return;
    this._table = table;
    this._describe = describe;
    this._build();
  }

  status(status) {
    this._status = status;
    this._ask();
  }

  async _load() {
    try {
      if (graphics === "none") throw new Error("no WebGL");
      this._module = await import("./scene.js");
      this._build();
    } catch (error) {
      this._without(error);
    }
  }

  _build() {
    if (!this._module || !this._describe) return;
    try {
      this._scene?.destroy();
      this._scene = new this._module.Scene(byId("view"), this._describe, () => this._ask());
      this._scene.look(this._side);
    } catch (error) {
      this._without(error);
    }
  }

  _ask() {
    if (this._scene && this._status) this._painter.ask(VIEW_MS);
  }

  _draw() {
    if (!this._scene) return;
    this._scene.draw(this._status, this._factor);
    const drawn = this._factor === 1 ? "Motion as it is" : `Motion drawn ${this._factor} times as large`;
    const known = this._module.poseKnown(this._status);
    setText(byId("view-note"), known ? drawn : "The pose is not known: drawn where it was seen last");
    setTone(byId("view-note"), known ? "idle" : "warn");
  }

  _without(error) {
    this._scene = null;
    const text = "This browser shows no 3-D picture (WebGL is not there). Everything else works as usual.";
    const line = element("p", "view-without", text);
    line.title = error.message;
    for (const old of byId("view").querySelectorAll(".view-without, canvas")) old.remove();
    byId("view").append(line);
  }
}
