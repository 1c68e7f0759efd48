// Sends commands and says in words what became of them.

import { byId, setText, setTone } from "./dom.js";

const LATE_MS = 2000;

/** The line below the head of the page: the newest command and its answer. */
export class Answers {
  constructor(connection, events) {
    this._connection = connection;
    this._events = events;
    this._newest = 0;
  }

  /** Send a command; return its answer, null if none came. */
  async command(verb, parameters = {}) {
    const mine = ++this._newest;
    const name = verb.toUpperCase();
    const stopping = verb === "stop" || verb === "estop";
    this._say(mine, "idle", `${name} sent …`);
    const late = setTimeout(() => {
      const advice = stopping ? " – use the table's own e-stop" : verb === "load" ? " – it is being checked" : "";
      this._say(mine, stopping ? "bad" : "warn", `${name}: no answer yet${advice}`);
    }, LATE_MS);
    try {
      const answer = await this._connection.command(verb, parameters);
      this._tell(mine, name, answer);
      return answer;
    } catch (error) {
      this._say(mine, "bad", `${name}: ${error.message}`);
      this._events.note("bad", `${name}: ${error.message}`);
      return null;
    } finally {
      clearTimeout(late);
    }
  }

  /** Say why a command was not even sent. */
  refuse(verb, reason) {
    this._say(++this._newest, "warn", `${verb.toUpperCase()} is not possible now: ${reason}`);
  }

  _tell(mine, name, answer) {
    const more = [answer.reason, answer.needed].filter(Boolean).join(" – ");
    if (answer.accepted) {
      this._say(mine, "good", more ? `${name} accepted: ${more}` : `${name} accepted`);
      return;
    }
    const text = `${name} refused: ${more || "no reason was given"}`;
    this._say(mine, "bad", text);
    this._events.note("warn", text);
  }

  _say(mine, tone, text) {
    if (mine !== this._newest) return;
    const place = byId("answer");
    setTone(place, tone);
    setText(place, text);
    place.title = text;
  }
}
