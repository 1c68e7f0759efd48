"""Small whole files of every format of the catalogue: written by our writers, or made up here where there is
none. Their values are a short swinging motion."""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from mcap.writer import CompressionType, Writer

from mastd.formats import catalogue
from mastd.formats.core.measurement import Channel, Format, Measurement, Series
from mastd.formats.mts.rpc3 import Layout, write_rpc3

COUNT: Final = 40
STEP: Final = 0.005
RECORDS: Final = ("peer", "smc", "cosmos", "usc", "esm", "knet")
"""Formats of one quantity of a shaken place."""
VALUES: Final = 80.0 * np.sin(0.7 * np.arange(COUNT)) * np.exp(-0.05 * np.arange(COUNT))


@cache
def samples() -> Mapping[str, tuple[bytes, ...]]:
    """Return small whole files of each format, by the format's name; the first is the common layout."""
    return {known.name: _made(known) for known in catalogue.formats()}


def _made(known: Format) -> tuple[bytes, ...]:
    others = tuple(make() for make in _OTHERS.get(known.name, ()))
    if known.write is None:
        return others
    write = known.write
    return (_file(lambda path: write(path, fitting(known.name)), known.suffixes[0]), *others)


def _file(write: Callable[[Path], object], suffix: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"sample{suffix}")
        write(path)
        return path.read_bytes()


def rpc3(layout: Layout) -> bytes:
    """Return an RPC III file of another layout than the writer's common one."""
    return _file(lambda path: write_rpc3(path, fitting("rpc3"), layout), ".rsp")


def mcap_unchecked() -> bytes:
    """Return a record as an MCAP file without checksums, which keep damage from going deep."""

    def write(path: Path) -> None:
        with path.open("wb") as file:
            writer = Writer(file, compression=CompressionType.NONE, enable_crcs=False, chunk_size=600)
            writer.start()
            document = {
                "rate_hz": 1.0 / STEP,
                "channels": [{"name": "pose.heave", "unit": "m", "meaning": ""}],
            }
            schema = writer.register_schema("frame", "json", json.dumps(document).encode())
            channel = writer.register_channel("frame", "float64le", schema)
            for k, value in enumerate(VALUES):
                stamp = round(k * STEP * 1e9)
                writer.add_message(channel, stamp, struct.pack("<d", value), stamp, k)
            writer.add_metadata("mastd", {"profile": '"ours"'})
            writer.finish()  # type: ignore[no-untyped-call]

    return _file(write, ".mcap")


def road_binary() -> bytes:
    """Return the road of ``road_text`` in big-endian float32."""
    head, _, _ = road_text().partition(b"$" * 80)
    heights = np.array([[0.02 * np.sin(row + column) for column in range(5)] for row in range(12)])
    data = heights.astype(">f4").tobytes()
    return head.replace(b"LRFI", b"KRBI") + b"$" * 80 + b"\n" + data.ljust(-(-len(data) // 80) * 80, b"\0")


def fitting(name: str) -> Measurement:
    """Return a measurement that the writer of a format takes."""
    if name == "opencrg":
        return road()
    channels = (Channel("accel LF", "g", VALUES / 981.0), Channel("force", "kN", 3.0 * VALUES[::-1]))
    kept = channels[:1] if name in RECORDS else channels
    notes = {"title": "a motion of our own", "station": "bench 1"}
    return Measurement(name, (Series(kept, STEP),), notes)


def road() -> Measurement:
    """Return a small road as ``opencrg`` reads it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "road.crg")
        path.write_bytes(road_text())
        return catalogue.named("opencrg").read(path)


def road_text() -> bytes:
    """Return a straight road of 12 × 5 heights as text."""
    lines = [
        *("$CT", "a road of our own", "$ROAD_CRG"),
        *("REFERENCE_LINE_START_U = 0.0", "REFERENCE_LINE_END_U = 11.0", "REFERENCE_LINE_INCREMENT = 1.0"),
        *("LONG_SECTION_V_RIGHT = -1.0", "LONG_SECTION_V_LEFT = 1.0", "LONG_SECTION_V_INCREMENT = 0.5"),
        *("$KD_Definition", "#:LRFI", "U:reference line u,m,730.000,0.010"),
        *(f"D:long section {k},m" for k in range(1, 6)),
        "$" * 80,
    ]
    for row in range(12):
        lines.append("".join(f"{0.02 * np.sin(row + column):10.6f}" for column in range(5)))
    return ("\n".join(lines) + "\n").encode("ascii")


def _lines(cells: list[str], per_line: int) -> list[str]:
    return ["".join(cells[k : k + per_line]) for k in range(0, len(cells), per_line)]


def smc() -> bytes:
    """Return a USGS SMC file: eight numbers of ten characters a line that touch."""
    words = [
        *("2 CORRECTED ACCELEROGRAM", "*", "OURS", "     2001   2   3    0405 Nowhere"),
        *("Moment Mag=      6.1 Ms=      6.1 Ml=      6.0", "station = bench 1 component=     90"),
        *("epicentral dist =     12.0       pk     =     80.0", "inst type=FBA      data source = OURS"),
        *("*", "*", "*"),
    ]
    integers = [-32768] * 48
    integers[1:5] = [2001, 34, 4, 5]
    integers[12:14] = [90, 90]
    integers[15:17] = [1, COUNT]
    reals = [1.7e38] * 50
    reals[1] = 1.0 / STEP
    reals[28:32] = [float(VALUES.argmax() * STEP), VALUES.max(), float(VALUES.argmin() * STEP), VALUES.min()]
    body = [
        *_lines([f"{number:10d}" for number in integers], 8),
        *_lines([f"{_fortran(number, 7)[:-3]}E{_fortran(number, 7)[-3:]}".rjust(15) for number in reals], 5),
        "|a comment",
        *_lines([_smc_number(value) for value in VALUES], 8),
    ]
    return "".join(f"{line:<80}\r\n" for line in (*words, *body)).encode("ascii")


def _fortran(value: float, digits: int) -> str:
    """Return a number with its point before the first digit and an exponent of a sign and two digits."""
    if value == 0.0:
        return f"0.{'0' * digits}+00"
    exponent = int(np.floor(np.log10(abs(value)))) + 1
    return f"{value / 10.0**exponent:.{digits}f}{exponent:+03d}"


def _smc_number(value: float) -> str:
    mantissa, _, exponent = f"{value:.4E}".partition("E")
    return f"{mantissa:>7}E{int(exponent):+d}"[:10].rjust(10)


def cosmos() -> bytes:
    """Return a COSMOS 1.20 volume 2 file of one channel."""
    words = [
        "Corrected acceleration    (Format v01.20 with 13 text lines) Src: ours",
        *("Nowhere", "Hypocenter: 34.0580  -117.0110  H= 12km", "Origin: 02/03/2001, 04:05:06.1 UTC"),
        *("Statn No: 01-00001  Code:OO-0001  bench 1", "Coords: 34.0460 -117.0350", "Recorder: ours"),
        *("Rcrd start time:02/03/2001, 04:05:00.000 UTC (Q=2) RcrdId: 1", "Sta Cha:  1:  90 deg"),
        f"Raw record length = {COUNT * STEP:.3f}  sec, Uncor max =   0.08 g  at   0.010 sec",
        "Processed: 02/04/2001, 12:01:00 UTC      Max =    76.000 cm/sec2  at  0.010 sec",
        "Record filtered below 0.30  Hz (periods over   3.3 secs), and above 40.0 Hz",
        "Values used when parameter or data value is unknown/unspecified:   -999, -999.0",
    ]
    integers = [-999] * 100
    integers[:3] = [2, 4, 1]
    integers[53] = 90
    reals = [-999.0] * 100
    reals[61:64] = [1000.0 * STEP, COUNT * STEP, float(VALUES[np.abs(VALUES).argmax()])]
    lines = [
        *words,
        " 100 Integer-header values follow on  10 lines, Format= (10I8)",
        *_lines([f"{number:8d}" for number in integers], 10),
        " 100 Real-header values follow on  20 lines, Format= (5F15.6)",
        *_lines([f"{number:15.6f}" for number in reals], 5),
        '   1 Comment line(s) follow, each starting with a "|":',
        "| a comment",
        f"{COUNT:7d}  acceleration pts, approx    0 secs, units=cm/sec2(04),Format=(8F10.5)",
        *_lines([f"{value:10.5f}" for value in VALUES], 8),
        "/&  ----------  End of data for channel  1  ----------",
    ]
    return ("\n".join(lines) + "\n").encode("ascii")


def usc() -> bytes:
    """Return a USC volume 2 file: acceleration, velocity and displacement."""
    words = [
        *("CORRECTED ACCELEROGRAM  OURS      1.0 COMP N90E   FILE   0  CORRESPONDING T",),
        *("FILE     0 OF UNCORRECTED ACCELEROGRAM DATA OF VOLUME I:", "NOWHERE EARTHQUAKE", "FEB 3, 2001"),
        *("OURS", "STATION USC# 0001   34 17 11N, 118 13 31W", "BENCH 1", "COMP N90E", "NOWHERE EARTHQUAKE"),
        *("EPICENTER -   34 12 48N, 118 32 13W", "INSTR PERIOD =  .039 SEC  DAMPING =   .550"),
        *("NO. OF POINTS =     40      DURATION =    .200 SEC", "UNITS ARE SEC AND G/10"),
        *("RMS ACCLN. OF COMPLETE RECORD =     .305 G/10", "ACCELEROGRAM IS BAND-PASS FILTERED"),
        f"{COUNT:6d}  INSTRUMENT AND BASELINE CORRECTED DATA",
        f"AT EQUALLY-SPACED INTERVALS OF    {STEP:.3f}  SEC.",
        f"PEAK ACCELERATION = {-VALUES.max():10.5f}  CMS/SEC/SEC AT    {STEP * VALUES.argmax():.3f}   SEC.",
        *("PEAK   VELOCITY   =     1.00000    CMS/SEC   AT     .100   SEC.",),
        *(
            "PEAK DISPLACEMENT =      .10000      CMS     AT     .100   SEC.",
            "INITIAL VELOCITY  =      .0000",
        ),
        *("NOWHERE EARTHQUAKE   FEB 3, 2001", "MAGNITUDE =  6.1", "OURS   BENCH 1", "W"),
    ]
    integers = [0] * 100
    integers[52] = COUNT
    reals = [0.0] * 100
    reals[60] = STEP
    lines = [
        *words,
        *_lines([f"{number:5d}" for number in integers], 16),
        *_lines([f"{number:10.3f}" for number in reals], 8),
    ]
    for kind, unit, share in (("ACC", "CM/SEC/SEC", 1.0), ("VEL", "CM/SEC", 0.1), ("DIS", "CM", 0.01)):
        lines.append(f"{COUNT:6d} POINTS OF {kind} DATA EQUALLY SPACED AT   {STEP:.3f} SEC.  IN UNITS {unit}")
        lines += _lines([f"{share * value:10.3f}" for value in VALUES], 8)
    return "".join(f"{line:<80}\r\n" for line in lines).encode("ascii")


def esm() -> bytes:
    """Return an ESM file (DYNA 1.2): 64 lines of header, one column."""
    peak = int(np.abs(VALUES).argmax())
    known = {
        "EVENT_NAME": "NOWHERE",
        "EVENT_ID": "OURS-1",
        "EVENT_DATE_YYYYMMDD": "20010203",
        "STATION_CODE": "OURS",
        "SAMPLING_INTERVAL_S": f"{STEP:.6f}",
        "NDATA": f"{COUNT}",
        "DURATION_S": f"{(COUNT - 1) * STEP:.3f}",
        "STREAM": "HNN",
        "UNITS": "cm/s^2",
        "PGA_CM/S^2": f"{VALUES[peak]:.6f}",
        "TIME_PGA_S": f"{STEP * peak:.6f}",
        "DATABASE_VERSION": "DYNA 1.0",
        "HEADER_FORMAT": "DYNA 1.2",
        "DATA_TYPE": "ACCELERATION",
    }
    header = [f"{key}: {known.get(key, '')}" for key in _ESM_KEYS]
    return ("\n".join((*header, *(f"{value:.6f}" for value in VALUES))) + "\n").encode("ascii")


_ESM_KEYS: Final = (
    *("EVENT_NAME", "EVENT_ID", "EVENT_DATE_YYYYMMDD", "EVENT_TIME_HHMMSS", "EVENT_LATITUDE_DEGREE"),
    *("EVENT_LONGITUDE_DEGREE", "EVENT_DEPTH_KM", "HYPOCENTER_REFERENCE", "MAGNITUDE_W"),
    *("MAGNITUDE_W_REFERENCE", "MAGNITUDE_L", "MAGNITUDE_L_REFERENCE", "FOCAL_MECHANISM", "NETWORK"),
    *("STATION_CODE", "STATION_NAME", "STATION_LATITUDE_DEGREE", "STATION_LONGITUDE_DEGREE"),
    *("STATION_ELEVATION_M", "LOCATION", "SENSOR_DEPTH_M", "VS30_M/S", "SITE_CLASSIFICATION_EC8"),
    *("MORPHOLOGIC_CLASSIFICATION", "EPICENTRAL_DISTANCE_KM", "EARTHQUAKE_BACKAZIMUTH_DEGREE"),
    *("DATE_TIME_FIRST_SAMPLE_YYYYMMDD_HHMMSS", "DATE_TIME_FIRST_SAMPLE_PRECISION"),
    *("SAMPLING_INTERVAL_S", "NDATA", "DURATION_S", "STREAM", "UNITS", "INSTRUMENT"),
    *("INSTRUMENT_ANALOG/DIGITAL", "INSTRUMENTAL_FREQUENCY_HZ", "INSTRUMENTAL_DAMPING", "FULL_SCALE_G"),
    *("N_BIT_DIGITAL_CONVERTER", "PGA_CM/S^2", "TIME_PGA_S", "BASELINE_CORRECTION", "FILTER_TYPE"),
    *("FILTER_ORDER", "LOW_CUT_FREQUENCY_HZ", "HIGH_CUT_FREQUENCY_HZ", "LATE/NORMAL_TRIGGERED"),
    *("DATABASE_VERSION", "HEADER_FORMAT", "DATA_TYPE", "PROCESSING", "DATA_TIMESTAMP_YYYYMMDD_HHMMSS"),
    *("DATA_LICENSE", "DATA_CITATION", "DATA_CREATOR", "ORIGINAL_DATA_MEDIATOR_CITATION"),
    *("ORIGINAL_DATA_MEDIATOR", "ORIGINAL_DATA_CREATOR_CITATION", "ORIGINAL_DATA_CREATOR"),
    *("USER1", "USER2", "USER3", "USER4", "USER5"),
)


def knet() -> bytes:
    """Return a K-NET file: counts with a scale and an offset that is not told."""
    counts = np.round(VALUES * 8223790 / 7845 - 2100.0).astype(int)
    about = counts - counts.mean()
    header = {
        "Origin Time": "2001/02/03 04:05:00",
        "Lat.": "38.103",
        "Long.": "142.860",
        "Depth. (km)": "24",
        "Mag.": "6.1",
        "Station Code": "OUR001",
        "Station Lat.": "38.7292",
        "Station Long.": "141.0217",
        "Station Height(m)": "40",
        "Record Time": "2001/02/03 04:05:36",
        "Sampling Freq(Hz)": f"{1.0 / STEP:.0f}Hz",
        "Duration Time(s)": f"{COUNT * STEP:g}",
        "Dir.": "N-S",
        "Scale Factor": "7845(gal)/8223790",
        "Max. Acc. (gal)": f"{abs(about).max() * 7845 / 8223790:.3f}",
        "Last Correction": "2001/02/03 04:05:21",
        "Memo.": "",
    }
    lines = [
        *(f"{key:<18}{text}" for key, text in header.items()),
        *_lines([f"{number:8d} " for number in counts], 8),
    ]
    return ("\n".join(lines) + "\n").encode("ascii")


_OTHERS: Final[Mapping[str, tuple[Callable[[], bytes], ...]]] = {
    "smc": (smc,),
    "cosmos": (cosmos,),
    "usc": (usc,),
    "esm": (esm,),
    "knet": (knet,),
    "opencrg": (road_text, road_binary),
    "mcap": (mcap_unchecked,),
    "rpc3": (
        lambda: rpc3(Layout(data_type="SHORT_INTEGER", points_per_frame=16, points_per_group=32)),
        lambda: rpc3(Layout(format="BINARY_IEEE_BIG_END", points_per_frame=16, points_per_group=16)),
        lambda: rpc3(Layout(format="ASCII", points_per_frame=8, points_per_group=16, half_frames="added")),
    ),
}
"""Other layouts of formats that we write, and formats that we do not."""
