/* What both examples need of MessagePack, ZeroMQ and clocks. Frames from outside are looked through before they are
 * believed, frames of one's own are written into memory of fixed size. Nothing here waits, and nothing is allocated
 * beyond what a sound frame holds.
 */
#ifndef WIRE_H
#define WIRE_H

#include <math.h>
#include <msgpack.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(double) == 8,
               "blocks are copied as they are: they are little-endian float64");

#define DEEPEST 8        /* levels of nesting; the protocol needs four */
#define LONGEST_TEXT 200 /* characters */
#define TEXT_BYTES (4 * LONGEST_TEXT + 1)

static inline int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* How far the clock of the other side is ahead, from its beats. */
#define BEATS_KEPT 16
struct clock_estimate {
    int64_t beats, round_trips_ns[BEATS_KEPT], offsets_ns[BEATS_KEPT];
};

/* A beat sent at `time_ns` of the other side has come now; it echoes our own of `echo_ns`, held there for `held_ns`. */
static inline void clock_beat(struct clock_estimate *clock, int64_t now, int64_t time_ns, int64_t echo_ns,
                              int64_t held_ns)
{
    if (echo_ns <= 0 || echo_ns > now || held_ns > now - echo_ns)
        return; /* none of ours has come there yet, or it cannot be */
    int64_t round_trip = now - echo_ns - held_ns;
    clock->round_trips_ns[clock->beats % BEATS_KEPT] = round_trip;
    clock->offsets_ns[clock->beats++ % BEATS_KEPT] = time_ns - (now - round_trip / 2);
}

/* The shortest round trip tells best; false before there was one. */
static inline bool clock_best(const struct clock_estimate *clock, double *offset_s, double *round_trip_s)
{
    int64_t kept = clock->beats < BEATS_KEPT ? clock->beats : BEATS_KEPT, best = 0;
    for (int64_t k = 1; k < kept; k++)
        best = clock->round_trips_ns[k] < clock->round_trips_ns[best] ? k : best;
    *offset_s = (double)clock->offsets_ns[best] * 1e-9;
    *round_trip_s = (double)clock->round_trips_ns[best] * 1e-9;
    return kept > 0;
}

static inline bool set_options(void *socket, const int (*options)[2], size_t count, int64_t largest_message)
{
    for (size_t k = 0; socket != NULL && k < count; k++)
        if (zmq_setsockopt(socket, options[k][0], &options[k][1], sizeof options[k][1]) != 0)
            return false;
    return socket != NULL && zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &largest_message, sizeof largest_message) == 0;
}

/* --- Looking through a frame */

static inline uint64_t big_endian(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t k = 0; k < size; k++)
        value = value << 8 | bytes[k];
    return value;
}

/* Bytes of the object at `at`, 0 if it does not end within `left`. A count of entries that cannot be there (each takes
 * a byte at least) ends the search at once: no memory is ever asked for by a number that a stranger wrote. */
static inline size_t object_size(const uint8_t *at, size_t left, int levels)
{
    if (left == 0 || levels == 0)
        return 0;
    uint8_t first = at[0];
    size_t head = 1;   /* bytes before what follows */
    uint64_t data = 0; /* bytes that follow, of no further structure */
    uint64_t entries = 0;
    if (first <= 0x7f || first >= 0xe0 || first == 0xc0 || first == 0xc2 || first == 0xc3) {
        return 1; /* small integer, nil, false, true */
    } else if (first <= 0x8f) {
        entries = 2 * (uint64_t)(first & 0x0f);
    } else if (first <= 0x9f) {
        entries = first & 0x0f;
    } else if (first <= 0xbf) {
        data = first & 0x1f;
    } else if (first >= 0xca && first <= 0xd3) { /* float 32, float 64, unsigned and signed 8 to 64 */
        static const uint8_t widths[] = {4, 8, 1, 2, 4, 8, 1, 2, 4, 8};
        data = widths[first - 0xca];
    } else if ((first >= 0xc4 && first <= 0xc6) || (first >= 0xd9 && first <= 0xdb)) { /* binary, text */
        size_t width = (size_t)1 << (first >= 0xd9 ? first - 0xd9 : first - 0xc4);
        if (left - 1 < width)
            return 0;
        data = big_endian(at + 1, width);
        head += width;
    } else if (first >= 0xdc) { /* array or map with a count of 16 or 32 bits */
        size_t width = first & 1 ? 4 : 2;
        if (left - 1 < width)
            return 0;
        entries = big_endian(at + 1, width) * (first >= 0xde ? 2 : 1);
        head += width;
    } else {
        return 0; /* extension types and 0xc1 are not part of the protocol */
    }
    if (data > left - head || entries > left - head)
        return 0;
    size_t size = head + (size_t)data;
    for (uint64_t k = 0; k < entries; k++) {
        size_t next = object_size(at + size, left - size, levels - 1);
        if (next == 0)
            return 0;
        size += next;
    }
    return size;
}

/* Decode a frame of exactly one object; the caller destroys `message` if this returns true. */
static inline bool decode(const void *frame, size_t size, msgpack_unpacked *message)
{
    if (size == 0 || object_size(frame, size, DEEPEST) != size)
        return false;
    msgpack_unpacked_init(message);
    size_t offset = 0;
    if (msgpack_unpack_next(message, frame, size, &offset) == MSGPACK_UNPACK_SUCCESS && offset == size)
        return true;
    msgpack_unpacked_destroy(message);
    return false;
}

/* --- Entries */

static inline bool is_text(const msgpack_object *object, const char *text)
{
    return object != NULL && object->type == MSGPACK_OBJECT_STR && object->via.str.size == strlen(text) &&
           memcmp(object->via.str.ptr, text, object->via.str.size) == 0;
}

/* The value of a key, NULL if it is not there. */
static inline const msgpack_object *entry(const msgpack_object *map, const char *key)
{
    for (uint32_t k = 0; map->type == MSGPACK_OBJECT_MAP && k < map->via.map.size; k++)
        if (is_text(&map->via.map.ptr[k].key, key))
            return &map->via.map.ptr[k].val;
    return NULL;
}

static inline bool take_integer(const msgpack_object *object, int64_t lowest, int64_t highest, int64_t *value)
{
    if (object == NULL)
        return false;
    if (object->type == MSGPACK_OBJECT_POSITIVE_INTEGER && object->via.u64 <= INT64_MAX)
        *value = (int64_t)object->via.u64;
    else if (object->type == MSGPACK_OBJECT_NEGATIVE_INTEGER)
        *value = object->via.i64;
    else
        return false;
    return lowest <= *value && *value <= highest;
}

/* Copy printable UTF-8 of at most LONGEST_TEXT characters; false for anything else. */
static inline bool take_text(const msgpack_object *object, char text[TEXT_BYTES])
{
    if (object == NULL || object->type != MSGPACK_OBJECT_STR || object->via.str.size >= TEXT_BYTES)
        return false;
    const uint8_t *bytes = (const uint8_t *)object->via.str.ptr;
    size_t size = object->via.str.size, characters = 0;
    for (size_t k = 0; k < size; characters++) {
        static const uint32_t least[] = {0x20, 0x80, 0x800, 0x10000};
        uint8_t first = bytes[k++];
        size_t more = first < 0x80 ? 0 : first >= 0xc2 && first < 0xe0 ? 1 : (first & 0xf0) == 0xe0 ? 2 : 3;
        if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || first == 0x7f || size - k < more)
            return false;
        uint32_t code = more ? first & (0x3fu >> more) : first;
        for (size_t j = 0; j < more; j++, k++) {
            if ((bytes[k] & 0xc0) != 0x80)
                return false;
            code = code << 6 | (bytes[k] & 0x3fu);
        }
        if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            return false;
    }
    if (characters > LONGEST_TEXT)
        return false;
    memcpy(text, bytes, size);
    text[size] = '\0';
    return true;
}

static inline bool take_float(const msgpack_object *object, double *value)
{
    if (object == NULL || (object->type != MSGPACK_OBJECT_FLOAT64 && object->type != MSGPACK_OBJECT_FLOAT32))
        return false;
    *value = object->via.f64;
    return isfinite(*value);
}

/* Entries of an array, 0 if it is none. */
static inline uint32_t length(const msgpack_object *array)
{
    return array != NULL && array->type == MSGPACK_OBJECT_ARRAY ? array->via.array.size : 0;
}

/* Entry k of an array, NULL if there is none. */
static inline const msgpack_object *item(const msgpack_object *array, uint32_t k)
{
    return k < length(array) ? &array->via.array.ptr[k] : NULL;
}

/* Copy a block of exactly `count` float64. */
static inline bool take_block(const msgpack_object *object, void *block, size_t count)
{
    if (object == NULL || object->type != MSGPACK_OBJECT_BIN || object->via.bin.size != count * sizeof(double))
        return false;
    memcpy(block, object->via.bin.ptr, count * sizeof(double));
    return true;
}

static inline bool all_finite(const void *block, size_t count)
{
    double sum = 0.0;
    for (size_t k = 0; k < count; k++) {
        double value;
        memcpy(&value, (const char *)block + k * sizeof value, sizeof value);
        sum += value; /* stays infinite or NaN once it is */
    }
    return isfinite(sum);
}

/* --- A frame of one's own */

struct frame {
    char bytes[8192];
    size_t size;
    bool full;
    msgpack_packer packer;
};

static inline int frame_write(void *data, const char *bytes, size_t size)
{
    struct frame *frame = data;
    if (size > sizeof frame->bytes - frame->size) {
        frame->full = true;
        return -1;
    }
    memcpy(frame->bytes + frame->size, bytes, size);
    frame->size += size;
    return 0;
}

static inline void frame_begin(struct frame *frame)
{
    frame->size = 0;
    frame->full = false;
    msgpack_packer_init(&frame->packer, frame, frame_write);
}

static inline void put_integer(struct frame *frame, int64_t value)
{
    msgpack_pack_int64(&frame->packer, value);
}

static inline void put_text(struct frame *frame, const char *text)
{
    msgpack_pack_str(&frame->packer, strlen(text));
    msgpack_pack_str_body(&frame->packer, text, strlen(text));
}

static inline void put_block(struct frame *frame, const void *bytes, size_t size)
{
    msgpack_pack_bin(&frame->packer, size);
    msgpack_pack_bin_body(&frame->packer, bytes, size);
}

static inline void put_map(struct frame *frame, size_t entries, const char *kind)
{
    msgpack_pack_map(&frame->packer, entries);
    put_text(frame, "kind");
    put_text(frame, kind);
}

static inline void put_text_entry(struct frame *frame, const char *key, const char *text)
{
    put_text(frame, key);
    put_text(frame, text);
}

static inline void put_integer_entry(struct frame *frame, const char *key, int64_t value)
{
    put_text(frame, key);
    put_integer(frame, value);
}

#endif
