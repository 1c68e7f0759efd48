// The head of the page: state, since when, cause, what to do, who commands, and from where all this comes.

import { byId, setShown, setText, setTone } from "./dom.js";
import { duration } from "./format.js";
import { stateShown } from "./texts.js";

/** Shows the status in words. */
export class StatusView {
  constructor() {
    this._operator = "";
  }

  hello({ describe, operator, role }) {
    this._operator = operator;
    setText(byId("daemon-name"), describe.name);
    setText(byId("table-name"), describe.table_name ?? "");
    setText(byId("plant-kind"), describe.simulated ? "SIMULATED PLANT" : "REAL TABLE");
    byId("plant-kind").classList.toggle("chip-warn", !describe.simulated);
    setShown(byId("plant-kind"), true);
    setText(byId("operator"), role === "operator" ? operator : `${operator} (observer)`);
  }

  status(status) {
    const { word, tone, means, next } = stateShown(status);
    document.title = `${word} – ${status.name}`;
    setText(byId("state"), word);
    setTone(byId("state-box"), tone);
    byId("state").classList.toggle("long", word.length > 9);
    setText(byId("since"), status.loop === "running" ? `since ${duration(status.since_s)}` : "");
    setShown(byId("degraded"), Boolean(status.degraded));
    this._cause(status, means, next);
    this._lease(status.lease);
    setText(byId("link"), "connected");
    setTone(byId("link"), "good");
  }

  _cause(status, means, next) {
    const cause = status.cause;
    const others = status.active.filter((name) => name !== cause?.name);
    setTone(byId("cause-box"), cause ? "bad" : others.length ? "warn" : "idle");
    setText(byId("cause"), cause ? cause.text : means);
    setText(byId("cause-name"), cause ? cause.name : "");
    setText(byId("todo-label"), cause ? "What to do" : next ? "Next" : "");
    setText(byId("todo"), cause ? cause.hint : next);
    this._row("clear", cause ? cause.clear : "");
    this._row("active", others.join(", "));
  }

  _row(name, text) {
    setShown(byId(`${name}-label`), Boolean(text));
    setShown(byId(name), Boolean(text));
    setText(byId(name), text);
  }

  _lease(lease) {
    const mine = lease?.holder === this._operator;
    const left = lease ? ` (${Math.max(0, Math.ceil(lease.left_s))} s)` : "";
    setText(byId("lease"), lease ? `${mine ? "you" : lease.holder}${left}` : "none");
    setTone(byId("lease"), lease ? (mine ? "good" : "warn") : "idle");
  }
}
