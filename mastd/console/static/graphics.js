// What this browser can paint with. Where the processor itself has to paint, pictures come less often: the daemon
// may run on the same machine.

/** Names that programs have which do a graphics card's work without one. */
const PROCESSORS = /swiftshader|llvmpipe|softpipe|software|basic render/i;

/** "none" without WebGL, "slow" where the processor does a graphics card's work, else "fast". */
export const graphics = found();

/** Shortest time between two pictures in ms. */
export const VIEW_MS = graphics === "fast" ? 1000 / 30 : 200;
export const TRACES_MS = graphics === "fast" ? 1000 / 30 : 160;

/** Paints when asked, at most once in a time, and never while the page is hidden: nothing turns without need. */
export class Painter {
  constructor(paint) {
    this._paint = paint;
    this._asked = false;
    this._paintedAt = -Infinity;
  }

  /** Ask for a picture, at least `interval` ms after the last one. */
  ask(interval) {
    if (this._asked) return;
    this._asked = true;
    const wait = this._paintedAt + interval - performance.now();
    setTimeout(() => requestAnimationFrame(() => {
      this._asked = false;
      this._paintedAt = performance.now();
      this._paint();
    }), Math.max(0, wait));
  }
}

function found() {
  const context = document.createElement("canvas").getContext("webgl2");
  if (context === null) return "none";
  const names = context.getExtension("WEBGL_debug_renderer_info");
  const card = names ? String(context.getParameter(names.UNMASKED_RENDERER_WEBGL)) : "";
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return PROCESSORS.test(card) ? "slow" : "fast";
}
