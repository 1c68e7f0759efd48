/* A rig (docs/protocol.md, chapter Rigs): reads the speed of the simulated vehicle, steers and presses the throttle.
 *
 *     rig NAME ADDRESS        such as: rig pedals ipc://$XDG_RUNTIME_DIR/mastd.rigs
 *
 * What belongs to your rig stands between the marks "your rig" and "end". The rest joins, and comes back by itself
 * after a lost connection, a restart of the daemon, or having been killed. SIGUSR1 stops the table; SIGTERM and SIGINT
 * leave. Ends with 0 after leaving, 1 without a place for 5 s, 2 if there cannot be one. Through a network it needs
 * keys besides: zmq_curve(7).
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "wire.h"

#define SECOND 1000000000LL
#define HELLO_NS (SECOND / 10)      /* between two hellos, and two stops, that are not answered */
#define PATIENCE_NS (5 * SECOND)    /* then the daemon is gone */
#define MOST_CHANNELS 64
#define MESSAGES_PER_TURN 64

struct channel {
    char name[TEXT_BYTES];
    double neutral;
};

/* === your rig === */
#define KIND "signals"
enum { SPEED, READS };
static const char *const READ[READS] = {"vehicle.speed"}, *const READ_UNIT[READS] = {"m/s"};

struct motion {
    int64_t step, plant_ns;
    double speed; /* of the profile's time: 1 plays, 0 stands */
    double values[READS];
};

/* Give a value of each channel. Own time goes on as the profile's does, and stands where that stands. */
static void compute(const struct motion *motion, const struct channel *channels, size_t count, double *values)
{
    static int64_t before_ns;
    static double own_s;
    double passed_s = (double)(motion->plant_ns - before_ns) / SECOND;
    before_ns = motion->plant_ns;
    if (passed_s > 0.0 && passed_s < 1.0)
        own_s += motion->speed * passed_s;
    double speed = isfinite(motion->values[SPEED]) ? motion->values[SPEED] : 0.0; /* NaN: there is no vehicle now */
    for (size_t k = 0; k < count; k++) {
        values[k] = channels[k].neutral;
        if (strcmp(channels[k].name, "steering") == 0)
            values[k] = 0.05 * sin(1.5 * own_s);
        else if (strcmp(channels[k].name, "throttle") == 0 && motion->speed > 0.0)
            values[k] = fmin(fmax(0.2 * (8.0 - speed), 0.0), 0.6); /* up to 8 m/s */
        else if (strcmp(channels[k].name, "gear") == 0)
            values[k] = 100.0; /* the car chooses */
    }
}
/* === end === */

struct rig {
    void *socket;
    const char *name;
    int64_t session, sequence, step; /* step of the newest motion, −1 before the first */
    bool joined;
    int64_t trying_ns, hello_ns, stop_ns; /* since when without a place; the last hello; the last stop */
    int64_t heard_ns, lost_ns, beat_ns, beat_due_ns;
    int64_t echo_ns, echo_came_ns; /* newest beat of the daemon: its time, and when it came */
    struct clock_estimate clock;
    int64_t motions, given;
    struct channel channels[MOST_CHANNELS];
    size_t count;
    struct motion newest;
    bool fresh; /* it is not answered yet */
    struct frame frame;
};

static volatile sig_atomic_t leaving, stop_wanted;

static void on_signal(int number)
{
    *(number == SIGUSR1 ? &stop_wanted : &leaving) = 1;
}

/* --- Sending: never waits; what cannot be queued is lost --- */

static void send_frame(struct rig *rig)
{
    if (!rig->frame.full)
        zmq_send(rig->socket, rig->frame.bytes, rig->frame.size, ZMQ_DONTWAIT);
}

static void send_hello(struct rig *rig)
{
    static const char *const texts[][2] = {
        {"magic", "mastd-rig"}, {"program", "examples/rig.c"}, {"role", KIND},           {"frame", "iso8855"},
        {"units", "SI"},        {"mode", "any"},               {"channels_sha256", ""}};
    struct frame *frame = &rig->frame;
    frame_begin(frame);
    put_map(frame, 15, "hello");
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
        put_text_entry(frame, texts[k][0], texts[k][1]);
    put_integer_entry(frame, "version_lowest", 1);
    put_integer_entry(frame, "version_highest", 1);
    put_text_entry(frame, "name", rig->name);
    put_integer_entry(frame, "period_ns", 0);
    put_text(frame, "channels"); /* those of the rigs file */
    msgpack_pack_array(&frame->packer, 0);
    put_text(frame, "reads");
    msgpack_pack_array(&frame->packer, READS);
    for (size_t k = 0; k < READS; k++)
        put_text(frame, READ[k]);
    put_integer_entry(frame, "resume", rig->session);
    send_frame(rig);
    rig->hello_ns = monotonic_ns();
}

static void begin_request(struct rig *rig, size_t entries, const char *kind)
{
    frame_begin(&rig->frame);
    put_map(&rig->frame, entries, kind);
    put_integer_entry(&rig->frame, "session", rig->session);
    put_integer_entry(&rig->frame, "sequence", ++rig->sequence);
}

static void send_beat(struct rig *rig, int64_t now)
{
    begin_request(rig, 7, "beat");
    put_integer_entry(&rig->frame, "time_ns", now);
    put_integer_entry(&rig->frame, "echo_ns", rig->echo_ns);
    put_integer_entry(&rig->frame, "held_ns", rig->echo_ns ? now - rig->echo_came_ns : 0);
    put_integer_entry(&rig->frame, "step", rig->step);
    send_frame(rig);
    rig->beat_due_ns = now + rig->beat_ns;
}

static void send_values(struct rig *rig)
{
    double values[MOST_CHANNELS];
    compute(&rig->newest, rig->channels, rig->count, values);
    frame_begin(&rig->frame);
    msgpack_pack_array(&rig->frame.packer, 6);
    put_text(&rig->frame, "values");
    put_integer(&rig->frame, rig->session);
    put_integer(&rig->frame, ++rig->sequence);
    put_integer(&rig->frame, rig->newest.step);
    put_integer(&rig->frame, monotonic_ns());
    put_block(&rig->frame, values, rig->count * sizeof values[0]);
    send_frame(rig);
    rig->given++;
}

/* --- Receiving --- */

static void leave_place(struct rig *rig)
{
    rig->trying_ns = rig->joined ? monotonic_ns() : rig->trying_ns;
    rig->joined = false;
}

/* Names and units are compared one by one, which tells more than their hashes do. */
static bool take_welcome(struct rig *rig, const msgpack_object *map)
{
    const msgpack_object *channels = entry(map, "channels"), *reads = entry(map, "reads");
    char mode[TEXT_BYTES];
    int64_t session;
    double beat_s, lost_s;
    if (!take_integer(entry(map, "session"), 1, INT64_MAX, &session) || !take_text(entry(map, "mode"), mode) ||
        !take_float(entry(map, "beat_s"), &beat_s) || !(0.001 <= beat_s && beat_s <= 60.0) ||
        !take_float(entry(map, "lost_s"), &lost_s) || !(0.001 <= lost_s && lost_s <= 60.0) ||
        length(channels) > MOST_CHANNELS || length(reads) != READS)
        return false;
    for (uint32_t k = 0; k < READS; k++) { /* of a channel that there is not now the unit is empty */
        const msgpack_object *read = item(reads, k);
        if (!is_text(item(read, 0), READ[k]) || !(is_text(item(read, 1), READ_UNIT[k]) || is_text(item(read, 1), "")))
            return false;
    }
    rig->count = length(channels);
    for (uint32_t k = 0; k < rig->count; k++) {
        const msgpack_object *channel = item(channels, k);
        if (!take_text(item(channel, 0), rig->channels[k].name) ||
            !take_float(item(channel, 5), &rig->channels[k].neutral))
            return false;
    }
    printf("%s as %s (%s), session %" PRId64 "\n", session == rig->session ? "resumed" : "joined", rig->name, mode,
           session);
    fflush(stdout);
    if (session != rig->session)
        rig->sequence = rig->echo_ns = rig->clock.beats = 0;
    rig->step = -1; /* the motion that the loop waits at comes again, and is answered again */
    rig->session = session;
    rig->beat_ns = (int64_t)(beat_s * SECOND);
    rig->lost_ns = (int64_t)(lost_s * SECOND);
    rig->joined = true;
    return true;
}

static void take_motion(struct rig *rig, const msgpack_object *array)
{
    enum { KIND_TEXT, SESSION, SEQUENCE, STEP, SENT_NS, PLANT_NS, STATE, PROFILE_SPEED, DUE, BLOCK, ENTRIES };
    int64_t numbers[STATE + 1];
    struct motion motion;
    for (uint32_t k = SESSION; k <= STATE; k++)
        if (!take_integer(item(array, k), 0, INT64_MAX, &numbers[k]))
            return;
    if (length(array) != ENTRIES || !is_text(item(array, KIND_TEXT), "motion") || !rig->joined ||
        numbers[SESSION] != rig->session || numbers[STEP] <= rig->step ||
        !take_float(item(array, PROFILE_SPEED), &motion.speed) ||
        !take_block(item(array, BLOCK), motion.values, READS))
        return;
    motion.step = rig->step = numbers[STEP];
    motion.plant_ns = numbers[PLANT_NS];
    rig->newest = motion;
    rig->fresh = true;
    rig->motions++;
}

static void take_beat(struct rig *rig, const msgpack_object *map, int64_t now)
{
    enum { SESSION, SEQUENCE, TIME_NS, ECHO_NS, HELD_NS, KEYS };
    static const char *const keys[KEYS] = {"session", "sequence", "time_ns", "echo_ns", "held_ns"};
    int64_t numbers[KEYS];
    for (int k = 0; k < KEYS; k++)
        if (!take_integer(entry(map, keys[k]), 0, INT64_MAX, &numbers[k]))
            return;
    if (!rig->joined || numbers[SESSION] != rig->session)
        return;
    rig->echo_ns = numbers[TIME_NS];
    rig->echo_came_ns = now;
    clock_beat(&rig->clock, now, numbers[TIME_NS], numbers[ECHO_NS], numbers[HELD_NS]);
}

/* Show why there is no place; true if that goes away by itself: somebody has it, or had it until now. */
static bool only_waits(const msgpack_object *reasons)
{
    static const char place[] = "the place of ";
    bool waits = length(reasons) > 0;
    for (uint32_t k = 0; k < length(reasons); k++) {
        const msgpack_object *line = item(reasons, k);
        if (line->type != MSGPACK_OBJECT_STR)
            return false;
        fprintf(stderr, "rig: refused: %.*s\n", (int)line->via.str.size, line->via.str.ptr);
        waits = waits && line->via.str.size >= strlen(place) && memcmp(line->via.str.ptr, place, strlen(place)) == 0;
    }
    return waits;
}

/* Take one message; false if this rig can never join. */
static bool take_frame(struct rig *rig, const void *bytes, size_t size)
{
    msgpack_unpacked message;
    char kind[TEXT_BYTES];
    bool possible = true;
    if (!decode(bytes, size, &message))
        return true; /* whatever it was, it is not for this rig */
    rig->heard_ns = monotonic_ns();
    const msgpack_object *map = &message.data;
    if (!take_text(entry(map, "kind"), kind))
        take_motion(rig, map);
    else if (strcmp(kind, "beat") == 0)
        take_beat(rig, map, rig->heard_ns);
    else if (strcmp(kind, "welcome") == 0)
        possible = take_welcome(rig, map);
    else if (strcmp(kind, "refused") == 0)
        possible = only_waits(entry(map, "reasons"));
    else if (strcmp(kind, "done") == 0 && is_text(entry(map, "of"), "stop"))
        stop_wanted = 0;
    else if (is_text(entry(map, "error"), "unknown_session") || is_text(entry(map, "error"), "ended"))
        leave_place(rig);
    else if (take_text(entry(map, "reason"), kind))
        fprintf(stderr, "rig: the daemon did not take something: %s\n", kind);
    msgpack_unpacked_destroy(&message);
    return possible;
}

/* --- Beginning, turns and end --- */

/* Say what is due, take what comes within 10 ms, answer the newest motion; false: there is no sense in going on. */
static bool turn(struct rig *rig)
{
    int64_t now = monotonic_ns();
    if (rig->joined && now - rig->heard_ns > rig->lost_ns)
        leave_place(rig);
    if (!rig->joined && now - rig->trying_ns > PATIENCE_NS)
        return false;
    if (!rig->joined && now - rig->hello_ns >= HELLO_NS)
        send_hello(rig);
    if (rig->joined && now >= rig->beat_due_ns)
        send_beat(rig, now);
    if (stop_wanted && now - rig->stop_ns >= HELLO_NS) {
        begin_request(rig, 3, "stop");
        send_frame(rig);
        rig->stop_ns = now;
    }
    zmq_pollitem_t waiting = {rig->socket, 0, ZMQ_POLLIN, 0};
    zmq_poll(&waiting, 1, 10);
    bool possible = true;
    zmq_msg_t message;
    zmq_msg_init(&message);
    for (int k = 0; possible && k < MESSAGES_PER_TURN && zmq_msg_recv(&message, rig->socket, ZMQ_DONTWAIT) >= 0; k++)
        if (!zmq_msg_more(&message))
            possible = take_frame(rig, zmq_msg_data(&message), zmq_msg_size(&message));
    zmq_msg_close(&message);
    if (rig->joined && rig->fresh)
        send_values(rig);
    rig->fresh = false;
    return possible;
}

int main(int count, char **arguments)
{
    static struct rig rig = {.step = -1};
    static const int options[][2] = {{ZMQ_SNDHWM, 64}, {ZMQ_RCVHWM, 64}, {ZMQ_LINGER, 200}, {ZMQ_IMMEDIATE, 1}};
    const char *address = count == 3 ? arguments[2] : "";
    rig.name = count == 3 ? arguments[1] : "";
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    void *context = zmq_ctx_new();
    rig.socket = zmq_socket(context, ZMQ_DEALER);
    if (strlen(rig.name) > LONGEST_TEXT || !set_options(rig.socket, options, 4, 65536) ||
        zmq_connect(rig.socket, address) != 0) {
        fputs("rig: say rig NAME ADDRESS, for instance rig pedals ipc:///run/mastd/mastd.rigs\n", stderr);
        return 2;
    }
    bool possible = true;
    rig.trying_ns = monotonic_ns();
    while (!leaving && possible)
        possible = turn(&rig);

    int code = leaving ? 0 : !rig.joined && monotonic_ns() - rig.trying_ns > PATIENCE_NS ? 1 : 2;
    if (code == 1)
        fprintf(stderr, "rig: no place at %s for 5 s; is the daemon there, with a rigs file?\n", address);
    if (code == 2)
        fprintf(stderr, "rig: none at %s for this rig: see above, or it gives and reads something else\n", address);
    if (rig.joined) {
        begin_request(&rig, 3, "bye");
        send_frame(&rig);
    }
    double offset_s = 0.0, round_trip_s = 0.0;
    clock_best(&rig.clock, &offset_s, &round_trip_s);
    printf("motions %" PRId64 ", values %" PRId64, rig.motions, rig.given);
    printf(", offset %.6f s, round trip %.6f s\n", offset_s, round_trip_s);
    zmq_close(rig.socket);
    zmq_ctx_term(context);
    return code;
}
