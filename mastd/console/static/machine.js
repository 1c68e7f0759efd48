// Supply, forces that move nothing, cycle times, losses, rigs, the vehicle: what tells of trouble before it stops.

import { byId, element, setText, setTone } from "./dom.js";
import { UNKNOWN, brief, duration, fixed, quantity } from "./format.js";

const STAGES = ["off", "low", "high"];

/** Pressure of the supply, of several each. */
function pressures(supply) {
  const each = supply.each ?? [];
  if (supply.pressure_pa === null) return [];
  return (each.length > 1 ? each : [supply]).map((own) => quantity(own.pressure_pa, "Pa")).join(" · ");
}

/** How far the accumulators are charged while the table waits for them. */
function waiting({ state, supply }) {
  const charged = (supply.each ?? []).map((own) => own.charged ?? 0);
  if (!charged.length || (state !== "LOW" && state !== "HIGH")) return "";
  return `, accumulators ${fixed(100 * Math.min(...charged), 0)} % charged`;
}

/** Facts in rows: [name, text, tone]. */
function facts(status, describe) {
  const { supply, cycle_time: cycle } = status;
  const period = describe ? 1 / describe.rate_hz : null;
  const rows = [
    ["Supply", [pressures(supply), `${STAGES[supply.stage] ?? UNKNOWN}${waiting(status)}`].flat().join(", "), "idle"],
    ["Internal force", internal(status, describe), "idle"],
    ["Residual", `${fixed(status.residual_m === null ? null : status.residual_m * 1e6, 1)} µm`, "idle"],
    ["Max. following error", following(status.following_peak_m), "idle"],
  ];
  if (cycle) {
    const { compute_s: compute, late_s: late } = cycle;
    const full = period !== null && compute.max > period ? "bad" : "idle";
    rows.push(
      ["Cycle", `${brief(compute.median)}, 99 % ${brief(compute.p99)}, max. ${brief(compute.max)}`, full],
      ["Scheduling latency", `${brief(late.median)}, 99 % ${brief(late.p99)}, max. ${brief(late.max)}`, "idle"],
    );
  } else {
    rows.push(["Cycle", brief(status.compute_s), "idle"], ["Scheduling latency", brief(status.late_s), "idle"]);
  }
  const late = cycle ? `, ${cycle.late} in the last ${fixed(cycle.window_s, 0)} s` : "";
  rows.push(
    ["Late cycles", `${status.late ?? UNKNOWN}${late}`, cycle?.late ? "warn" : "idle"],
    ["Plant link round trip", brief(status.round_trip_s), status.feedback < 1 ? "warn" : "idle"],
    ["Missed periods", String(status.missed), "idle"],
    ["Frames not recorded", String(status.dropped), status.dropped ? "warn" : "idle"],
    ["Rigs", rigs(status.rigs), "idle"],
  );
  if (status.vehicle) rows.push(["Vehicle", vehicle(status.vehicle), status.vehicle.driver_lost ? "bad" : "idle"]);
  return rows;
}

/** Return the force that is nearest to the limit of its pattern, with limit and pattern. */
function internal(status, describe) {
  const patterns = describe?.internal_forces ?? [];
  const forces = status.pattern_forces_n ?? [];
  const ratio = (k) => Math.abs(forces[k] ?? 0) / patterns[k].limit_n;
  const [worst] = patterns.map((_, k) => k).sort((a, b) => ratio(b) - ratio(a));
  if (worst === undefined) return quantity(status.internal_force_n, "N");
  const { name, limit_n: limit } = patterns[worst];
  return `${quantity(forces[worst] ?? null, "N")}, limit ${quantity(limit, "N")}: ${name}`;
}

/** Shows the facts. */
export class Machine {
  constructor() {
    this._describe = null;
    this._shown = new Map();
  }

  hello({ describe }) {
    this._describe = describe;
  }

  status(status) {
    const rows = facts(status, this._describe);
    const names = new Set(rows.map(([name]) => name));
    for (const [name, [term, figure]] of this._shown) {
      if (names.has(name)) continue;
      term.remove();
      figure.remove();
      this._shown.delete(name);
    }
    for (const [name, text, tone] of rows) {
      const figure = this._figure(name);
      setText(figure, text);
      setTone(figure, tone);
    }
  }

  _figure(name) {
    const known = this._shown.get(name);
    if (known) return known[1];
    const made = [element("dt", "", name), element("dd")];
    this._shown.set(name, made);
    byId("machine").append(...made);
    return made[1];
  }
}

function following(peaks) {
  const most = Math.max(...(peaks ?? []).map((one) => Math.abs(one ?? NaN)));
  if (!Number.isFinite(most)) return UNKNOWN;
  return `${quantity(most, "m")} (actuator ${peaks.findIndex((one) => Math.abs(one) === most) + 1}), since arming`;
}

function rigs(found) {
  if (!found?.length) return "none";
  const late = (rig) => (Number.isFinite(rig.delay) ? `, ${rig.delay} steps late` : "");
  return found.map((rig) => `${rig.name} by ${rig.operator}, ${duration(rig.age_s)} ago${late(rig)}`).join("; ");
}

function vehicle(one) {
  if (one.driver_lost) return `${one.name}: DRIVER LOST`;
  if (one.driven) return `${one.name}, ${fixed(one.speed === null ? null : one.speed * 3.6, 1)} km/h`;
  const felt = ["x", "y", "z"].map((axis) => `${axis} ${fixed(one.seat?.rms?.[axis], 2)}`);
  return `${one.name}; seat ${felt.join(", ")} m/s² weighted`;
}
