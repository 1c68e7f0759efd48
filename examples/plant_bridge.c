/* The plant's end of the plant link (docs/protocol.md): a skeleton for the bridge to a real drive.
 *
 *     plant_bridge [--address ADDRESS] [--mode free-run|lockstep] [--period-ns N] [--allow-remote]
 *
 * Everything about the link is complete. What belongs to your drive stands in the part THE DRIVE, between the marks
 * "your drive" and "end": here a pretended, ideal one, so that a daemon can raise, play and lower against this
 * program as it is. Replace it, set SIMULATED to false, and start with the table lowered and nobody near it.
 * Ends on SIGTERM or SIGINT with 0; 2 says that it could not begin.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "wire.h"

/* What both ends have to agree on. The hashes are those of the layouts' texts, for instance
 *     printf '%s' 'command;lengths:7:m;rates:7:m/s;…;payload_wrench:6:N, N m' | sha256sum
 * A daemon with another number of links or accelerometers in its table's settings is refused by them. */
#define LINKS 7
#define ACCELEROMETERS 8
#define SAMPLE_SHA256 "c0086770c089978cae2c43e75eff1a2f914d519fbe252c4bcd5608b3dc4b6106"
#define COMMAND_SHA256 "e69a8f5fdc881bd85d3d1ca37dc9a9a36e42343bf5c21fbe9ba5b74850a7a898"
#define PROTOCOL_VERSION 1
#define NAME "plant_bridge"
#define SIMULATED true /* false as soon as oil flows */

#define SECOND 1000000000LL
#define SILENCE_NS (2 * SECOND)        /* then another daemon may have the place */
#define OLDEST_NS (SECOND / 50)        /* age of the sample that a command may answer */
#define COMPLAINT_NS (SECOND / 2)      /* between two complaints */
#define MESSAGES_PER_PERIOD 1024
#define LARGEST_MESSAGE (64 * 1024)
#define SHORTEST_PERIOD_NS 100000LL
#define LONGEST_PERIOD_NS 100000000LL

struct command_block {
    double lengths[LINKS];          /* m, at the end of the coming period */
    double rates[LINKS];            /* m/s */
    double accelerations[LINKS];    /* m/s2 */
    double force_references[LINKS]; /* N, tension negative */
    double valve_trims[LINKS];      /* m/s, added to the no-load speed asked of the valve */
    double payload_wrench[6];       /* for simulated plants only */
};
#define COMMAND_VALUES (5 * LINKS + 6)
_Static_assert(sizeof(struct command_block) == COMMAND_VALUES * sizeof(double), "a block has no gaps");

struct sample_block {
    double lengths[LINKS];         /* m */
    double pressures[LINKS][2];    /* Pa */
    double spools[LINKS];          /* 1 is fully open to chamber 1 */
    double supply_pressure;        /* Pa */
    double return_pressure;        /* Pa */
    double supply_flow;            /* m3/s */
    double oil_temperature;        /* K */
    double oil_level;              /* 1 is full */
    double accumulator_volume;     /* m3 */
    double filter_pressure_drop;   /* Pa */
    double accelerometers[ACCELEROMETERS]; /* m/s2, gravity included */
};
#define SAMPLE_VALUES (4 * LINKS + 7 + ACCELEROMETERS)
_Static_assert(sizeof(struct sample_block) == SAMPLE_VALUES * sizeof(double), "a block has no gaps");

enum drive_mode { DISABLED, FOLLOW, LOWER };
enum stage { OFF, LOW, HIGH };
enum flag {
    ESTOP = 1 << 0,
    SUPPLY_FAULT = 1 << 1,
    OIL_OVERHEATED = 1 << 2,
    OIL_LOW = 1 << 3,
    FILTER_BLOCKED = 1 << 4,
    DRIVE_FADING = 1 << 5,
    DRIVE_LOWERING = 1 << 6,
    DRIVE_TIMED_OUT = 1 << 7,
};

struct command {
    int64_t mode, stage;
    struct command_block block;
};

struct sample {
    int64_t stage, flags;
    uint8_t valid[(SAMPLE_VALUES + 7) / 8]; /* a bit per value of the block, least significant first */
    struct sample_block block;
};

/* === THE DRIVE ===
 * your drive: here it is pretended. Each link follows its set-point closely and pushes with exactly the force that
 * the daemon expects; the supply's pressure rises and falls evenly. A real drive moves by itself:
 * drive_advance then only watches the time-out, if the drive does not do so on its own. */

#define BANDWIDTH 100.0           /* rad/s */
#define FASTEST 0.6               /* m/s */
#define COMMAND_TIMEOUT_S 0.12    /* without commands: fade the last rate out, hold, then lower the table */
#define FADE_S 0.2
#define HOLD_S 2.0
#define LOWERING_SPEED 0.01       /* m/s */
#define NO_LOAD_SPEED 0.8         /* m/s with the valve fully open */
#define PISTON_AREA 0.0095        /* m2, both sides */
#define RETURN_PRESSURE 4e5       /* Pa */
#define RISE_TIME_S 0.5           /* from nothing to the high stage */
#define STIFFNESS 2e8             /* N/m, of the oil of one link */
#define GRAVITY 9.80665

static const double STAGE_PRESSURE[] = {RETURN_PRESSURE, 70e5, 210e5};
/* On the lower stops, 50 mm below neutral: four vertical links, then two lateral ones and the longitudinal one. */
static const double RESTING[LINKS] = {1.15, 1.15, 1.15, 1.15, 1.2010412149, 1.2010412149, 1.2010412149};
static const double WARP[4] = {0.5, -0.5, 0.5, -0.5}; /* how their forces can balance each other and move nothing */
static const double STROKE[2] = {1.15, 1.25}; /* m, shortest and longest */
/* Share of the vertical along each accelerometer, the table level: four look upwards, two to the left, two ahead. */
static const double UPWARDS[ACCELEROMETERS] = {1, 1, 1, 1, 0, 0, 0, 0};

struct drive {
    struct command newest;
    double lengths[LINKS], rates[LINKS], forces[LINKS];
    double heave_rate, heave_acceleration; /* as the vertical links have them */
    double supply_pressure;
    double silent_s; /* since the newest command */
    int64_t flags;
    uint32_t noise;
};

/* Reach the drive; false if it does not answer. */
static bool drive_open(struct drive *drive)
{
    memset(drive, 0, sizeof *drive);
    memcpy(drive->lengths, RESTING, sizeof RESTING);
    drive->supply_pressure = RETURN_PRESSURE;
    drive->noise = 1;
    return true;
}

/* Write a new command to the drive: mode, requested stage, set-points. They are finite; no more is known of them.
 * Two clocks beat: its set-points are brought up to now at their rates, passed_s after the sample that it answers. */
static void drive_write(struct drive *drive, const struct command *command, double passed_s)
{
    drive->newest = *command;
    for (int k = 0; k < LINKS; k++)
        drive->newest.block.lengths[k] += passed_s * command->block.rates[k];
    drive->silent_s = 0.0;
}

/* Second order, critically damped, in a step that is stable for any period. The set-point goes on at its rate, so that
 * a period without a command is bridged. */
static void follow(struct drive *drive, double period_s)
{
    double turn = BANDWIDTH * period_s;
    struct command_block *to = &drive->newest.block;
    for (int k = 0; k < LINKS; k++) {
        double distance = fmin(fmax(to->lengths[k], STROKE[0]), STROKE[1]) - drive->lengths[k];
        double rate = drive->rates[k] + turn * (BANDWIDTH * distance + 2.0 * to->rates[k]);
        drive->rates[k] = fmin(fmax(rate / (1.0 + 2.0 * turn + turn * turn), -FASTEST), FASTEST);
        drive->lengths[k] += drive->rates[k] * period_s;
        drive->forces[k] = to->force_references[k];
        to->lengths[k] += to->rates[k] * period_s;
    }
    double bound = 0.0; /* the four vertical links fight each other as far as they do not end in one plane */
    for (int k = 0; k < 4; k++)
        bound += WARP[k] * (STIFFNESS * drive->lengths[k] - drive->forces[k]);
    for (int k = 0; k < 4; k++)
        drive->forces[k] += WARP[k] * bound;
}

static void fade(struct drive *drive, double left, double period_s)
{
    for (int k = 0; k < LINKS; k++) {
        double length = drive->lengths[k] + left * drive->rates[k] * period_s;
        drive->lengths[k] = fmin(fmax(length, STROKE[0]), STROKE[1]);
    }
}

/* All links reach their stops at the same time, so that their lengths fit one table all the way. */
static void lower(struct drive *drive, double period_s)
{
    double farthest = 0.0;
    for (int k = 0; k < LINKS; k++)
        farthest = fmax(farthest, fabs(RESTING[k] - drive->lengths[k]));
    bool moving = farthest > 0.0;
    double share = moving ? fmin(LOWERING_SPEED * period_s / farthest, 1.0) : 0.0;
    for (int k = 0; k < LINKS; k++) {
        double step = share * (RESTING[k] - drive->lengths[k]);
        drive->rates[k] = step / period_s;
        drive->lengths[k] = share < 1.0 ? drive->lengths[k] + step : RESTING[k];
        if (!moving)
            drive->forces[k] = 0.0; /* the stops carry the table */
    }
    drive->flags |= moving ? DRIVE_LOWERING : 0;
}

/* Let one period pass. */
static void drive_advance(struct drive *drive, double period_s)
{
    double asked = STAGE_PRESSURE[drive->newest.stage];
    double change = (STAGE_PRESSURE[HIGH] - RETURN_PRESSURE) * period_s / RISE_TIME_S;
    drive->supply_pressure += fmin(fmax(asked - drive->supply_pressure, -change), change);
    drive->silent_s += period_s;
    drive->flags = 0;

    double late_s = drive->silent_s - COMMAND_TIMEOUT_S;
    if (drive->newest.mode != FOLLOW || drive->supply_pressure < STAGE_PRESSURE[LOW]) {
        lower(drive, period_s);
    } else if (late_s <= 0.0) {
        follow(drive, period_s);
    } else {
        drive->flags = DRIVE_TIMED_OUT;
        if (late_s <= FADE_S) {
            drive->flags |= DRIVE_FADING;
            fade(drive, 1.0 - late_s / FADE_S, period_s);
        } else if (late_s > FADE_S + HOLD_S) {
            lower(drive, period_s);
        } else {
            memset(drive->rates, 0, sizeof drive->rates);
        }
    }
    double before = drive->heave_rate;
    drive->heave_rate = (drive->rates[0] + drive->rates[1] + drive->rates[2] + drive->rates[3]) / 4.0;
    drive->heave_acceleration = (drive->heave_rate - before) / period_s;
}

/* A reading's noise, −size to size: a pressure or spool that never changes at all is taken for a frozen sensor. */
static double noise(struct drive *drive, double size)
{
    drive->noise = drive->noise * 1664525u + 1013904223u;
    return size * (drive->noise / 2147483648.0 - 1.0);
}

static void set_invalid(struct sample *sample, const double *value)
{
    size_t place = (size_t)(value - (const double *)&sample->block);
    sample->valid[place / 8] &= (uint8_t)~(1u << place % 8);
}

/* Read all sensors. What the drive does not measure is marked by `set_invalid`. */
static void drive_read(struct drive *drive, struct sample *sample)
{
    struct sample_block *block = &sample->block;
    double pressure = drive->supply_pressure, flow = 0.0;
    sample->stage = OFF;
    while (sample->stage < HIGH && pressure >= 0.95 * STAGE_PRESSURE[sample->stage + 1])
        sample->stage++;
    sample->flags = drive->flags;
    memset(sample->valid, 0xff, sizeof sample->valid);
    for (int k = 0; k < LINKS; k++) {
        double middle = 0.5 * (pressure + RETURN_PRESSURE), half = 0.5 * drive->forces[k] / PISTON_AREA;
        block->lengths[k] = drive->lengths[k];
        block->pressures[k][0] = middle + half + noise(drive, 2e4);
        block->pressures[k][1] = middle - half + noise(drive, 2e4);
        block->spools[k] = drive->rates[k] / NO_LOAD_SPEED + noise(drive, 5e-4);
        flow += PISTON_AREA * fabs(drive->rates[k]);
    }
    block->supply_pressure = pressure;
    block->return_pressure = RETURN_PRESSURE;
    block->supply_flow = flow;
    block->oil_temperature = 318.15;
    block->oil_level = 1.0;
    block->accumulator_volume = 0.0;
    set_invalid(sample, &block->accumulator_volume);
    block->filter_pressure_drop = 0.2e5;
    for (int k = 0; k < ACCELEROMETERS; k++)
        block->accelerometers[k] = (GRAVITY + drive->heave_acceleration) * UPWARDS[k] + noise(drive, 5e-3);
}

/* Leave the drive safe: this program ends now, and no commands will come. */
static void drive_close(struct drive *drive)
{
    drive->newest.mode = DISABLED;
    drive->newest.stage = OFF;
}

/* end of your drive */

enum mode { FREE_RUN, LOCKSTEP };
static const char *const MODES[] = {"free-run", "lockstep"};

struct peer {
    uint8_t id[256]; /* routing id; at most 255 bytes */
    size_t size;     /* 0: nobody */
};

struct counters {
    uint64_t commands, lost, invalid, old, late, strangers, unsent;
};

struct plant {
    void *socket;
    enum mode mode;
    int64_t period_ns, boot_id;
    int64_t step;     /* periods since boot */
    int64_t sequence; /* samples since boot */
    struct peer holder;
    char holder_text[2 * TEXT_BYTES + 64];
    int64_t heard_ns; /* when the holder last spoke */
    int64_t applied;  /* sequence of the last command in this session, −1 before the first */
    int64_t complained_ns;
    struct counters counters;
    struct drive drive;
    struct frame frame; /* being written */
};

static volatile sig_atomic_t ending;

static void end(int number)
{
    (void)number;
    ending = 1;
}

static bool same_peer(const struct peer *one, const struct peer *other)
{
    return one->size == other->size && memcmp(one->id, other->id, one->size) == 0;
}

/* --- Sending: never waits */

static void send_frame(struct plant *plant, const struct peer *peer)
{
    if (!plant->frame.full && zmq_send(plant->socket, peer->id, peer->size, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0 &&
        zmq_send(plant->socket, plant->frame.bytes, plant->frame.size, ZMQ_DONTWAIT) >= 0)
        return;
    int error = errno; /* what follows may change it */
    plant->counters.unsent++;
    if (!plant->frame.full && error == EHOSTUNREACH && same_peer(peer, &plant->holder))
        plant->holder.size = 0; /* its connection is closed: the place is free */
}

static void send_welcome(struct plant *plant)
{
    struct frame *frame = &plant->frame;
    frame_begin(frame);
    put_map(frame, 9, "welcome");
    put_integer_entry(frame, "protocol_version", PROTOCOL_VERSION);
    put_text_entry(frame, "sample_sha256", SAMPLE_SHA256);
    put_text_entry(frame, "command_sha256", COMMAND_SHA256);
    put_text_entry(frame, "mode", MODES[plant->mode]);
    put_integer_entry(frame, "period_ns", plant->period_ns);
    put_integer_entry(frame, "boot_id", plant->boot_id);
    put_text_entry(frame, "name", NAME);
    put_text(frame, "simulated");
    SIMULATED ? msgpack_pack_true(&frame->packer) : msgpack_pack_false(&frame->packer);
    send_frame(plant, &plant->holder);
}

#define REASONS 5
struct reasons {
    size_t count;
    char lines[REASONS][2 * TEXT_BYTES + 128];
};

__attribute__((format(printf, 2, 3))) static void add_reason(struct reasons *reasons, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (reasons->count < REASONS)
        vsnprintf(reasons->lines[reasons->count++], sizeof reasons->lines[0], format, arguments);
    va_end(arguments);
}

static void send_refused(struct plant *plant, const struct peer *peer, const struct reasons *reasons,
                         const char *holder)
{
    struct frame *frame = &plant->frame;
    frame_begin(frame);
    put_map(frame, 3, "refused");
    put_text(frame, "reasons");
    msgpack_pack_array(&frame->packer, reasons->count);
    for (size_t k = 0; k < reasons->count; k++)
        put_text(frame, reasons->lines[k]);
    put_text_entry(frame, "holder", holder);
    send_frame(plant, peer);
}

/* Tell a peer about a message of its own, at most twice a second whatever comes. */
__attribute__((format(printf, 3, 4))) static void complain(struct plant *plant, const struct peer *peer,
                                                           const char *format, ...)
{
    static struct reasons reasons;
    int64_t now = monotonic_ns();
    if (now - plant->complained_ns < COMPLAINT_NS)
        return;
    plant->complained_ns = now;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reasons.lines[0], sizeof reasons.lines[0], format, arguments);
    va_end(arguments);
    reasons.count = 1;
    send_refused(plant, peer, &reasons, "");
}

static void send_sample(struct plant *plant)
{
    struct sample sample;
    struct frame *frame = &plant->frame;
    if (plant->holder.size == 0)
        return;
    drive_read(&plant->drive, &sample);
    frame_begin(frame);
    msgpack_pack_array(&frame->packer, 10);
    put_text(frame, "sample");
    put_integer(frame, plant->boot_id);
    put_integer(frame, plant->sequence++); /* one that cannot be sent is a gap */
    put_integer(frame, plant->step);
    put_integer(frame, plant->step * plant->period_ns);
    put_integer(frame, plant->applied);
    put_integer(frame, sample.stage);
    put_integer(frame, sample.flags);
    put_block(frame, sample.valid, sizeof sample.valid);
    put_block(frame, &sample.block, sizeof sample.block);
    send_frame(plant, &plant->holder);
}

/* --- Receiving */

enum event { NOTHING, WELCOMED, COMMANDED, OTHER };

static void compare_text(struct reasons *reasons, const char *what, const char *own, const char *other)
{
    if (strcmp(own, other) != 0)
        add_reason(reasons, "%s: plant %s, daemon %s", what, own, other);
}

static enum event take_hello(struct plant *plant, const struct peer *peer, const msgpack_object *map)
{
    static struct reasons reasons;
    char sample_sha256[TEXT_BYTES], command_sha256[TEXT_BYTES], mode[TEXT_BYTES], name[TEXT_BYTES], host[TEXT_BYTES];
    int64_t version, period_ns = 0, pid = 0;
    reasons.count = 0;
    if (!take_integer(entry(map, "protocol_version"), INT64_MIN, INT64_MAX, &version)) {
        add_reason(&reasons, "hello: protocol_version must be an integer");
    } else if (version != PROTOCOL_VERSION) {
        add_reason(&reasons, "protocol version: plant %d, daemon %" PRId64, PROTOCOL_VERSION, version);
    } else if (!take_text(entry(map, "sample_sha256"), sample_sha256) ||
               !take_text(entry(map, "command_sha256"), command_sha256) || !take_text(entry(map, "mode"), mode) ||
               !take_text(entry(map, "name"), name) || !take_text(entry(map, "host"), host) ||
               !take_integer(entry(map, "period_ns"), INT64_MIN, INT64_MAX, &period_ns) ||
               !take_integer(entry(map, "pid"), INT64_MIN, INT64_MAX, &pid)) {
        add_reason(&reasons, "hello: sample_sha256, command_sha256, mode, name and host must be text of at most %d "
                             "characters, period_ns and pid integers", LONGEST_TEXT);
    } else {
        compare_text(&reasons, "sample layout", SAMPLE_SHA256, sample_sha256);
        compare_text(&reasons, "command layout", COMMAND_SHA256, command_sha256);
        compare_text(&reasons, "mode", MODES[plant->mode], mode);
        if (period_ns != plant->period_ns)
            add_reason(&reasons, "period: plant %" PRId64 " ns, daemon %" PRId64 " ns", plant->period_ns, period_ns);
    }
    if (reasons.count > 0) {
        send_refused(plant, peer, &reasons, "");
        return OTHER;
    }
    bool taken = plant->holder.size > 0 && !same_peer(peer, &plant->holder);
    if (taken && monotonic_ns() - plant->heard_ns <= SILENCE_NS) {
        struct peer holder = plant->holder;
        frame_begin(&plant->frame);
        put_map(&plant->frame, 1, "probe");
        send_frame(plant, &holder); /* frees the place of a daemon that is gone */
        if (plant->holder.size > 0) {
            add_reason(&reasons, "the plant is in use by %s", plant->holder_text);
            send_refused(plant, peer, &reasons, plant->holder_text);
            return OTHER;
        }
    }
    plant->holder = *peer;
    plant->heard_ns = monotonic_ns();
    plant->applied = -1;
    snprintf(plant->holder_text, sizeof plant->holder_text, "%s (pid %" PRId64 " on %s)", name, pid, host);
    send_welcome(plant);
    return WELCOMED;
}

static enum event take_command(struct plant *plant, const struct peer *peer, const msgpack_object *array)
{
    struct command command;
    const msgpack_object *entries = array->via.array.ptr;
    int64_t sequence, step;
    if (array->via.array.size != 6 || !is_text(&entries[0], "command") ||
        !take_integer(&entries[1], INT64_MIN, INT64_MAX, &sequence) ||
        !take_integer(&entries[2], INT64_MIN, INT64_MAX, &step) ||
        !take_integer(&entries[3], DISABLED, LOWER, &command.mode) ||
        !take_integer(&entries[4], OFF, HIGH, &command.stage) ||
        !take_block(&entries[5], &command.block, COMMAND_VALUES)) {
        plant->counters.invalid++;
        return OTHER;
    }
    if (plant->holder.size == 0 || !same_peer(peer, &plant->holder)) {
        plant->counters.strangers++;
        if (plant->holder.size == 0)
            complain(plant, peer, "send hello first (boot %" PRId64 ")", plant->boot_id);
        else
            complain(plant, peer, "the plant is in use by %s", plant->holder_text);
        return OTHER;
    }
    if (!all_finite(&command.block, COMMAND_VALUES)) {
        plant->counters.invalid++;
        complain(plant, peer, "command %" PRId64 " is not finite", sequence);
        return OTHER;
    }
    if (sequence <= plant->applied) {
        plant->counters.old++;
        return OTHER;
    }
    if (step > plant->step || step < plant->step - OLDEST_NS / plant->period_ns) {
        plant->counters.late++;
        complain(plant, peer, "command %" PRId64 " answers step %" PRId64 ", the plant is at %" PRId64, sequence,
                 step, plant->step);
        return OTHER;
    }
    plant->counters.commands++;
    plant->counters.lost += (uint64_t)(sequence - plant->applied - 1);
    plant->applied = sequence;
    drive_write(&plant->drive, &command, (double)(plant->step - step) * (double)plant->period_ns / SECOND);
    return COMMANDED;
}

static enum event take_frame(struct plant *plant, const struct peer *peer, const void *bytes, size_t size)
{
    msgpack_unpacked message;
    enum event event = OTHER;
    char kind[TEXT_BYTES];
    if (same_peer(peer, &plant->holder))
        plant->heard_ns = monotonic_ns();
    if (!decode(bytes, size, &message)) {
        plant->counters.invalid++;
        return OTHER;
    }
    if (message.data.type == MSGPACK_OBJECT_ARRAY) {
        event = take_command(plant, peer, &message.data);
    } else if (!take_text(entry(&message.data, "kind"), kind)) {
        plant->counters.invalid++;
    } else if (strcmp(kind, "hello") == 0) {
        event = take_hello(plant, peer, &message.data);
    } else if (strcmp(kind, "bye") == 0) {
        if (same_peer(peer, &plant->holder))
            plant->holder.size = 0;
    } else { /* `status`, `inject`, `truth`: for simulated plants */
        complain(plant, peer, "no request '%s'", kind);
    }
    msgpack_unpacked_destroy(&message);
    return event;
}

/* Take one message if there is one: the peer's routing id, and one frame. */
static enum event receive(struct plant *plant)
{
    struct peer peer;
    zmq_msg_t frame;
    enum event event = OTHER;
    int size = zmq_recv(plant->socket, peer.id, sizeof peer.id, ZMQ_DONTWAIT);
    if (size < 0)
        return NOTHING;
    peer.size = (size_t)size < sizeof peer.id ? (size_t)size : 0;
    int more = 0, frames = 0;
    size_t more_size = sizeof more;
    zmq_msg_init(&frame);
    while (zmq_getsockopt(plant->socket, ZMQ_RCVMORE, &more, &more_size) == 0 && more) {
        if (zmq_msg_recv(&frame, plant->socket, ZMQ_DONTWAIT) < 0)
            break;
        frames++;
    }
    if (frames == 1 && peer.size > 0)
        event = take_frame(plant, &peer, zmq_msg_data(&frame), zmq_msg_size(&frame));
    else
        plant->counters.invalid++;
    zmq_msg_close(&frame);
    return event;
}

/* --- The two modes */

static void advance(struct plant *plant, int64_t periods)
{
    for (int64_t k = 0; k < periods; k++)
        drive_advance(&plant->drive, (double)plant->period_ns / SECOND);
    plant->step += periods;
}

/* A sample per period of the own clock. What this program was held up for has passed for the drive, too, without a
 * command: step and plant time jump. Run it with real-time priority (chrt -f 50). */
static void run_free(struct plant *plant)
{
    int64_t deadline = monotonic_ns() + plant->period_ns;
    while (!ending) {
        struct timespec until = {deadline / SECOND, deadline % SECOND};
        if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
            continue; /* a signal: look whether it means the end, then sleep on */
        int64_t periods = 1 + (monotonic_ns() - deadline) / plant->period_ns;
        advance(plant, periods - 1);
        for (int k = 0; k < MESSAGES_PER_PERIOD && receive(plant) != NOTHING; k++)
            ;
        advance(plant, 1);
        send_sample(plant);
        deadline += periods * plant->period_ns;
    }
}

/* Plant time stands still until a command comes. */
static void run_lockstep(struct plant *plant)
{
    while (!ending) {
        zmq_pollitem_t item = {plant->socket, 0, ZMQ_POLLIN, 0};
        zmq_poll(&item, 1, 1000); /* ms; a signal ends it at once */
        enum event event = receive(plant);
        if (event == COMMANDED)
            advance(plant, 1);
        if (event == COMMANDED || event == WELCOMED)
            send_sample(plant);
    }
}

/* --- Beginning and end */

/* One line: what happened, and what to do. */
__attribute__((format(printf, 1, 2), noreturn)) static void give_up(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("plant_bridge: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

/* Another plant's socket file would be taken over silently: hold a lock as long as this process lives. */
static void lock_socket_file(const char *path)
{
    char lock[128];
    if (snprintf(lock, sizeof lock, "%s.lock", path) >= (int)sizeof lock)
        give_up("%s: the path of a socket has at most 107 bytes", path);
    int file = open(lock, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0)
        give_up("%s: %s", lock, strerror(errno));
    if (flock(file, LOCK_EX | LOCK_NB) != 0)
        give_up("%s: a plant listens here already; end it, or choose another --address", path);
}

static void *listening(void *context, const char *address, bool allow_remote, char *endpoint, size_t size)
{
    bool file = strncmp(address, "ipc:///", 7) == 0;
    if (!file && strncmp(address, "ipc://@", 7) != 0 && strncmp(address, "tcp://127.", 10) != 0 &&
        !(allow_remote && strncmp(address, "tcp://", 6) == 0))
        give_up("address %s: say ipc:///path, ipc://@name or tcp://127.0.0.1:PORT; any other tcp:// address can be "
                "reached by other machines and is not protected: --allow-remote permits it", address);
    if (file)
        lock_socket_file(address + 6);
    void *socket = zmq_socket(context, ZMQ_ROUTER);
    static const int options[][2] = {{ZMQ_SNDHWM, 256}, {ZMQ_RCVHWM, 256}, {ZMQ_LINGER, 0},
                                     {ZMQ_ROUTER_MANDATORY, 1}, {ZMQ_ROUTER_HANDOVER, 1}, {ZMQ_HANDSHAKE_IVL, 1000}};
    if (!set_options(socket, options, sizeof options / sizeof options[0], LARGEST_MESSAGE) ||
        zmq_bind(socket, address) != 0 || zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size) != 0)
        give_up("address %s: %s; choose another --address", address, zmq_strerror(zmq_errno()));
    return socket;
}

int main(int count, char **arguments)
{
    static struct plant plant = {.period_ns = 1000000, .applied = -1, .complained_ns = -SECOND};
    const char *address = "tcp://127.0.0.1:5570";
    bool allow_remote = false;
    char endpoint[256], *rest;
    for (int k = 1; k < count; k++) {
        const char *value = k + 1 < count ? arguments[k + 1] : "";
        if (strcmp(arguments[k], "--allow-remote") == 0) {
            allow_remote = true;
            continue;
        }
        if (strcmp(arguments[k], "--address") == 0) {
            address = value;
        } else if (strcmp(arguments[k], "--mode") == 0) {
            plant.mode = strcmp(value, MODES[LOCKSTEP]) == 0 ? LOCKSTEP : FREE_RUN;
            if (strcmp(value, MODES[plant.mode]) != 0)
                give_up("--mode '%s': say free-run or lockstep", value);
        } else if (strcmp(arguments[k], "--period-ns") == 0) {
            plant.period_ns = strtoll(value, &rest, 10);
            if (*rest != '\0' || plant.period_ns < SHORTEST_PERIOD_NS || plant.period_ns > LONGEST_PERIOD_NS)
                give_up("--period-ns '%s': say %lld to %lld", value, SHORTEST_PERIOD_NS, LONGEST_PERIOD_NS);
        } else {
            give_up("no option '%s': there are --address, --mode, --period-ns and --allow-remote", arguments[k]);
        }
        k++;
    }

    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    if (getrandom(&plant.boot_id, sizeof plant.boot_id, 0) != sizeof plant.boot_id)
        give_up("no random number for the boot id: %s", strerror(errno));
    plant.boot_id &= INT64_MAX;
    if (!drive_open(&plant.drive))
        give_up("the drive does not answer: switch it on and look at its cable");
    void *context = zmq_ctx_new();
    plant.socket = listening(context, address, allow_remote, endpoint, sizeof endpoint);
    printf("plant_bridge listens at %s (%s)\n", endpoint, MODES[plant.mode]);
    fflush(stdout);

    plant.mode == LOCKSTEP ? run_lockstep(&plant) : run_free(&plant);

    drive_close(&plant.drive);
    const struct counters *counters = &plant.counters;
    printf("steps %" PRId64 ", commands %" PRIu64 ", lost %" PRIu64 ", invalid %" PRIu64, plant.step, counters->commands,
           counters->lost, counters->invalid);
    printf(", old %" PRIu64 ", late %" PRIu64 ", strangers %" PRIu64 ", unsent %" PRIu64 "\n", counters->old,
           counters->late, counters->strangers, counters->unsent);
    zmq_close(plant.socket);
    zmq_ctx_term(context);
    return 0;
}
