// A simulated vehicle as a box on wheels. Its channels tell its attitude, its wheels' travel and load, not its
// shape: the size of the figure is no drawing of it.

import { BoxGeometry, CylinderGeometry, Group, Mesh, MeshLambertMaterial } from "./vendor/three/three.module.js";

const RADIUS = 0.36;
const WIDTH = 0.24;
const BODY_HEIGHT = 0.7;
const ABOVE_TABLE = 0.9;
const MOST_LEANING = 0.35;

/** The figure; on the table it moves with it, driven on its road it stands above the table and by itself. */
export class VehicleFigure {
  constructor(vehicle, describe, table, space) {
    const names = Object.keys(vehicle.travel ?? {});
    const axles = Math.max(1, Math.ceil(names.length / 2));
    const [length, width] = describe.table_size_m;
    this._driven = vehicle.driven;
    this._names = names;
    this._group = new Group();
    this._parent = this._driven ? space : table;
    const rest = this._driven ? describe.neutral_position_m[2] + describe.table_top_m + ABOVE_TABLE : describe.table_top_m;
    this._group.position.set(0, 0, rest);
    const long = length * 0.72;
    const wide = width * 0.72;
    const paint = { color: this._driven ? "#3f8f8a" : "#3f7fae", transparent: true, opacity: this._driven ? 0.45 : 0.9 };
    this._body = new Mesh(new BoxGeometry(long * 1.15, wide, BODY_HEIGHT), new MeshLambertMaterial(paint));
    this._group.add(this._body);
    this._wheels = names.map((name, index) => {
      const wheel = new Mesh(new CylinderGeometry(RADIUS, RADIUS, WIDTH, 20), new MeshLambertMaterial({ color: "#222a31" }));
      const axle = Math.floor(index / 2);
      const x = axles > 1 ? long * (0.5 - axle / (axles - 1)) * 0.85 : 0;
      wheel.position.set(x, (name.endsWith("r") ? -1 : 1) * (wide / 2), RADIUS);
      this._group.add(wheel);
      return wheel;
    });
    this._parent.add(this._group);
  }

  show(vehicle, pose, factor) {
    const travels = this._names.map((name) => vehicle.travel[name] ?? 0);
    const sunk = travels.length ? travels.reduce((sum, one) => sum + one, 0) / travels.length : 0;
    this._body.position.z = RADIUS + BODY_HEIGHT / 2 + 0.12 - sunk * factor;
    // Its attitude is told against level ground; on the table the figure already turns with the table.
    const [roll, pitch] = this._driven ? [0, 0] : [pose[3], pose[4]];
    this._body.rotation.set(leaning((vehicle.roll ?? 0) - roll, factor), leaning((vehicle.pitch ?? 0) - pitch, factor), 0);
    this._wheels.forEach((wheel, index) => {
      const load = vehicle.load?.[this._names[index]];
      wheel.material.color.set(load !== null && load <= 0 ? "#ff4d4d" : "#222a31");
    });
  }

  remove() {
    this._parent.remove(this._group);
  }
}

function leaning(angle, factor) {
  return Math.max(-MOST_LEANING, Math.min(MOST_LEANING, angle * factor));
}
