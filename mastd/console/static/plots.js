// One uPlot for each quantity: channels of one kind and unit share a scale, others get a plot of their own.

import uPlot from "./vendor/uplot/uPlot.esm.js";
import { element } from "./dom.js";
import { shown } from "./format.js";

const LEAST_HEIGHT = 96;
const AXIS_HEIGHT = 30;
const LEAST_SPAN = { mm: 0.2, "°": 0.02, kN: 2, bar: 2 };
const INK = "#9fb0bf";
const GRID = "rgba(159, 176, 191, 0.13)";
const COLOURS = [
  "#5ab0ff", "#ffb454", "#5fd38d", "#ff7b89", "#c49bff", "#4dd6d6", "#f4dd6b", "#ff9de2", "#b9c7d4", "#c08a5a",
];

/** Colour and dash of the channel at a place of the choice: what is asked for is dashed, measured is drawn through. */
export function lineOf(name, place) {
  const asked = /^(reference|command)/.test(name);
  return { colour: COLOURS[place % COLOURS.length], dash: asked ? [7, 4] : place >= COLOURS.length ? [2, 3] : null };
}

/** Return which channels share a plot. */
export function kindOf(name, unit) {
  const family = name.replace(/^command\./, "").replace(/^raw_/, "").split(".")[0];
  return `${family.replace(/^reference/, "pose").replace(/^pressure_[12]$/, "pressure")}|${unit}`;
}

/** The plots of some channels, one below the other; `channels` are {name, unit, place}. */
export class Plots {
  constructor(place, channels) {
    this._place = place;
    this._groups = new Map();
    for (const channel of channels) {
      const kind = kindOf(channel.name, channel.unit);
      if (!this._groups.has(kind)) this._groups.set(kind, []);
      this._groups.get(kind).push(channel);
    }
    this._window = 10;
    this._plots = [];
    this._build();
    this._observer = new ResizeObserver(() => this._resize());
    this._observer.observe(place);
  }

  destroy() {
    this._observer.disconnect();
    for (const { plot } of this._plots) plot.destroy();
    this._place.replaceChildren();
  }

  /** Columns that a picture can show. */
  get columns() {
    return Math.max(100, Math.floor(this._place.clientWidth - 70));
  }

  /** Draw [x, y…] as Ring.picture gives it, of the last `seconds`. */
  draw(data, seconds) {
    this._window = seconds;
    for (const { plot, channels } of this._plots) {
      plot.setData([data[0], ...channels.map((channel) => scaled(data[channel.place + 1], channel.unit))]);
    }
  }

  _build() {
    const groups = [...this._groups.values()];
    groups.forEach((channels, index) => {
      const box = element("div", "plot");
      this._place.append(box);
      const unit = shown(channels[0].unit).unit;
      const options = this._options(channels, unit, index === groups.length - 1, groups.length);
      this._plots.push({ channels, box, plot: new uPlot(options, [[], ...channels.map(() => [])], box) });
    });
  }

  _options(channels, unit, last, count) {
    const line = { stroke: INK, grid: { stroke: GRID, width: 1 }, ticks: { stroke: GRID, width: 1, size: 4 }, font: "12px system-ui" };
    return {
      ...this._size(last, count),
      padding: [8, 12, last ? 0 : 6, 0],
      legend: { show: false },
      cursor: { sync: { key: "mastd" }, drag: { x: false, y: false }, points: { size: 5 } },
      scales: {
        x: { time: false, range: () => [-this._window, 0] },
        y: { range: (plot, low, high) => span(low, high, LEAST_SPAN[unit] ?? 1e-3) },
      },
      axes: [
        { ...line, show: last, size: AXIS_HEIGHT, values: (plot, ticks) => ticks.map((tick) => `${tick} s`.replace("-", "−")) },
        { ...line, size: 62, label: unit, labelSize: 16, labelGap: 0, labelFont: "12px system-ui", space: 26,
          values: (plot, ticks) => ticks.map((tick) => String(tick).replace("-", "−")) },
      ],
      series: [
        {},
        ...channels.map(({ name, place }) => {
          const { colour, dash } = lineOf(name, place);
          return { label: name, stroke: colour, width: 1.6, dash: dash ?? undefined, points: { show: false } };
        }),
      ],
    };
  }

  _size(last, count) {
    const room = this._place.clientHeight - AXIS_HEIGHT;
    const height = Math.max(LEAST_HEIGHT, Math.floor(room / count));
    return { width: Math.max(200, this._place.clientWidth), height: height + (last ? AXIS_HEIGHT : 0) };
  }

  _resize() {
    this._plots.forEach(({ plot }, index) => plot.setSize(this._size(index === this._plots.length - 1, this._plots.length)));
  }
}

function scaled(values, unit) {
  const { factor } = shown(unit);
  return factor === 1 ? values : values.map((value) => (value === null ? null : value * factor));
}

/** Return a range that shows all and never makes mountains of noise. */
function span(low, high, least) {
  if (low === null || high === null) return [-least, least];
  const middle = (low + high) / 2;
  const half = Math.max((high - low) * 0.56, least / 2);
  return [middle - half, middle + half];
}
