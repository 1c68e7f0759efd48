/* The table that the daemon's hello describes (docs/protocol.md, "The table in the hello"): 1 to MOST_ACTUATORS
 * actuators, their joints and strokes, the accelerometers; the hashes of the layouts that follow from their numbers;
 * and the pose that lengths belong to. Axes x ahead, y left, z up; B is the ground, P the table, C the origin of P.
 */
#ifndef TABLE_H
#define TABLE_H

#include <stdio.h>

#include "wire.h"

#define MOST_ACTUATORS 24
#define MOST_ACCELEROMETERS 64
#define AXES 6 /* surge, sway, heave, roll, pitch, yaw */

struct table {
    int64_t actuators, accelerometers;
    double table_joints[MOST_ACTUATORS][3]; /* m, in P */
    double base_joints[MOST_ACTUATORS][3];  /* m, in B */
    double neutral_position[3];             /* m, of C in B */
    double freedoms[AXES];                  /* 1 moves, 0 is held by bearings */
    double neutral_lengths[MOST_ACTUATORS]; /* m */
    double strokes[MOST_ACTUATORS];         /* m, to either side */
    double resting_lengths[MOST_ACTUATORS]; /* m, the table lowered */
    double feedback[MOST_ACTUATORS];        /* one of those below */
    double piston_areas[MOST_ACTUATORS][2]; /* m2, 0 of an electric drive */
    double no_load_speeds[MOST_ACTUATORS];  /* m/s */
    double accelerometer_positions[MOST_ACCELEROMETERS][3];  /* m, in P */
    double accelerometer_directions[MOST_ACCELEROMETERS][3]; /* in P */
    double gravity;           /* m/s2 */
    double stage_pressures[3]; /* Pa: return line, low stage, high stage; all 0 without hydraulics */
};
#define TABLE_VALUES(n, m) (13 * (n) + 6 * (m) + 13)

enum feedback { NO_FORCE, CHAMBER_PRESSURES, PRESSURE_DIFFERENCE, LOAD_CELL, FEEDBACK_KINDS };

static inline int count_of(const struct table *table, enum feedback kind)
{
    int count = 0;
    for (int k = 0; k < table->actuators; k++)
        count += table->feedback[k] == (double)kind;
    return count;
}

static inline bool hydraulic(const struct table *table)
{
    return table->stage_pressures[2] > 0.0;
}

static inline const double *take_run(const double *from, void *to, int64_t count)
{
    memcpy(to, from, (size_t)count * sizeof *from);
    return from + count;
}

static inline double length_of(const double vector[3])
{
    return sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
}

/* What is wrong with the numbers of a table, NULL for nothing. */
static inline const char *table_problem(const struct table *table)
{
    bool moves = false;
    for (int j = 0; j < AXES; j++) {
        if (table->freedoms[j] != 0.0 && table->freedoms[j] != 1.0)
            return "a freedom must be 0 or 1";
        moves |= table->freedoms[j] == 1.0;
    }
    if (!moves)
        return "no axis is free";
    for (int k = 0; k < table->actuators; k++) {
        double along[3];
        for (int i = 0; i < 3; i++)
            along[i] = table->neutral_position[i] + table->table_joints[k][i] - table->base_joints[k][i];
        if (!(length_of(along) > 0.0))
            return "the joints of an actuator coincide at neutral";
        if (!(table->strokes[k] > 0.0 && table->neutral_lengths[k] > table->strokes[k]))
            return "a stroke must be above 0 and below the neutral length";
        if (!(fabs(table->resting_lengths[k] - table->neutral_lengths[k]) <= table->strokes[k] * (1.0 + 1e-9)))
            return "a resting length lies outside of the stroke";
        const double *areas = table->piston_areas[k], kind = table->feedback[k];
        if (!(kind >= NO_FORCE && kind < FEEDBACK_KINDS && kind == floor(kind)))
            return "feedback must be 0, 1, 2 or 3";
        if (!(table->no_load_speeds[k] > 0.0 && areas[0] >= 0.0 && areas[1] >= 0.0 &&
              (areas[0] > 0.0) == (areas[1] > 0.0)))
            return "speeds must be above 0, areas both above 0 or both 0";
        if ((kind == CHAMBER_PRESSURES || kind == PRESSURE_DIFFERENCE) && !(areas[0] > 0.0))
            return "an actuator with pressures must have areas above 0";
        if (areas[0] > 0.0 && !hydraulic(table))
            return "a hydraulic actuator must have a supply";
    }
    if (hydraulic(table) && !(table->stage_pressures[0] < table->stage_pressures[1] &&
          table->stage_pressures[1] < table->stage_pressures[2]))
        return "pressures must rise from the return line to the high stage";
    return NULL;
}

/* Take the table out of a hello; false with one line in `reason` if this program cannot serve it. */
static inline bool take_table(const msgpack_object *hello, struct table *table, char *reason, size_t size)
{
    static double values[TABLE_VALUES(MOST_ACTUATORS, MOST_ACCELEROMETERS)];
    memset(table, 0, sizeof *table);
    if (!take_integer(entry(hello, "actuators"), INT64_MIN, INT64_MAX, &table->actuators) ||
        !take_integer(entry(hello, "accelerometers"), INT64_MIN, INT64_MAX, &table->accelerometers)) {
        snprintf(reason, size, "hello: actuators and accelerometers must be integers");
        return false;
    }
    int64_t n = table->actuators, m = table->accelerometers;
    if (n < 1 || n > MOST_ACTUATORS || m < 0 || m > MOST_ACCELEROMETERS) {
        snprintf(reason, size, "table: plant 1 to %d actuators and at most %d accelerometers, daemon %lld and %lld",
                 MOST_ACTUATORS, MOST_ACCELEROMETERS, (long long)n, (long long)m);
        return false;
    }
    if (!take_block(entry(hello, "table"), values, (size_t)TABLE_VALUES(n, m)) ||
        !all_finite(values, (size_t)TABLE_VALUES(n, m))) {
        snprintf(reason, size, "hello: table must be %lld finite numbers", (long long)TABLE_VALUES(n, m));
        return false;
    }
    const double *at = take_run(values, table->table_joints, 3 * n);
    at = take_run(at, table->base_joints, 3 * n);
    at = take_run(at, table->neutral_position, 3);
    at = take_run(at, table->freedoms, AXES);
    at = take_run(at, table->neutral_lengths, n);
    at = take_run(at, table->strokes, n);
    at = take_run(at, table->resting_lengths, n);
    at = take_run(at, table->feedback, n);
    at = take_run(at, table->piston_areas, 2 * n);
    at = take_run(at, table->no_load_speeds, n);
    at = take_run(at, table->accelerometer_positions, 3 * m);
    at = take_run(at, table->accelerometer_directions, 3 * m);
    at = take_run(at, &table->gravity, 1);
    take_run(at, table->stage_pressures, 3);
    const char *problem = table_problem(table);
    if (problem != NULL)
        snprintf(reason, size, "table: %s; correct the daemon's table file", problem);
    return problem == NULL;
}

/* --- Hashes of the layouts */

static inline uint32_t turned(uint32_t value, int bits)
{
    return value >> bits | value << (32 - bits);
}

/* SHA-256 (FIPS 180-4) of a text of less than 1024 bytes, as hexadecimal digits. */
static inline void sha256(const char *text, char digits[65])
{
    uint32_t constants[64], state[8], words[64];
    uint8_t padded[1088] = {0};
    size_t size = strlen(text), blocks = (size + 9 + 63) / 64;
    for (uint32_t number = 2, found = 0; found < 64; number++) { /* fractions of the roots of the first primes */
        bool prime = true;
        for (uint32_t part = 2; part * part <= number; part++)
            prime &= number % part != 0;
        if (!prime)
            continue;
        double cube = cbrt(number), square = sqrt(number);
        if (found < 8)
            state[found] = (uint32_t)((square - floor(square)) * 4294967296.0);
        constants[found++] = (uint32_t)((cube - floor(cube)) * 4294967296.0);
    }
    memcpy(padded, text, size);
    padded[size] = 0x80;
    for (int k = 0; k < 8; k++)
        padded[64 * blocks - 1 - (size_t)k] = (uint8_t)((uint64_t)size * 8 >> 8 * k);
    for (size_t block = 0; block < blocks; block++) {
        uint32_t a[8];
        memcpy(a, state, sizeof a);
        for (int k = 0; k < 64; k++) {
            if (k < 16) {
                words[k] = (uint32_t)big_endian(padded + 64 * block + 4 * (size_t)k, 4);
            } else {
                uint32_t x = words[k - 15], y = words[k - 2];
                words[k] = words[k - 16] + (turned(x, 7) ^ turned(x, 18) ^ x >> 3) + words[k - 7] +
                           (turned(y, 17) ^ turned(y, 19) ^ y >> 10);
            }
            uint32_t first = a[7] + (turned(a[4], 6) ^ turned(a[4], 11) ^ turned(a[4], 25)) +
                             ((a[4] & a[5]) ^ (~a[4] & a[6])) + constants[k] + words[k];
            uint32_t second = (turned(a[0], 2) ^ turned(a[0], 13) ^ turned(a[0], 22)) +
                              ((a[0] & a[1]) ^ (a[0] & a[2]) ^ (a[1] & a[2]));
            memmove(a + 1, a, 7 * sizeof *a);
            a[4] += first;
            a[0] = first + second;
        }
        for (int k = 0; k < 8; k++)
            state[k] += a[k];
    }
    for (int k = 0; k < 8; k++)
        snprintf(digits + 8 * k, 9, "%08x", state[k]);
}

/* The text of a field, empty where there are none. */
static inline const char *field(char text[64], const char *name, int count, const char *unit)
{
    text[0] = '\0';
    if (count > 0)
        snprintf(text, 64, "%s:%d:%s;", name, count, unit);
    return text;
}

static inline void layout_hashes(const struct table *table, char sample[65], char command[65])
{
    char text[1024], pressures[64], differences[64], cells[64];
    int n = (int)table->actuators, m = (int)table->accelerometers;
    snprintf(text, sizeof text, "sample;lengths:%d:m;%s%s%sspools:%d:1;%saccelerometers:%d:m/s2", n,
             field(pressures, "pressures", 2 * count_of(table, CHAMBER_PRESSURES), "Pa"),
             field(differences, "pressure_differences", count_of(table, PRESSURE_DIFFERENCE), "Pa"),
             field(cells, "load_cells", count_of(table, LOAD_CELL), "N"), n,
             hydraulic(table) ? "supply_pressure:1:Pa;return_pressure:1:Pa;supply_flow:1:m3/s;oil_temperature:1:K;"
                                "oil_level:1:1;accumulator_volume:1:m3;filter_pressure_drop:1:Pa;" : "", m);
    sha256(text, sample);
    snprintf(text, sizeof text,
             "command;lengths:%d:m;rates:%d:m/s;accelerations:%d:m/s2;force_references:%d:N;valve_trims:%d:m/s;"
             "payload_wrench:6:N, N m", n, n, n, n, n);
    sha256(text, command);
}

/* --- The pose that lengths belong to */

struct pose {
    double position[3]; /* m, of C in B */
    double axes[3][3];  /* those of P in B, one in each row */
};

static inline double dot(const double *one, const double *other, int64_t count)
{
    double sum = 0.0;
    for (int64_t k = 0; k < count; k++)
        sum += one[k] * other[k];
    return sum;
}

static inline void cross(const double one[3], const double other[3], double product[3])
{
    for (int i = 0; i < 3; i++)
        product[i] = one[(i + 1) % 3] * other[(i + 2) % 3] - one[(i + 2) % 3] * other[(i + 1) % 3];
}

/* A vector of P in B. */
static inline void in_ground(const struct pose *pose, const double vector[3], double turned_vector[3])
{
    for (int i = 0; i < 3; i++)
        turned_vector[i] = vector[0] * pose->axes[0][i] + vector[1] * pose->axes[1][i] + vector[2] * pose->axes[2][i];
}

/* Rates of all lengths for a unit rate of each axis at `pose`, and what `lengths` have more than there. */
static inline void look_at(const struct table *table, const struct pose *pose, const double *lengths,
                           double rates[AXES][MOST_ACTUATORS], double *excess)
{
    for (int k = 0; k < table->actuators; k++) {
        double arm[3], along[3], moment[3];
        in_ground(pose, table->table_joints[k], arm);
        for (int i = 0; i < 3; i++)
            along[i] = pose->position[i] + arm[i] - table->base_joints[k][i];
        double length = fmax(length_of(along), 1e-6);
        excess[k] = lengths[k] - length;
        cross(arm, along, moment);
        for (int i = 0; i < 3; i++) {
            rates[i][k] = along[i] / length;
            rates[3 + i][k] = moment[i] / length;
        }
    }
}

/* Gram-Schmidt: the rows become orthonormal, `upper` what they were made of. A row of an axis that is held, or that
 * depends on those before, becomes 0. */
static inline void orthonormal(const struct table *table, double rows[AXES][MOST_ACTUATORS], double upper[AXES][AXES])
{
    int64_t n = table->actuators;
    memset(upper, 0, AXES * sizeof *upper);
    for (int j = 0; j < AXES; j++) {
        double before = sqrt(dot(rows[j], rows[j], n));
        for (int turn = 0; turn < 2; turn++) { /* once more takes away what rounding has left */
            for (int i = 0; i < j; i++) {
                double share = dot(rows[i], rows[j], n);
                upper[i][j] += share;
                for (int k = 0; k < n; k++)
                    rows[j][k] -= share * rows[i][k];
            }
        }
        double left = sqrt(dot(rows[j], rows[j], n));
        bool kept = table->freedoms[j] == 1.0 && left > 1e-6 * before;
        upper[j][j] = kept ? left : 0.0;
        for (int k = 0; k < n; k++)
            rows[j][k] = kept ? rows[j][k] / left : 0.0;
    }
}

static inline void move(struct pose *pose, const double step[AXES])
{
    double angle = length_of(step + 3);
    for (int i = 0; i < 3; i++)
        pose->position[i] += step[i];
    for (int axis = 0; axis < 3 && angle > 0.0; axis++) { /* Rodrigues' formula */
        double *vector = pose->axes[axis], product[3];
        double along = dot(step + 3, vector, 3) * (1.0 - cos(angle)) / (angle * angle);
        cross(step + 3, vector, product);
        for (int i = 0; i < 3; i++)
            vector[i] = vector[i] * cos(angle) + product[i] * sin(angle) / angle + along * step[3 + i];
    }
}

/* Take the part of `values` (of the actuators) that the table's own motion has; `rows` orthonormal. */
static inline void keep_common(const struct table *table, double rows[AXES][MOST_ACTUATORS], double *values)
{
    double kept[MOST_ACTUATORS] = {0};
    for (int j = 0; j < AXES; j++) {
        double share = dot(rows[j], values, table->actuators);
        for (int k = 0; k < table->actuators; k++)
            kept[k] += share * rows[j][k];
    }
    memcpy(values, kept, (size_t)table->actuators * sizeof *values);
}

/* Bring `pose` to that which fits `lengths` best, by `turns` steps of Gauss and Newton; `moved` says how far it went.
 * Leaves what the lengths do not fit in `misfit`, and in `rows` the axes' orthonormal rates. */
static inline void follow_lengths(const struct table *table, const double *lengths, int turns, struct pose *pose,
                                  double moved[AXES], double *misfit, double rows[AXES][MOST_ACTUATORS])
{
    double upper[AXES][AXES], step[AXES], common[MOST_ACTUATORS];
    memset(moved, 0, AXES * sizeof *moved);
    for (int turn = 0; turn <= turns; turn++) {
        look_at(table, pose, lengths, rows, misfit);
        orthonormal(table, rows, upper);
        if (turn == turns)
            break;
        for (int j = AXES - 1; j >= 0; j--) {
            step[j] = dot(rows[j], misfit, table->actuators);
            for (int i = j + 1; i < AXES; i++)
                step[j] -= upper[j][i] * step[i];
            step[j] = upper[j][j] > 0.0 ? step[j] / upper[j][j] : 0.0;
            moved[j] += step[j];
        }
        move(pose, step);
    }
    memcpy(common, misfit, sizeof common);
    keep_common(table, rows, common);
    for (int k = 0; k < table->actuators; k++)
        misfit[k] -= common[k];
}

#endif
