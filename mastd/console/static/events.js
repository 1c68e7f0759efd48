// What has happened since the page was opened, newest first: states, faults with their hints, refusals, losses.

import { byId, element } from "./dom.js";
import { clock } from "./format.js";
import { stateShown } from "./texts.js";

const MOST = 200;
const NEAR = 8;

/** Keeps the newest `MOST` events. */
export class Events {
  constructor() {
    this._before = null;
    this._faults = new Map();
    this._phase = "connecting";
  }

  hello({ describe }) {
    this._faults = new Map(Object.values(describe.faults ?? {}).map((fault) => [fault.name, fault]));
  }

  status(status) {
    const before = this._before;
    this._before = status;
    const now = stateShown(status);
    if (!before || stateShown(before).word !== now.word) this.note(now.tone, now.word);
    if (status.cause && status.cause.name !== before?.cause?.name) {
      this.note("bad", `${status.cause.text} (${status.cause.name})`, status.cause.hint);
    }
    if (before?.cause && !status.cause) this.note("good", `cause forgotten: ${before.cause.name}`);
    this._active(before?.active ?? [], status);
    const holder = status.lease?.holder ?? "";
    if (before && holder !== (before.lease?.holder ?? "")) {
      this.note("idle", holder ? `${holder} commands` : "control is free");
    }
    if (before && status.profile.loaded !== before.profile.loaded && status.profile.name) {
      this.note("idle", `loaded: ${status.profile.name}`);
    }
  }

  phase(phase, reason) {
    if (phase === this._phase) return;
    if (phase === "lost") this.note("bad", `connection lost: ${reason}`);
    if (phase === "daemon") this.note("bad", `the daemon is gone: ${reason}`);
    if (phase === "live" && this._phase !== "connecting") this.note("good", "the table is seen again");
    this._phase = phase;
  }

  /** Add one event; `hint` says what to do. */
  note(tone, text, hint = "") {
    const list = byId("events");
    // What comes and goes many times is one line with a count, and pushes nothing out.
    const before = [...list.children].slice(0, NEAR).find((one) => one.dataset.text === text);
    const times = before ? Number(before.dataset.times) + 1 : 1;
    before?.remove();
    const line = element("li");
    line.dataset.text = text;
    line.dataset.times = String(times);
    line.dataset.tone = tone;
    const words = element("div", "event-words", times > 1 ? `${text} (${times} times)` : text);
    if (hint) words.append(element("p", "event-hint", hint));
    line.append(element("time", "", clock(new Date())), words);
    list.prepend(line);
    while (list.children.length > MOST) list.lastElementChild.remove();
  }

  _active(before, status) {
    for (const name of status.active) {
      if (before.includes(name) || name === status.cause?.name) continue;
      const fault = this._faults.get(name);
      this.note("warn", fault ? `${fault.title} (${name})` : name, fault?.hint);
    }
    for (const name of before) {
      if (!status.active.includes(name)) this.note("idle", `over: ${name}`);
    }
  }
}
