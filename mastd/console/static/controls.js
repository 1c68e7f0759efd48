// Buttons that command. A button that would be refused stays readable and says why when it is pressed.

import { byId, element, setText } from "./dom.js";
import { VERBS } from "./verbs.js";
import { hindrance } from "./texts.js";

const SURE_MS = 3000;
/** Per cent up to which the slider goes; a gentle profile's limit may be far beyond, and a slider that coarse. */
const MAX_SPAN = 300;
const AXES = ["surge", "sway", "heave", "roll", "pitch", "yaw"];
const LENGTHS = [[1e-4, "0.1 mm"], [5e-4, "0.5 mm"], [1e-3, "1 mm"], [5e-3, "5 mm"]];
const ANGLES = [[0.01, "0.01°"], [0.05, "0.05°"], [0.1, "0.1°"], [0.5, "0.5°"]]
  .map(([degrees, text]) => [degrees * Math.PI / 180, text]);

/** The commanding buttons, jog and level. */
export class Controls {
  constructor(answers) {
    this._answers = answers;
    this._status = null;
    this._operator = "";
    this._role = "observer";
    this._guarded = [];
    this._sure = null;
    this._levelTouched = false;
    for (const verb of ["stop", "estop"]) byId(verb).addEventListener("click", () => answers.command(verb));
    for (const [verb, { button }] of Object.entries(VERBS)) if (button) this._button(verb, button);
    this._jog();
    this._level();
    // A key that is held down presses a button once.
    document.addEventListener("keydown", (event) => {
      if (event.repeat && event.target instanceof HTMLButtonElement) event.preventDefault();
    });
  }

  hello({ describe, operator, role }) {
    this._operator = operator;
    this._role = role;
    const what = byId("jog-what");
    const before = what.value;
    what.replaceChildren(
      ...describe.freedoms.map((axis) => new Option(axis, `axis ${axis}`)),
      ...describe.links.map((link, index) => new Option(`actuator ${index + 1}: ${link.name}`, `link ${index + 1}`)),
    );
    what.value = before || "axis heave";
    if (what.selectedIndex < 0) what.selectedIndex = 0;
    this._amounts();
  }

  status(status) {
    this._status = status;
    for (const [button, verb] of this._guarded) {
      const reason = this.hindrance(verb);
      button.setAttribute("aria-disabled", String(Boolean(reason)));
      button.title = reason;
    }
    if (this._sure && this.hindrance(this._sure.verb)) this._unsure();
    setText(byId("operate-note"), this._note());
    this._showLevel(status.level);
  }

  hindrance(verb) {
    return hindrance(verb, this._status, this._operator, this._role);
  }

  /** Let a button send a verb when it is possible, else say why not. */
  guard(button, verb, send) {
    this._guarded.push([button, verb]);
    button.setAttribute("aria-disabled", "true");
    button.addEventListener("click", (event) => {
      const reason = this.hindrance(verb);
      if (reason) this._answers.refuse(verb, reason);
      else if (!VERBS[verb].confirm || this._asked(button, verb, event)) send();
    });
  }

  _button(verb, text) {
    const button = element("button", `key key-${verb}`);
    button.type = "button";
    button.dataset.verb = verb;
    button.dataset.text = text;
    button.append(element("span", "key-text", text));
    this.guard(button, verb, () => this._answers.command(verb));
    byId("operate").append(button);
  }

  /** Return whether this is the second press; a double click is one decision, not two. */
  _asked(button, verb, event) {
    if (this._sure?.verb === verb) {
      if (event.detail > 1) return false;
      this._unsure();
      return true;
    }
    this._unsure();
    setText(button.firstChild, `Really ${verb}?`);
    button.classList.add("sure");
    this._sure = { verb, button, timer: setTimeout(() => this._unsure(), SURE_MS) };
    return false;
  }

  _unsure() {
    if (!this._sure) return;
    const { button, timer } = this._sure;
    clearTimeout(timer);
    button.classList.remove("sure");
    setText(button.firstChild, button.dataset.text);
    this._sure = null;
  }

  _note() {
    const holder = this._status.lease?.holder;
    if (this._role !== "operator") return "You are an observer: stop and e-stop work, nothing else.";
    if (holder && holder !== this._operator) return `${holder} has control. Stop and e-stop work for everybody.`;
    return "";
  }

  _jog() {
    const what = byId("jog-what");
    what.addEventListener("change", () => this._amounts());
    for (const [id, sign] of [["jog-minus", -1], ["jog-plus", 1]]) {
      this.guard(byId(id), "jog", () => {
        const [kind, name] = what.value.split(" ");
        const place = kind === "axis" ? { axis: name } : { link: Number(name) };
        this._answers.command("jog", { ...place, amount: sign * Number(byId("jog-amount").value) });
      });
    }
  }

  _amounts() {
    const turning = AXES.indexOf(byId("jog-what").value.split(" ")[1]) > 2;
    const amount = byId("jog-amount");
    const chosen = Math.max(amount.selectedIndex, 0);
    amount.replaceChildren(...(turning ? ANGLES : LENGTHS).map(([value, text]) => new Option(text, value)));
    amount.selectedIndex = chosen;
  }

  _level() {
    const slider = byId("level");
    slider.addEventListener("input", () => {
      this._levelTouched = true;
      setText(byId("level-wanted"), `${slider.value} %`);
    });
    this.guard(byId("level-set"), "level", async () => {
      await this._answers.command("level", { share: Number(slider.value) / 100 });
      this._levelTouched = false;
    });
  }

  _showLevel({ now, target, limit }) {
    const slider = byId("level");
    const maximum = String(Math.min(MAX_SPAN, Math.max(100, Math.floor((limit ?? 1) * 100))));
    if (slider.max !== maximum) slider.max = maximum;
    if (!this._levelTouched && target !== null && document.activeElement !== slider) {
      slider.value = String(Math.round(target * 100));
      setText(byId("level-wanted"), `${slider.value} %`);
    }
    const going = now !== null && target !== null && Math.abs(now - target) > 5e-4;
    const played = now === null ? "" : `now ${(now * 100).toFixed(going ? 1 : 0)} %`;
    setText(byId("level-now"), limit === null ? played : `${played}, max. ${Math.floor(limit * 100)} %`);
  }
}
