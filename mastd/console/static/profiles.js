// The profiles: which one is loaded, how far it is, which there are, and what `check` says before one is loaded.

import { byId, element, setShown, setText, setTone } from "./dom.js";
import { duration, fixed, percent, shown } from "./format.js";

const TITLES = { ok: "CHECK OK", no: "CHECK FAILED", none: "NOT CHECKED" };

/** List, check and load. */
export class Profiles {
  constructor(answers, controls) {
    this._answers = answers;
    this._profiles = new Map();
    this._verdicts = new Map();
    this._checking = "";
    this._daemon = null;
    const list = byId("profile-list");
    list.addEventListener("change", () => this._chosen());
    byId("profile-again").addEventListener("click", () => this._read());
    byId("check").addEventListener("click", () => this._check(list.value));
    controls.guard(byId("load"), "load", () => this._load(list.value));
  }

  hello({ describe }) {
    if (describe.pid === this._daemon) return;
    this._daemon = describe.pid;
    this._read();
  }

  status({ profile, loading }) {
    setText(byId("profile-name"), loading ? `loading ${loading} …` : profile.name || "none loaded");
    byId("profile-name").title = profile.name;
    const played = profile.time_s;
    const total = profile.duration_s;
    const both = played === null || total === null ? duration(total) : `${fixed(played, 1)} of ${fixed(total, 1)} s`;
    setText(byId("profile-time"), profile.name ? both : "");
    const share = played !== null && total ? Math.min(1, Math.max(0, played / total)) : 0;
    byId("profile-progress").style.transform = `scaleX(${share.toFixed(4)})`;
  }

  async _read() {
    const list = byId("profile-list");
    const before = list.value;
    setText(byId("profile-about"), "Reading the profiles …");
    try {
      const answer = await fetch("/api/profiles");
      if (!answer.ok) throw new Error(`the console answers ${answer.status}`);
      const found = await answer.json();
      this._profiles = new Map(found.map((profile) => [profile.name, profile]));
      this._verdicts.clear();
      list.replaceChildren(...found.map(option));
      list.value = this._profiles.has(before) ? before : (found[0]?.name ?? "");
      this._chosen();
    } catch (error) {
      setText(byId("profile-about"), `The profiles cannot be read: ${error.message}.`);
    }
  }

  _chosen() {
    const profile = this._profiles.get(byId("profile-list").value);
    setText(byId("profile-about"), profile ? (profile.problem ?? profile.title ?? "") : "No profiles found.");
    this._show(this._verdicts.get(profile?.name));
  }

  async _check(name) {
    if (!name || this._checking) return;
    this._checking = name;
    setText(byId("check"), "Checking …");
    try {
      const answer = await fetch("/api/check", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ profile: name }),
      });
      const verdict = await answer.json();
      this._verdicts.set(name, verdict);
    } catch (error) {
      this._verdicts.set(name, { ok: false, text: `The check could not be made: ${error.message}.`, document: null });
    }
    this._checking = "";
    setText(byId("check"), "Check");
    this._show(this._verdicts.get(byId("profile-list").value));
  }

  _load(name) {
    const profile = this._profiles.get(name);
    const verdict = this._verdicts.get(name);
    if (!profile) this._answers.refuse("load", "choose a profile first");
    else if (!verdict) this._answers.refuse("load", "check it first");
    else if (!verdict.ok) this._answers.refuse("load", "its check failed");
    else this._answers.command("load", { profile: profile.file });
  }

  _show(verdict) {
    const place = byId("verdict");
    setShown(place, Boolean(verdict));
    if (!verdict) return;
    setTone(place, verdict.ok ? "good" : "bad");
    const lines = verdict.document ? limitLines(verdict.document) : [];
    place.replaceChildren(
      element("strong", "", verdict.document ? (verdict.ok ? TITLES.ok : TITLES.no) : TITLES.none),
      ...lines.map((text) => element("p", "", text)),
      ...(lines.length ? [] : [element("p", "", verdict.text)]),
      ...(verdict.document?.warnings ?? []).map((text) => element("p", "warning", text)),
    );
  }
}

function option(profile) {
  const time = profile.duration_s === null ? "" : `  ·  ${duration(profile.duration_s)}`;
  const made = new Option(`${profile.name}${profile.problem ? "  ·  cannot be read" : time}`, profile.name);
  made.title = profile.problem ?? profile.title ?? "";
  return made;
}

/** The worst limit in words: where there is no number for a margin, nothing is worse. */
function limitLines({ limits, scale }) {
  if (!limits.length) return [];
  const worst = limits.reduce((least, one) => ((one.margin ?? -Infinity) < (least.margin ?? -Infinity) ? one : least));
  const lines = [
    `Critical: ${worst.name.replaceAll("_", " ")}, ${ofLimit(worst)}`,
    `Margin ${percent(worst.margin)}, at ${fixed(worst.time_s, 1)} s, ${worst.where}`,
  ];
  return scale === null ? lines : [...lines, `Max. span ${Math.floor(scale * 100)} %`];
}

function ofLimit({ worst, limit, unit }) {
  const how = shown(unit);
  const [value, most] = [worst, limit].map((one) => (one === null ? "–" : String(Number((one * how.factor).toPrecision(3)))));
  return `${value} of ${most} ${how.unit}`.trim();
}
