// What this browser can paint with. Where the processor itself has to paint, pictures come less often: the daemon
// may run on the same machine.

/** "none" without WebGL, "slow" where the processor does a graphics card's work, else "fast". */
export const graphics = found();

/** Shortest time between two pictures in ms. */
export const VIEW_MS = graphics === "fast" ? 1000 / 30 : 160;
export const TRACES_MS = graphics === "fast" ? 1000 / 30 : 80;

function found() {
  if (offers({ failIfMajorPerformanceCaveat: true })) return "fast";
  return offers({}) ? "slow" : "none";
}

function offers(attributes) {
  const context = document.createElement("canvas").getContext("webgl2", attributes);
  context?.getExtension("WEBGL_lose_context")?.loseContext();
  return context !== null;
}
