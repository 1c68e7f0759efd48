// The page's entry: brings the parts together and hands round what the connection hears.

import { Answers } from "./answers.js";
import { Connection } from "./connection.js";
import { Controls } from "./controls.js";
import { Events } from "./events.js";
import { Legs } from "./legs.js";
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
const connection = new Connection(`${scheme}://${location.host}/ws`, {
  hello(message) {
    for (const part of Object.values(parts)) part.hello?.(message);
  },
  status(status) {
    for (const part of Object.values(parts)) part.status?.(status);
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
parts.pose = new PoseTable();
parts.legs = new Legs();
parts.machine = new Machine();
parts.events = events;

connection.begin();
