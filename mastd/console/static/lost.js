// What covers the whole page while it does not show the table: nobody may take old values for new ones.

import { byId, setShown, setText } from "./dom.js";
import { duration } from "./format.js";

const LOOK_MS = 250;
const USE_THE_ESTOP = "In danger use the table's own e-stop.";

const WORDS = {
  connecting: ["CONNECTING", "The page asks the console for the state of the table."],
  lost: ["CONNECTION LOST", "This page does not reach the console. Its buttons have no effect."],
  daemon: ["THE DAEMON DOES NOT ANSWER", "The console answers, the daemon behind it does not. The buttons have no effect."],
};

/** Shows and hides the banner by the connection's phase. */
export class LostBanner {
  constructor(connection) {
    this._connection = connection;
    this._asked = false;
    setInterval(() => this.show(), LOOK_MS);
    this.show();
  }

  show() {
    const { phase, reason, attempts } = this._connection;
    const lost = phase !== "live";
    byId("page").inert = lost;
    document.body.classList.toggle("is-lost", lost);
    setShown(byId("lost"), lost);
    if (!lost) {
      this._asked = false;
      setShown(byId("lost-login"), false);
      return;
    }
    const [title, text] = WORDS[phase];
    const age = this._connection.age();
    document.title = `${title} – mastd`;
    byId("lost").dataset.phase = phase;
    setText(byId("lost-title"), title);
    setText(byId("lost-age"), age === null ? "" : `What you see is ${duration(age)} old. ${USE_THE_ESTOP}`);
    setText(byId("lost-text"), age === null && phase !== "connecting" ? `${text} ${USE_THE_ESTOP}` : text);
    const again = phase === "daemon" ? "Reconnects by itself when the daemon is back." : this._again(attempts);
    setText(byId("lost-again"), reason ? `${sentence(reason)} ${again}` : again);
    if (phase === "lost") this._offerLogin();
  }

  _again(attempts) {
    return attempts < 2 ? "" : `Reconnecting, attempt ${attempts}.`;
  }

  /** A console that was started anew knows this browser no more; only asking tells. */
  async _offerLogin() {
    if (this._asked) return;
    this._asked = true;
    try {
      const answer = await fetch("/api/profiles", { redirect: "manual" });
      const known = answer.ok;
      setShown(byId("lost-login"), !known);
      if (known) this._asked = false;
    } catch {
      setTimeout(() => { this._asked = false; }, 1000);
    }
  }
}

function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}
