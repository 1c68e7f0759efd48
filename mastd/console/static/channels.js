// The choice of channels: grouped, searched, at most sixteen.

import { byId, element, remember, remembered, setShown, setText } from "./dom.js";

const MOST = 16;

/** Offers the channels of the frame; `chosen(names)` is called with every new choice. */
export class Channels {
  constructor(chosen) {
    this._chosen = chosen;
    this._offered = [];
    this._axis = "heave";
    this._names = [];
    this._boxes = new Map();
    this._groups = [];
    byId("traces-choose").addEventListener("click", () => this._open(byId("channels").hidden));
    byId("channels-close").addEventListener("click", () => this._open(false));
    byId("channels-usual").addEventListener("click", () => this._choose(this._usual()));
    byId("channels-search").addEventListener("input", (event) => this._search(event.target.value));
  }

  /** Offer `channels`, [name, unit, meaning] each; what was chosen before stays chosen where it is there. */
  offer(channels, freedoms) {
    this._axis = freedoms.includes("heave") ? "heave" : freedoms[0];
    // Places that are kept free for a vehicle's channels show nothing.
    this._offered = channels.filter(([name]) => !name.startsWith("spare."));
    this._build();
    const there = new Set(channels.map(([name]) => name));
    const before = remembered("channels", []);
    const kept = Array.isArray(before) ? before.filter((name) => there.has(name)).slice(0, MOST) : [];
    this._choose(kept.length ? kept : this._usual());
  }

  _usual() {
    const axes = [`reference.${this._axis}`, `pose.${this._axis}`];
    const usual = (name) => axes.includes(name) || /^force\.\d+$/.test(name);
    return this._offered.map(([name]) => name).filter(usual).slice(0, MOST);
  }

  _open(shown) {
    setShown(byId("channels"), shown);
    byId("traces-choose").setAttribute("aria-expanded", String(shown));
    if (shown) byId("channels-search").focus();
  }

  _build() {
    this._boxes.clear();
    const groups = new Map();
    for (const channel of this._offered) {
      const family = channel[0].includes(".") ? channel[0].slice(0, channel[0].lastIndexOf(".")) : "cycle";
      if (!groups.has(family)) groups.set(family, []);
      groups.get(family).push(channel);
    }
    this._groups = [...groups].map(([family, members]) => {
      const set = element("fieldset");
      set.append(element("legend", "", family), ...members.map((channel) => this._row(channel)));
      return set;
    });
    byId("channels-list").replaceChildren(...this._groups);
  }

  _row([name, unit, meaning]) {
    const row = element("label");
    row.title = meaning;
    row.dataset.words = `${name} ${meaning}`.toLowerCase();
    const box = element("input");
    box.type = "checkbox";
    box.value = name;
    box.addEventListener("change", () => {
      const without = this._names.filter((own) => own !== name);
      this._choose(box.checked ? [...without, name] : without);
    });
    this._boxes.set(name, box);
    row.append(box, element("span", "", name), element("span", "unit", unit === "1" ? "" : unit));
    return row;
  }

  _choose(names) {
    this._names = names;
    const full = names.length >= MOST;
    for (const [name, box] of this._boxes) {
      box.checked = names.includes(name);
      box.disabled = full && !box.checked;
    }
    setText(byId("channels-count"), `${names.length} of max. ${MOST}${full ? ": remove one to add another" : ""}`);
    remember("channels", names);
    this._chosen(names);
  }

  _search(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    for (const group of this._groups) {
      let any = false;
      for (const row of group.querySelectorAll("label")) {
        const fits = words.every((word) => row.dataset.words.includes(word));
        setShown(row, fits);
        any ||= fits;
      }
      setShown(group, any);
    }
  }
}
