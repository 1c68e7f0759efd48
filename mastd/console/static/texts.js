// What the states mean and why a verb would be refused now; the daemon decides, this only says it beforehand.

import { VERBS } from "./verbs.js";

/** Colour, meaning and the next step of every state (docs/operating.md). */
export const STATES = {
  OFF: ["idle", "Supply off, table on its lower stops.", "Raise: supply on, table to neutral."],
  LOW: ["moving", "Supply pressure building up; table at rest.", "Continues by itself to the high stage."],
  HIGH: ["moving", "Supply pressure nearly reached; table at rest.", "Continues by itself to raising."],
  RAISING: ["moving", "Table moving to neutral.", "Continues by itself to READY."],
  READY: ["good", "Table at rest, pressurised.", "Load a profile and arm it, jog, or lower."],
  ARMED: ["warn", "Ready to run: START moves the table.", "Start, or stop to return to READY."],
  RUNNING: ["moving", "Program running.", "Ends by itself; hold pauses it, stop ends it."],
  HOLD: ["warn", "Test paused (hold).", "Resume continues it; stop ends it."],
  STOPPING: ["warn", "Table decelerating to rest.", "Wait for standstill."],
  LOWERING: ["moving", "Table moving down onto its stops.", "The supply switches off when it is down."],
  FAULT: ["bad", "Fault latched.", "Follow the instruction shown here, then lower or reset."],
  ESTOP: ["bad", "Emergency stop: supply off; the drive lowers the table.", "Make sure that everybody is safe, release, then reset."],
};

const NEEDS_CAUSE = new Set(["OFF", "READY"]);

/** Return the state as people read it: that of the table, or that the loop does not show one. */
export function stateShown(status) {
  if (status.loop === "running") {
    const [tone, means, next] = STATES[status.state] ?? ["warn", "", ""];
    return { word: status.state, tone, means, next };
  }
  const tone = status.loop === "preparing" ? "moving" : "bad";
  return { word: `LOOP ${String(status.loop).toUpperCase()}`, tone, means: status.advice, next: "" };
}

/** Return why a verb would not be taken now, empty if it may be tried. */
export function hindrance(verb, status, operator, role) {
  if (verb === "stop" || verb === "estop") return "";
  if (!status) return "no status received yet";
  if (role !== "operator") return "you are an observer: watch, stop and e-stop only";
  const holder = status.lease?.holder;
  if (holder && holder !== operator) return `${holder} has control for another ${Math.ceil(status.lease.left_s)} s`;
  if (verb === "release") return holder ? "" : "control is free";
  if (status.loop !== "running") return status.advice;
  const { states } = VERBS[verb];
  if (!states.includes(status.state)) return `${verb} is for ${listed(states)}; the state is ${status.state}`;
  if (verb === "reset" && NEEDS_CAUSE.has(status.state) && !status.cause) return "no cause is latched";
  return "";
}

function listed(names) {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
