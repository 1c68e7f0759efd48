// Turns a camera about a point: drag turns, wheel or two fingers come nearer, with the shift key it moves along.

import { Spherical, Vector3 } from "./vendor/three/three.module.js";

const TURN = 0.006;
const LEAST_POLAR = 0.05;
const MOST_POLAR = Math.PI / 2 + 0.15;

/** Orbit of `camera`, whose up is z, at 2 to 40 m times `scale`; `changed()` is called after every move. */
export class Orbit {
  constructor(camera, surface, target, scale, changed) {
    this._scale = scale;
    this.target = target;
    this._camera = camera;
    this._surface = surface;
    this._changed = changed;
    this._place = new Spherical();
    this._fingers = new Map();
    surface.addEventListener("pointerdown", (event) => {
      surface.setPointerCapture(event.pointerId);
      this._fingers.set(event.pointerId, [event.clientX, event.clientY]);
    });
    for (const kind of ["pointerup", "pointercancel"]) {
      surface.addEventListener(kind, (event) => this._fingers.delete(event.pointerId));
    }
    surface.addEventListener("pointermove", (event) => this._move(event));
    // The wheel belongs to the page until the picture has been clicked.
    surface.addEventListener("wheel", (event) => {
      if (document.activeElement !== surface) return;
      event.preventDefault();
      this._nearer(Math.exp(event.deltaY * 0.001));
    }, { passive: false });
  }

  /** Look from a side and a height (rad) at a distance. */
  look(side, height, distance) {
    this._place.set(distance, Math.PI / 2 - height, side);
    this._apply();
  }

  _move(event) {
    const before = this._fingers.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY];
    const other = [...this._fingers].find(([id]) => id !== event.pointerId)?.[1];
    this._fingers.set(event.pointerId, now);
    const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
    if (other) {
      this._nearer(Math.hypot(before[0] - other[0], before[1] - other[1])
        / Math.max(1, Math.hypot(now[0] - other[0], now[1] - other[1])));
    } else if (event.shiftKey) {
      this._along(dx, dy);
    } else {
      this._place.theta -= dx * TURN;
      this._place.phi -= dy * TURN;
    }
    this._apply();
  }

  _nearer(factor) {
    this._place.radius = Math.min(40 * this._scale, Math.max(2 * this._scale, this._place.radius * factor));
    this._apply();
  }

  _along(dx, dy) {
    const step = this._place.radius / this._surface.clientHeight;
    const right = new Vector3().setFromMatrixColumn(this._camera.matrix, 0);
    const up = new Vector3().setFromMatrixColumn(this._camera.matrix, 1);
    this.target.addScaledVector(right, -dx * step).addScaledVector(up, dy * step);
  }

  _apply() {
    const { radius, theta } = this._place;
    const phi = Math.min(MOST_POLAR, Math.max(LEAST_POLAR, this._place.phi));
    this._place.phi = phi;
    this._camera.position.set(
      this.target.x + radius * Math.sin(phi) * Math.cos(theta),
      this.target.y + radius * Math.sin(phi) * Math.sin(theta),
      this.target.z + radius * Math.cos(phi),
    );
    this._camera.lookAt(this.target);
    this._camera.updateMatrixWorld();
    this._changed();
  }
}
