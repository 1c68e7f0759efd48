// Numbers as people read them. SI comes in; what is shown is in mm, degrees, kN, bar.

export const UNKNOWN = "–";
const DEGREES = 180 / Math.PI;

const SHOWN = {
  m: ["mm", 1e3, 3],
  "m/s": ["mm/s", 1e3, 2],
  "m/s2": ["m/s²", 1, 3],
  "m/s3": ["m/s³", 1, 2],
  rad: ["°", DEGREES, 4],
  "rad/s": ["°/s", DEGREES, 3],
  "rad/s2": ["°/s²", DEGREES, 2],
  "rad/s3": ["°/s³", DEGREES, 1],
  N: ["kN", 1e-3, 2],
  "N m": ["kN m", 1e-3, 2],
  Pa: ["bar", 1e-5, 1],
  "m3/s": ["L/min", 6e4, 1],
  m3: ["L", 1e3, 1],
  s: ["s", 1, 4],
  1: ["", 1, 3],
};

/** Return {unit, factor, digits} by which a quantity in an SI unit is shown. */
export function shown(unit) {
  const [name, factor, digits] = SHOWN[unit] ?? [unit, 1, 3];
  return { unit: name, factor, digits };
}

/** Return a number with so many digits, the mark of an unknown one for none. A minus is a real one. */
export function fixed(value, digits) {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
  const text = value.toFixed(digits);
  return text.startsWith("-") ? (Number(text) === 0 ? text.slice(1) : `−${text.slice(1)}`) : text;
}

/** Return a number with its sign always shown, so that rows stand still. */
export function signed(value, digits) {
  const text = fixed(value, digits);
  return text === UNKNOWN || text.startsWith("−") ? text : `+${text}`;
}

/** Return a quantity in an SI unit with the unit that it is shown in. */
export function quantity(value, unit) {
  const how = shown(unit);
  if (value === null || value === undefined) return UNKNOWN;
  return `${fixed(value * how.factor, Math.min(how.digits, 2))} ${how.unit}`.trim();
}

/** Return a share as per cent. */
export function percent(share, digits = 0) {
  return share === null || share === undefined ? UNKNOWN : `${fixed(share * 100, digits)} %`;
}

/** Return a time span in words. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "an unknown time";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** Return a short time in microseconds or milliseconds. */
export function brief(seconds) {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  return Math.abs(seconds) < 1e-3 ? `${fixed(seconds * 1e6, 0)} µs` : `${fixed(seconds * 1e3, 2)} ms`;
}

/** Return the time of the day. */
export function clock(date) {
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}
