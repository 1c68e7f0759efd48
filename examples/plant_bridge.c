/* The plant's end of the plant link (docs/protocol.md): a skeleton for the bridge to a real drive.
 *
 *     plant_bridge [--address ADDRESS] [--mode free-run|lockstep] [--period-ns N] [--allow-remote]
 *
 * The daemon's hello says how many actuators the table has, up to 24, and where they are; one program serves any
 * table. Everything about the link is complete. What belongs to your drive stands in the part THE DRIVE, between the marks
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
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "table.h"

#define PROTOCOL_VERSION 3
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

/* Blocks for the most actuators; on the link each field holds as many as the table has, without gaps. */
struct command_block {
    double lengths[MOST_ACTUATORS];          /* m, at the end of the coming period */
    double rates[MOST_ACTUATORS];            /* m/s */
    double accelerations[MOST_ACTUATORS];    /* m/s2 */
    double force_references[MOST_ACTUATORS]; /* N, tension negative */
    double valve_trims[MOST_ACTUATORS];      /* m/s, added to the no-load speed asked of the valve */
    double payload_wrench[6];                /* for simulated plants only */
};
#define COMMAND_VALUES(n) (5 * (n) + 6)

struct sample_block { /* NAN: not known */
    double lengths[MOST_ACTUATORS];      /* m */
    double pressures[MOST_ACTUATORS][2]; /* Pa, of those that have them in turn */
    double pressure_differences[MOST_ACTUATORS]; /* Pa, likewise */
    double load_cells[MOST_ACTUATORS];   /* N, likewise */
    double spools[MOST_ACTUATORS];       /* 1 is fully open to chamber 1 */
    double supply_pressure;              /* Pa */
    double return_pressure;              /* Pa */
    double supply_flow;                  /* m3/s */
    double oil_temperature;              /* K */
    double oil_level;                    /* 1 is full */
    double accumulator_volume;           /* m3 */
    double filter_pressure_drop;         /* Pa */
    double accelerometers[MOST_ACCELEROMETERS]; /* m/s2, gravity included */
};
#define MOST_SAMPLE_VALUES (4 * MOST_ACTUATORS + 7 + MOST_ACCELEROMETERS)

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
    struct sample_block block;
};

/* === THE DRIVE ===
 * your drive: here it is pretended. Each actuator follows its set-point closely and pushes with exactly the force that
 * the daemon expects, and with what its oil adds where the lengths fit no pose; the supply's pressure rises and falls
 * evenly. A real drive moves by itself: drive_advance then only watches the time-out, if the drive does not do so on
 * its own. */

#define BANDWIDTH 100.0           /* rad/s */
#define COMMAND_TIMEOUT_S 0.12    /* without commands: fade the last rate out, hold, then lower the table */
#define FADE_S 0.2
#define HOLD_S 2.0
#define LOWERING_SPEED 0.01       /* m/s */
#define RISE_TIME_S 0.5           /* from nothing to the high stage */
#define BULK_MODULUS 7e8          /* Pa */
#define DEAD_LENGTH 0.02          /* m of oil that a chamber keeps at the end of the stroke */

struct drive {
    struct table table; /* no actuators: of none yet */
    struct command newest;
    double lengths[MOST_ACTUATORS], rates[MOST_ACTUATORS], forces[MOST_ACTUATORS];
    struct pose pose;
    double velocity[AXES], acceleration[AXES]; /* of C, and of the rotation; in B */
    double stiffness;                          /* N/m, of the oil of one actuator in the mean */
    double supply_pressure;
    double silent_s; /* since the newest command */
    int64_t flags;
    uint32_t noise;
};

/* Reach the drive; false if it does not answer. */
static bool drive_open(struct drive *drive)
{
    memset(drive, 0, sizeof *drive);
    drive->noise = 1;
    return true;
}

/* Take the table that a daemon describes; false with one line in `reason` if the drive is not that table's. A real
 * drive compares number, strokes and areas with its own; this one becomes that of the first table. */
static bool drive_serve(struct drive *drive, const struct table *table, char *reason, size_t size)
{
    if (drive->table.actuators > 0) {
        if (memcmp(&drive->table, table, sizeof *table) == 0)
            return true;
        snprintf(reason, size, "table: the daemon's is another one than this drive has served since it was started, "
                               "with %" PRId64 " actuators; end and start plant_bridge", drive->table.actuators);
        return false;
    }
    drive->table = *table;
    drive->supply_pressure = table->stage_pressures[OFF];
    for (int k = 0; k < table->actuators; k++) {
        double area = table->piston_areas[k][0] + table->piston_areas[k][1];
        drive->stiffness += BULK_MODULUS * area / (table->strokes[k] + DEAD_LENGTH) / (double)table->actuators;
    }
    memcpy(drive->lengths, table->resting_lengths, sizeof drive->lengths);
    memcpy(drive->pose.position, table->neutral_position, sizeof drive->pose.position);
    for (int i = 0; i < 3; i++)
        drive->pose.axes[i][i] = 1.0;
    double moved[AXES], misfit[MOST_ACTUATORS], rows[AXES][MOST_ACTUATORS];
    follow_lengths(table, drive->lengths, 20, &drive->pose, moved, misfit, rows);
    return true;
}

/* Write a new command to the drive: mode, requested stage, set-points. They are finite; no more is known of them.
 * Two clocks beat: its set-points are brought up to now at their rates, passed_s after the sample that it answers. */
static void drive_write(struct drive *drive, const struct command *command, double passed_s)
{
    drive->newest = *command;
    for (int k = 0; k < drive->table.actuators; k++)
        drive->newest.block.lengths[k] += passed_s * command->block.rates[k];
    drive->silent_s = 0.0;
}

static double within_stroke(const struct table *table, int k, double length)
{
    return fmin(fmax(length, table->neutral_lengths[k] - table->strokes[k]),
                table->neutral_lengths[k] + table->strokes[k]);
}

/* Second order, critically damped, in a step that is stable for any period. The set-point goes on at its rate, so that
 * a period without a command is bridged. */
static void follow(struct drive *drive, double period_s)
{
    double turn = BANDWIDTH * period_s;
    struct command_block *to = &drive->newest.block;
    for (int k = 0; k < drive->table.actuators; k++) {
        double distance = within_stroke(&drive->table, k, to->lengths[k]) - drive->lengths[k];
        double rate = drive->rates[k] + turn * (BANDWIDTH * distance + 2.0 * to->rates[k]);
        double fastest = drive->table.no_load_speeds[k];
        drive->rates[k] = fmin(fmax(rate / (1.0 + 2.0 * turn + turn * turn), -fastest), fastest);
        drive->lengths[k] += drive->rates[k] * period_s;
        to->lengths[k] += to->rates[k] * period_s;
    }
}

static void fade(struct drive *drive, double left, double period_s)
{
    for (int k = 0; k < drive->table.actuators; k++) {
        double length = drive->lengths[k] + left * drive->rates[k] * period_s;
        drive->lengths[k] = within_stroke(&drive->table, k, length);
    }
}

/* All actuators reach their stops at the same time, so that their lengths fit one table all the way. */
static void lower(struct drive *drive, double period_s)
{
    const double *resting = drive->table.resting_lengths;
    double farthest = 0.0;
    for (int k = 0; k < drive->table.actuators; k++)
        farthest = fmax(farthest, fabs(resting[k] - drive->lengths[k]));
    bool moving = farthest > 0.0;
    double share = moving ? fmin(LOWERING_SPEED * period_s / farthest, 1.0) : 0.0;
    for (int k = 0; k < drive->table.actuators; k++) {
        double step = share * (resting[k] - drive->lengths[k]);
        drive->rates[k] = step / period_s;
        drive->lengths[k] = share < 1.0 ? drive->lengths[k] + step : resting[k];
        if (!moving)
            drive->forces[k] = 0.0; /* the stops carry the table */
    }
    drive->flags |= moving ? DRIVE_LOWERING : 0;
}

/* The table goes where the lengths take it; what they do not fit presses the actuators against each other. */
static void move_table(struct drive *drive, bool pushing, double period_s)
{
    const struct table *table = &drive->table;
    double moved[AXES], misfit[MOST_ACTUATORS], rows[AXES][MOST_ACTUATORS];
    follow_lengths(table, drive->lengths, 2, &drive->pose, moved, misfit, rows);
    for (int j = 0; j < AXES; j++) {
        double before = drive->velocity[j];
        drive->velocity[j] = moved[j] / period_s;
        drive->acceleration[j] = (drive->velocity[j] - before) / period_s;
    }
    if (!pushing)
        return;
    memcpy(drive->forces, drive->newest.block.force_references, sizeof drive->forces);
    keep_common(table, rows, drive->forces);
    for (int k = 0; k < table->actuators; k++)
        drive->forces[k] += drive->stiffness * misfit[k];
}

/* Let one period pass. */
static void drive_advance(struct drive *drive, double period_s)
{
    const double *pressures = drive->table.stage_pressures;
    if (drive->table.actuators == 0)
        return; /* no daemon has said yet what table this is */
    double change = (pressures[HIGH] - pressures[OFF]) * period_s / RISE_TIME_S;
    drive->supply_pressure +=
        fmin(fmax(pressures[drive->newest.stage] - drive->supply_pressure, -change), change);
    bool powered = hydraulic(&drive->table) ? drive->supply_pressure >= pressures[LOW] : drive->newest.stage > OFF;
    drive->silent_s += period_s;
    drive->flags = 0;

    double late_s = drive->silent_s - COMMAND_TIMEOUT_S;
    bool following = drive->newest.mode == FOLLOW && powered;
    if (!following) {
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
    move_table(drive, following && late_s <= 0.0, period_s);
}

/* A reading's noise, −size to size: a pressure or spool that never changes at all is taken for a frozen sensor. */
static double noise(struct drive *drive, double size)
{
    drive->noise = drive->noise * 1664525u + 1013904223u;
    return size * (drive->noise / 2147483648.0 - 1.0);
}

/* Specific force along accelerometer k: the acceleration of its place, and gravity. */
static double felt(const struct drive *drive, int k)
{
    const struct table *table = &drive->table;
    double arm[3], axis[3], turning[3], swing[3], inward[3], sum[3];
    in_ground(&drive->pose, table->accelerometer_positions[k], arm);
    in_ground(&drive->pose, table->accelerometer_directions[k], axis);
    cross(drive->acceleration + 3, arm, turning);
    cross(drive->velocity + 3, arm, swing);
    cross(drive->velocity + 3, swing, inward);
    for (int i = 0; i < 3; i++)
        sum[i] = drive->acceleration[i] + turning[i] + inward[i] + (i == 2 ? table->gravity : 0.0);
    return dot(axis, sum, 3);
}

/* Read all sensors. What the drive does not measure is NAN. */
static void drive_read(struct drive *drive, struct sample *sample)
{
    const struct table *table = &drive->table;
    struct sample_block *block = &sample->block;
    double pressure = drive->supply_pressure, flow = 0.0;
    sample->stage = hydraulic(table) ? OFF : drive->newest.stage; /* the power is on at once */
    while (hydraulic(table) && sample->stage < HIGH && pressure >= 0.95 * table->stage_pressures[sample->stage + 1])
        sample->stage++;
    sample->flags = drive->flags;
    for (int k = 0, chambers = 0, differences = 0, cells = 0; k < table->actuators; k++) {
        const double *areas = table->piston_areas[k], force = drive->forces[k];
        block->lengths[k] = drive->lengths[k];
        if (table->feedback[k] == CHAMBER_PRESSURES) {
            double *both = block->pressures[chambers++];
            double back = 0.5 * (pressure + table->stage_pressures[OFF]) - 0.5 * force / areas[1];
            both[0] = (back * areas[1] + force) / areas[0] + noise(drive, 2e4);
            both[1] = back + noise(drive, 2e4);
        } else if (table->feedback[k] == PRESSURE_DIFFERENCE) {
            block->pressure_differences[differences++] = force / areas[0] + noise(drive, 2e4);
        } else if (table->feedback[k] == LOAD_CELL) {
            block->load_cells[cells++] = force + noise(drive, 50.0);
        }
        block->spools[k] = drive->rates[k] / table->no_load_speeds[k] + noise(drive, 5e-4);
        flow += areas[drive->rates[k] < 0.0] * fabs(drive->rates[k]);
    }
    block->supply_pressure = pressure;
    block->return_pressure = table->stage_pressures[OFF];
    block->supply_flow = flow;
    block->oil_temperature = 318.15;
    block->oil_level = 1.0;
    block->accumulator_volume = NAN;
    block->filter_pressure_drop = 0.2e5;
    for (int k = 0; k < table->accelerometers; k++)
        block->accelerometers[k] = felt(drive, k) + noise(drive, 5e-3);
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
    char sample_sha256[65], command_sha256[65]; /* of the layouts of the holder's table */
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
    put_text_entry(frame, "sample_sha256", plant->sample_sha256);
    put_text_entry(frame, "command_sha256", plant->command_sha256);
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

/* Write a block as the link has it: fields without gaps, and a bit for each value that is known. */
static void put_sample_block(struct frame *frame, const struct table *table, const struct sample_block *block)
{
    double values[MOST_SAMPLE_VALUES], *at = values;
    uint8_t valid[(sizeof values / sizeof *values + 7) / 8] = {0};
    size_t n = (size_t)table->actuators, m = (size_t)table->accelerometers;
    const struct { const void *from; size_t count; } fields[] = {
        {block->lengths, n}, {block->pressures, 2 * (size_t)count_of(table, CHAMBER_PRESSURES)},
        {block->pressure_differences, (size_t)count_of(table, PRESSURE_DIFFERENCE)},
        {block->load_cells, (size_t)count_of(table, LOAD_CELL)}, {block->spools, n},
        {&block->supply_pressure, hydraulic(table) ? 7 : 0}, {block->accelerometers, m}};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; at += fields[k++].count)
        memcpy(at, fields[k].from, fields[k].count * sizeof *at);
    size_t count = (size_t)(at - values);
    for (size_t k = 0; k < count; k++)
        valid[k / 8] |= (uint8_t)(isfinite(values[k]) ? 1u << k % 8 : 0u);
    put_block(frame, valid, (count + 7) / 8);
    put_block(frame, values, count * sizeof *values);
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
    put_sample_block(frame, &plant->drive.table, &sample.block);
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
    static struct table table;
    char reason[TEXT_BYTES], own_sample[65], own_command[65];
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
    } else if (!take_table(map, &table, reason, sizeof reason)) {
        add_reason(&reasons, "%s", reason);
    } else {
        layout_hashes(&table, own_sample, own_command);
        compare_text(&reasons, "sample layout", own_sample, sample_sha256);
        compare_text(&reasons, "command layout", own_command, command_sha256);
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
    if (!drive_serve(&plant->drive, &table, reason, sizeof reason)) {
        add_reason(&reasons, "%s", reason);
        send_refused(plant, peer, &reasons, "");
        return OTHER;
    }
    plant->holder = *peer;
    plant->heard_ns = monotonic_ns();
    plant->applied = -1;
    memcpy(plant->sample_sha256, own_sample, sizeof own_sample);
    memcpy(plant->command_sha256, own_command, sizeof own_command);
    snprintf(plant->holder_text, sizeof plant->holder_text, "%s (pid %" PRId64 " on %s)", name, pid, host);
    send_welcome(plant);
    return WELCOMED;
}

/* Read a block as the link has it; false if it is not one of a table with n actuators. */
static bool take_command_block(const msgpack_object *object, int64_t n, struct command_block *block)
{
    double values[COMMAND_VALUES(MOST_ACTUATORS)];
    if (!take_block(object, values, (size_t)COMMAND_VALUES(n)))
        return false;
    const double *at = take_run(values, block->lengths, n);
    at = take_run(at, block->rates, n);
    at = take_run(at, block->accelerations, n);
    at = take_run(at, block->force_references, n);
    at = take_run(at, block->valve_trims, n);
    take_run(at, block->payload_wrench, 6);
    return true;
}

static enum event take_command(struct plant *plant, const struct peer *peer, const msgpack_object *array)
{
    struct command command = {0};
    const msgpack_object *entries = array->via.array.ptr;
    int64_t sequence, step;
    if (array->via.array.size != 6 || !is_text(&entries[0], "command") ||
        !take_integer(&entries[1], INT64_MIN, INT64_MAX, &sequence) ||
        !take_integer(&entries[2], INT64_MIN, INT64_MAX, &step) ||
        !take_integer(&entries[3], DISABLED, LOWER, &command.mode) ||
        !take_integer(&entries[4], OFF, HIGH, &command.stage) ||
        entries[5].type != MSGPACK_OBJECT_BIN) {
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
    if (!take_command_block(&entries[5], plant->drive.table.actuators, &command.block)) {
        plant->counters.invalid++;
        return OTHER;
    }
    if (!all_finite(&command.block, sizeof command.block / sizeof(double))) {
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
