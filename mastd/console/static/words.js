// What the states mean and why a verb would be refused now; the daemon decides, this only says it beforehand.

import { VERBS } from "./verbs.js";

/** Colour, meaning and the next step of every state (docs/operating.md). */
export const STATES = {
  OFF: ["idle", "Supply off, table on its lower stops.", "Raise brings the supply up and the table to neutral."],
  LOW: ["moving", "The supply comes up; the table lies where it is.", "It goes on by itself to the high stage."],
  HIGH: ["moving", "The supply is nearly up; the table lies where it is.", "It goes on by itself to raising."],
  RAISING: ["moving", "The table goes to neutral.", "It goes on by itself to READY."],
  READY: ["good", "The table stands.", "Load a profile and arm it, jog, or lower."],
  ARMED: ["warn", "Everything is checked: START moves the table.", "Start, or stop to go back to READY."],
  RUNNING: ["moving", "The profile plays.", "It ends by itself; hold pauses it, stop ends it."],
  HOLD: ["warn", "The profile's time stands still.", "Resume goes on where it stands; stop ends it."],
  STOPPING: ["warn", "The motion is brought to rest.", "Wait for standstill."],
  LOWERING: ["moving", "The table goes down onto its stops.", "The supply goes off when it is down."],
  FAULT: ["bad", "Something was wrong; the cause is latched.", "Do what stands here, then lower or reset."],
  ESTOP: ["bad", "Supply off; the drive lets the table down.", "See that everybody is safe, release, then reset."],
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
  if (!status) return "nothing is known of the table yet";
  if (role !== "operator") return "you are an observer: watch, stop and e-stop only";
  const holder = status.lease?.holder;
  if (holder && holder !== operator) return `${holder} commands for another ${Math.ceil(status.lease.left_s)} s`;
  if (verb === "release") return holder ? "" : "nobody commands";
  if (status.loop !== "running") return status.advice;
  const { states } = VERBS[verb];
  if (!states.includes(status.state)) return `${verb} is for ${listed(states)}; the state is ${status.state}`;
  if (verb === "reset" && NEEDS_CAUSE.has(status.state) && !status.cause) return "no cause is latched";
  return "";
}

function listed(names) {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
