// The table in three dimensions: ground, legs, plate and vehicle, in metres of frame B.

import {
  AmbientLight, BoxGeometry, CanvasTexture, Color, CylinderGeometry, DirectionalLight, EdgesGeometry, Euler,
  GridHelper, Group, LineBasicMaterial, LineSegments, Mesh, MeshLambertMaterial, PerspectiveCamera, Quaternion, Scene as Space, SphereGeometry, Sprite, SpriteMaterial, Vector3,
  WebGLRenderer,
} from "./vendor/three/three.module.js";
import { Orbit } from "./orbit.js";
import { VehicleFigure } from "./vehicle_figure.js";

/** Reach of the joints from the table's axis and height of C, m, of a table that is drawn with scale 1. */
const REACH = [4, 2.1];
/** Side and height of the eye in rad, distance in m at scale 1. */
const SIDES = {
  corner: [-0.95, 0.3, 9.8],
  side: [-Math.PI / 2, 0.06, 9.4],
  front: [0, 0.06, 9.4],
  top: [-Math.PI / 2, 1.5, 9.4],
};
/** Width in pixels at the left of a large picture that figures lie over. */
const FIGURES = 250;
const CALM = new Color("#4f9fe8");
const NEAR = new Color("#ffb02e");
const END = new Color("#ff4d4d");
const STEEL = "#5d6b78";
const UP = new Vector3(0, 1, 0);

/** Draws into `place`; `changed()` is called when the picture must be drawn anew. Raises where WebGL is missing. */
export class Scene {
  constructor(place, describe, changed) {
    this._place = place;
    this._describe = describe;
    this._renderer = new WebGLRenderer({ antialias: true, powerPreference: "low-power" });
    this._renderer.setPixelRatio(Math.min(1.5, window.devicePixelRatio));
    const canvas = this._renderer.domElement;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "Picture of the table, its actuators and payload; the figures are listed next to it");
    place.append(canvas);
    this._space = new Space();
    this._space.background = new Color("#12181e");
    this._scale = scaleOf(describe);
    this._camera = new PerspectiveCamera(32, 1, 0.1 * this._scale, 100 * this._scale);
    this._camera.up.set(0, 0, 1);
    this._neutral = new Vector3(...describe.neutral_position_m);
    this._orbit = new Orbit(this._camera, canvas, this._neutral.clone(), this._scale, changed);
    this._furnish();
    this._legs = describe.links.map((link, index) => new Leg(link, index + 1, this._space, this._scale));
    this._plate();
    this._pose = [0, 0, 0, 0, 0, 0];
    this._vehicle = null;
    this._vehicleKey = "";
    this._observer = new ResizeObserver(() => this._resize(changed));
    this._observer.observe(place);
    this._resize(changed);
  }

  destroy() {
    this._observer.disconnect();
    this._renderer.domElement.remove();
    this._renderer.dispose();
  }

  look(side) {
    this._side = side;
    const [turn, height, distance] = SIDES[side];
    // What stands on the table makes the whole higher.
    const [middle, further] = this._vehicle ? [0.78, 1.22] : [0.53, 1];
    const scale = this._scale;
    this._orbit.target.set(this._neutral.x - 0.5 * scale, this._neutral.y - 0.4 * scale, this._neutral.z * middle);
    this._orbit.look(turn, height, distance * further * scale);
  }

  /** Draw what a status tells; a pose that is not known leaves the table where it was seen last, and pale. */
  draw(status, factor) {
    const known = poseKnown(status);
    if (known) this._pose = status.pose;
    const pose = this._pose.map((value) => value * factor);
    this._table.position.set(pose[0], pose[1], pose[2]).add(this._neutral);
    this._table.quaternion.setFromEuler(new Euler(pose[3], pose[4], pose[5], "ZYX"));
    this._table.updateMatrixWorld(true);
    this._paint.opacity = known ? 1 : 0.25;
    this._legs.forEach((leg, index) => leg.show(this._table, status.lengths_m[index]));
    this._showVehicle(status.vehicle, this._pose, factor);
    this._renderer.render(this._space, this._camera);
  }

  _furnish() {
    const scale = this._scale;
    const grid = new GridHelper(12 * scale, 24, "#3a4854", "#232d36");
    grid.rotation.x = Math.PI / 2;
    const sun = new DirectionalLight("#ffffff", 2.2);
    sun.position.set(-3, -6, 9);
    this._space.add(grid, new AmbientLight("#c8d6e4", 1.3), sun);
    [["x forward", "#ff8a8a", [1, 0, 0]], ["y", "#7fe0a0", [0, 1, 0]], ["z", "#8fbcff", [0, 0, 1]]].forEach(([text, colour, way]) => {
      const origin = new Vector3(-2.3, -3.3, 0.01).multiplyScalar(scale);
      const tip = new Vector3(...way).multiplyScalar(0.8 * scale).add(origin);
      this._space.add(rod(origin, tip, 0.02 * scale, colour));
      const label = word(text, colour, 0.3 * scale);
      label.position.copy(tip).addScaledVector(new Vector3(...way), 0.22 * scale);
      this._space.add(label);
    });
  }

  _plate() {
    const { table_size_m: size, table_top_m: top, links } = this._describe;
    this._table = new Group();
    this._paint = new MeshLambertMaterial({ color: "#6f8192", transparent: true });
    const plate = new Mesh(new BoxGeometry(...size), this._paint);
    const edges = new EdgesGeometry(plate.geometry);
    const outline = new LineSegments(edges, new LineBasicMaterial({ color: "#d5e2ee" }));
    // Where the plate is at neutral, so that a small motion can be seen.
    const neutral = new LineSegments(edges, new LineBasicMaterial({ color: "#4f6272" }));
    for (const part of [plate, outline]) {
      part.position.z = top - size[2] / 2;
      this._table.add(part);
    }
    neutral.position.copy(this._neutral).add(plate.position);
    this._space.add(neutral);
    for (const link of links) {
      const joint = new Vector3(...link.table_m);
      const near = joint.clone().clamp(
        new Vector3(-size[0] / 2, -size[1] / 2, top - size[2]), new Vector3(size[0] / 2, size[1] / 2, top));
      if (near.distanceTo(joint) > 0.02) this._table.add(rod(near, joint, 0.09 * this._scale, STEEL));
    }
    this._space.add(this._table);
  }

  _showVehicle(vehicle, pose, factor) {
    const key = vehicle ? [vehicle.name, vehicle.driven, ...Object.keys(vehicle.travel ?? {})].join() : "";
    if (key !== this._vehicleKey) {
      this._vehicle?.remove();
      this._vehicle = vehicle ? new VehicleFigure(vehicle, this._describe, this._table, this._space) : null;
      this._vehicleKey = key;
      this.look(this._side);
    }
    this._vehicle?.show(vehicle, pose, factor);
  }

  _resize(changed) {
    const [width, height] = [Math.max(50, this._place.clientWidth), Math.max(50, this._place.clientHeight)];
    this._renderer.setSize(width, height, false);
    this._camera.aspect = width / height;
    const shift = width > 3 * FIGURES ? FIGURES / 2 : 0;
    this._camera.setViewOffset(width, height, -shift, 0, width, height);
    this._camera.updateProjectionMatrix();
    changed();
  }
}

/** Return whether a status tells where the table is. */
export function poseKnown(status) {
  return status.pose.every((value) => value !== null);
}

/** One leg: cylinder, rod, joints, number; the rod's colour tells how much of the stroke is used. */
/** How much larger a table is than one of the joints' REACH: bars and distances are drawn that much larger. */
function scaleOf({ links, neutral_position_m: neutral }) {
  const joints = links.map(({ base_m: [x, y] }) => Math.hypot(x - neutral[0], y - neutral[1]));
  return Math.max(...joints.map((one) => one / REACH[0]), neutral[2] / REACH[1]);
}

class Leg {
  constructor(link, number, space, scale) {
    this._link = link;
    this._scale = scale;
    this._base = new Vector3(...link.base_m);
    this._joint = new Vector3(...link.table_m);
    this._colour = new MeshLambertMaterial({ color: CALM });
    this._cylinder = new Mesh(new CylinderGeometry(0.11 * scale, 0.11 * scale, 1, 20), new MeshLambertMaterial({ color: "#3d4954" }));
    this._rod = new Mesh(new CylinderGeometry(0.055 * scale, 0.055 * scale, 1, 16), this._colour);
    this._foot = ball(0.13 * scale);
    this._foot.position.copy(this._base);
    this._head = ball(0.1 * scale);
    this._label = word(String(number), "#ffffff", 0.34 * scale);
    space.add(this._cylinder, this._rod, this._foot, this._head, this._label);
    const ground = new Vector3(this._base.x, this._base.y, 0);
    if (this._base.z > 0.2 * scale) space.add(rod(ground, this._base, 0.12 * scale, "#39444e"));
  }

  show(table, length) {
    const tip = this._joint.clone().applyMatrix4(table.matrixWorld);
    const middle = this._base.clone().lerp(tip, 0.55);
    stretch(this._cylinder, this._base, middle);
    stretch(this._rod, middle, tip);
    this._head.position.copy(tip);
    this._label.position.copy(this._base).lerp(tip, 0.3);
    this._label.position.y -= 0.24 * this._scale;
    const share = length === null ? 0 : Math.abs(length - this._link.neutral_length_m) / this._link.stroke_m;
    if (share < 0.7) this._colour.color.copy(CALM).lerp(NEAR, Math.max(0, (share - 0.3) / 0.4));
    else this._colour.color.copy(NEAR).lerp(END, Math.min(1, (share - 0.7) / 0.25));
  }
}

/** A fixed bar between two points. */
function rod(from, to, radius, colour) {
  const made = new Mesh(new CylinderGeometry(radius, radius, 1, 12), new MeshLambertMaterial({ color: colour }));
  stretch(made, from, to);
  return made;
}

function ball(radius) {
  return new Mesh(new SphereGeometry(radius, 18, 12), new MeshLambertMaterial({ color: STEEL }));
}

/** Place a cylinder of length 1 between two points. */
function stretch(cylinder, from, to) {
  const way = to.clone().sub(from);
  const length = Math.max(1e-6, way.length());
  cylinder.position.copy(from).addScaledVector(way, 0.5);
  cylinder.scale.y = length;
  cylinder.quaternion.copy(new Quaternion().setFromUnitVectors(UP, way.divideScalar(length)));
}

/** A word that always faces the reader, `height` m high. */
function word(text, colour, height) {
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d");
  const font = "bold 64px system-ui, sans-serif";
  pen.font = font;
  canvas.width = Math.ceil(pen.measureText(text).width) + 16;
  canvas.height = 80;
  pen.font = font;
  pen.fillStyle = colour;
  pen.textBaseline = "middle";
  pen.fillText(text, 8, 42);
  const sprite = new Sprite(new SpriteMaterial({ map: new CanvasTexture(canvas), depthTest: false }));
  sprite.scale.set((height * canvas.width) / canvas.height, height, 1);
  return sprite;
}
