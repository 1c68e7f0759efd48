// The page's entry: brings the parts together and hands round what the connection hears.

import { Answers } from "./answers.js";
import { Connection } from "./connection.js";
import { Controls } from "./controls.js";
import { Events } from "./events.js";
import { Legs } from "./legs.js";
import { Painter } from "./graphics.js";
import { LostBanner } from "./lost.js";
import { Machine } from "./machine.js";
import { Profiles } from "./profiles.js";
import { StatusView } from "./status_view.js";
import { Traces } from "./traces.js";
import { PoseTable } from "./pose.js";
import { View } from "./view.js";

const scheme = location.protocol === "https:" ? "wss" : "ws";
const events = new Events();
const parts = {};
/** Figures: nobody reads more than ten a second. */
const figures = [];
const FIGURES_MS = 100;
let newest = null;
const painter = new Painter(() => {
  for (const part of figures) part.status(newest);
});
const connection = new Connection(`${scheme}://${location.host}/ws`, {
  hello(message) {
    for (const part of [...Object.values(parts), ...figures]) part.hello?.(message);
  },
  status(status) {
    for (const part of Object.values(parts)) part.status?.(status);
    newest = status;
    painter.ask(FIGURES_MS);
  },
  traces(buffer) {
    parts.traces.take(buffer);
  },
  confirmed(message) {
    parts.traces.confirmed(message);
  },
  phase(phase, reason) {
    banner.show();
    events.phase(phase, reason);
  },
});
const banner = new LostBanner(connection);
const answers = new Answers(connection, events);

parts.view = new View();
parts.state = new StatusView();
parts.controls = new Controls(answers);
parts.profiles = new Profiles(answers, parts.controls);
parts.traces = new Traces(connection);
parts.events = events;
figures.push(new PoseTable(), new Legs(), new Machine());

connection.begin();
