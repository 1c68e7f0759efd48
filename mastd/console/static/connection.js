// The WebSocket to the console, and the judgement whether what is shown is still true.
//
// Phases: "connecting" before anything has come, "live", "lost" (the console is silent), "daemon" (the console
// answers, the daemon does not). Live needs a greeting, and after it a status: old values are never shown as new.

const SILENT_MS = 3000;
const PING_MS = 1000;
const LOOK_MS = 250;
const AGAIN_MS = 1000;
const PATIENCE_MS = 5000;

/** Keeps one connection up; `hear` is an object of handlers: hello, status, traces, confirmed, phase. */
export class Connection {
  constructor(address, hear) {
    this.phase = "connecting";
    this.reason = "";
    this.attempts = 0;
    this.statusAt = null;
    this._address = address;
    this._hear = hear;
    this._socket = null;
    this._open = false;
    this._greeted = false;
    this._pongAt = 0;
    this._pingAt = 0;
    this._openedAt = 0;
    this._triedAt = -Infinity;
    this._lookedAt = performance.now();
    this._number = 0;
    this._waiting = new Map();
  }

  begin() {
    this._connect();
    setInterval(() => this._look(), LOOK_MS);
  }

  /** Seconds since the newest status, null if there was none. */
  age() {
    return this.statusAt === null ? null : (performance.now() - this.statusAt) / 1000;
  }

  /** Send a command; return a promise of its answer, which is rejected when the connection is lost before. */
  command(verb, parameters = {}) {
    const id = ++this._number;
    return new Promise((resolve, reject) => {
      if (!this._send({ kind: "command", id, verb, arguments: parameters })) {
        reject(new Error("there is no connection"));
        return;
      }
      this._waiting.set(id, { resolve, reject });
    });
  }

  /** Ask for the traces of some channels. */
  traces(channels) {
    this._send({ kind: "traces", channels });
  }

  _connect() {
    this._triedAt = performance.now();
    this.attempts += 1;
    const socket = new WebSocket(this._address);
    socket.binaryType = "arraybuffer";
    this._socket = socket;
    this._open = false;
    this._greeted = false;
    socket.onopen = () => {
      if (socket !== this._socket) return;
      this._open = true;
      this._openedAt = this._pongAt = performance.now();
      this._ping();
    };
    socket.onmessage = (event) => {
      if (socket === this._socket) this._take(event.data);
    };
    socket.onclose = (event) => {
      if (socket === this._socket) this._drop(event.reason || "the console has closed the connection");
    };
  }

  _take(data) {
    if (typeof data !== "string") {
      this._hear.traces(data);
      return;
    }
    const message = JSON.parse(data);
    const now = performance.now();
    // Timers of hidden pages are slow, messages are not.
    if (now - this._pingAt > PING_MS) this._ping();
    if (message.kind === "status") {
      this.statusAt = now;
      this._hear.status(message.status);
      if (this._greeted && this.phase !== "live") this._enter("live", "");
    } else if (message.kind === "pong") {
      this._pongAt = now;
    } else if (message.kind === "hello") {
      this._greeted = true;
      this._hear.hello(message);
    } else if (message.kind === "lost") {
      this._greeted = false;
      this._enter("daemon", message.reason);
    } else if (message.kind === "answer") {
      this._waiting.get(message.id)?.resolve(message);
      this._waiting.delete(message.id);
    } else if (message.kind === "traces") {
      this._hear.confirmed(message);
    }
  }

  _look() {
    const now = performance.now();
    const stood = now - this._lookedAt > 4 * LOOK_MS;
    this._lookedAt = now;
    if (this._socket === null) {
      if (now - this._triedAt >= AGAIN_MS) this._connect();
      return;
    }
    if (this._open && now - this._pingAt >= PING_MS) this._ping();
    // A page that stood still itself has messages waiting: they are heard before it judges.
    if (!stood) this._judge(now);
  }

  _judge(now) {
    if (!this._open) {
      if (now - this._triedAt > PATIENCE_MS) this._drop("the console does not answer");
    } else if (now - this._pongAt > SILENT_MS) {
      this._drop("the console does not answer");
    } else if (this.phase === "live" && now - this.statusAt > SILENT_MS) {
      this._drop("no status received any more");
    } else if (this.phase !== "live" && this.phase !== "daemon" && now - this._openedAt > PATIENCE_MS) {
      this._drop("the console sends nothing");
    }
  }

  _drop(reason) {
    const socket = this._socket;
    this._socket = null;
    this._open = false;
    socket?.close();
    for (const { reject } of this._waiting.values()) {
      reject(new Error("the connection was lost; whether it was carried out is not known"));
    }
    this._waiting.clear();
    this._enter("lost", reason);
  }

  _enter(phase, reason) {
    this.phase = phase;
    this.reason = reason;
    if (phase === "live") this.attempts = 0;
    this._hear.phase(phase, reason);
  }

  _ping() {
    this._pingAt = performance.now();
    this._send({ kind: "ping", id: ++this._number });
  }

  _send(message) {
    if (!this._open || this._socket.readyState !== WebSocket.OPEN) return false;
    this._socket.send(JSON.stringify(message));
    return true;
  }
}
