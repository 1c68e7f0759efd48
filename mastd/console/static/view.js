// The place of the 3-D picture: loads it apart from everything else, so that nothing waits for it or fails with it.

import { byId, choice, element, remember, remembered, setText } from "./dom.js";
import { VIEW_MS, graphics } from "./graphics.js";

const FACTORS = [[1, "1 ×"], [5, "5 ×"], [20, "20 ×"]];
const SIDES = [["corner", "Corner"], ["side", "Side"], ["front", "Front"], ["top", "Top"]];

/** Shows the table in three dimensions where the browser can. */
export class View {
  constructor() {
    this._scene = null;
    this._describe = null;
    this._status = null;
    this._factor = 5;
    this._side = "corner";
    this._fresh = false;
    this._drawnAt = 0;
    choice(byId("view-from"), SIDES, "corner", (side) => {
      this._side = side;
      this._scene?.look(side);
    });
    choice(byId("view-factor"), FACTORS, remembered("factor", 5), (factor) => {
      this._factor = factor;
      this._fresh = true;
      remember("factor", factor);
      setText(byId("view-note"), factor === 1 ? "Motion as it is" : `Motion drawn ${factor} times as large`);
    });
    this._load();
  }

  hello({ describe }) {
    this._describe = describe;
    this._build();
  }

  status(status) {
    this._status = status;
    this._fresh = true;
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
      this._scene = new this._module.Scene(byId("view"), this._describe, () => { this._fresh = true; });
      this._scene.look(this._side);
      if (!this._drawing) requestAnimationFrame((now) => this._frame(now));
      this._drawing = true;
    } catch (error) {
      this._without(error);
    }
  }

  _frame(now) {
    requestAnimationFrame((next) => this._frame(next));
    if (!this._scene || !this._fresh || !this._status) return;
    if (now - this._drawnAt < VIEW_MS) return;
    this._drawnAt = now;
    this._fresh = false;
    this._scene.draw(this._status, this._factor);
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
