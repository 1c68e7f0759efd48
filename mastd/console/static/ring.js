// The newest seconds of all traces, in memory that never grows, and their thinning for a picture.

const HEAD_BYTES = 16;
/** Periods without a frame from which on a trace is drawn with a gap. */
const GAP_PERIODS = 5;

/** Read one binary message: {count, channels, lost, times, values[channel]}. */
export function readTraces(buffer) {
  const view = new DataView(buffer);
  const count = view.getUint32(0, true);
  const channels = view.getUint32(4, true);
  const start = HEAD_BYTES + 8 * count;
  if (buffer.byteLength !== start + 4 * count * channels) throw new Error("a message of traces of a wrong length");
  return {
    count,
    channels,
    lost: view.getFloat64(8, true),
    times: new Float64Array(buffer, HEAD_BYTES, count),
    values: Array.from({ length: channels }, (_, index) => new Float32Array(buffer, start + 4 * count * index, count)),
  };
}

/** Times and values of the newest `capacity` frames. */
export class Ring {
  constructor(capacity, channels, period) {
    this.capacity = capacity;
    this.period = period;
    this.times = new Float64Array(capacity);
    this.values = Array.from({ length: channels }, () => new Float32Array(capacity));
    this.clear();
  }

  clear() {
    this.size = 0;
    this._next = 0;
  }

  /** Time of the newest frame, NaN if there is none. */
  get newest() {
    return this.size ? this.times[this._place(this.size - 1)] : NaN;
  }

  push({ count, times, values }) {
    if (!count) return;
    // Time runs backwards when the daemon has been started anew.
    if (this.size && times[0] <= this.newest) this.clear();
    const from = Math.max(0, count - this.capacity);
    for (let index = from; index < count;) {
      const room = Math.min(count - index, this.capacity - this._next);
      this.times.set(times.subarray(index, index + room), this._next);
      this.values.forEach((kept, channel) => kept.set(values[channel].subarray(index, index + room), this._next));
      this._next = (this._next + room) % this.capacity;
      index += room;
    }
    this.size = Math.min(this.capacity, this.size + count);
  }

  /** Newest value of a channel, NaN if there is none. */
  value(channel) {
    return this.size ? this.values[channel][this._place(this.size - 1)] : NaN;
  }

  /**
   * Return [x, y of each channel] of the last `seconds` for a picture of `bins` columns; x is 0 at the newest.
   *
   * Where there are more frames than columns, each column keeps its lowest and highest value, so that no peak is
   * lost. Columns stand at fixed times, not at fixed distances from now: else the picture would flicker.
   */
  picture(seconds, bins) {
    const newest = this.newest;
    const first = this._first(newest - seconds);
    const starts = this._columns(first, seconds / bins);
    const x = [];
    const y = this.values.map(() => []);
    let before = NaN;
    for (let column = 0; column + 1 < starts.length; column += 1) {
      const [from, to] = [starts[column], starts[column + 1]];
      const begins = this.times[this._place(from)];
      const ends = this.times[this._place(to - 1)];
      if (begins - before > GAP_PERIODS * this.period) {
        x.push((before + begins) / 2 - newest);
        for (const line of y) line.push(null);
      }
      before = ends;
      x.push(begins - newest);
      if (to - from > 1) x.push(ends - newest);
      this.values.forEach((values, channel) => this._extremes(values, from, to, y[channel]));
    }
    return [x, ...y];
  }

  /** Indices where columns begin, and the end. */
  _columns(first, width) {
    const starts = [];
    let column = NaN;
    for (let index = first; index < this.size; index += 1) {
      const own = Math.floor(this.times[this._place(index)] / width);
      if (own !== column) starts.push(index);
      column = own;
    }
    starts.push(this.size);
    return starts;
  }

  _extremes(values, from, to, line) {
    let place = this._place(from);
    if (to - from === 1) {
      line.push(known(values[place]));
      return;
    }
    let [low, high, lowAt, highAt] = [Infinity, -Infinity, 0, 0];
    for (let index = from; index < to; index += 1) {
      const value = values[place];
      if (value < low) [low, lowAt] = [value, index];
      if (value > high) [high, highAt] = [value, index];
      place = place + 1 === this.capacity ? 0 : place + 1;
    }
    if (low > high) line.push(null, null);
    else if (lowAt < highAt) line.push(low, high);
    else line.push(high, low);
  }

  /** Index of the first frame at or after a time. */
  _first(time) {
    let [low, high] = [0, this.size];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[this._place(middle)] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  _place(index) {
    return (this._next - this.size + index + this.capacity) % this.capacity;
  }
}

function known(value) {
  return Number.isFinite(value) ? value : null;
}
