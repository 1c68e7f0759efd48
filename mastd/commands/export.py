"""``mastd export RUN --to FORMAT``: a run's signals, or any file of series, as a file for other programs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mastd import units
from mastd.commands.quantities import positive, quantity
from mastd.errors import FormatError, UsageError

if TYPE_CHECKING:
    from mastd.formats.core.measurement import Format, Measurement, Series

_MAX_LOST = 20


def add_parsers(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``export``."""
    parser = subparsers.add_parser(
        "export",
        help="write a run's signals, or any file of series, in another format",
        description="Write a run's signals, or any file of series, in another format. Times of a run are"
        " seconds of the record's clock, exactly n times its period; missing periods are filled and"
        " reported.",
    )
    parser.add_argument(
        "source",
        metavar="RUN",
        type=Path,
        help="a run's directory, its run.mcap, a fault-….mcap, or any other file of series",
    )
    parser.add_argument(
        "--to", metavar="FORMAT", help="name of the format (default: from the suffix of --out)"
    )
    parser.add_argument("--out", metavar="FILE", type=Path, help="default: next to its source")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--signals",
        metavar="SIGNAL,…",
        help="of a run: reference (poses and accelerations), achieved (the same, measured), drive (lengths"
        " that the actuators were sent), all; if left out, reference,achieved",
    )
    which.add_argument("--channels", metavar="NAME,…", help="channels by name, or by patterns like pose.*")
    parser.add_argument(
        "--rate", metavar="RATE", help="resample to this rate, such as 256Hz, without aliasing"
    )
    parser.add_argument("--from", dest="first", metavar="TIME", help="start time, such as 10s")
    parser.add_argument("--to-time", dest="last", metavar="TIME", help="end time")
    parser.add_argument("--played", action="store_true", help="of a run: only while its profile ran")
    parser.add_argument("--unit", help="unit of the channels for a file that states none")
    parser.add_argument(
        "--step", metavar="TIME", help="time from value to value, such as 5ms, for a file that states none"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read, cut, resample and write; print what was written, warnings and losses."""
    from mastd.formats.core.reshape import between

    rate, step, first, last = _quantities(arguments)
    target = _format(arguments.to, arguments.out)
    source, measurement, recorded, span = _taken(arguments, step)
    out = arguments.out or _beside(source, recorded, target, arguments.signals)
    if out.exists() and out.samefile(source):
        raise UsageError(f"{out}: is the source itself, give another file with --out")
    if rate is not None:
        measurement = _resampled(measurement, source, rate, recorded)
    measurement = between(measurement, source, *(span or (first, last)))
    assert target.write is not None
    lost = target.write(out, measurement)
    print("\n".join(_report(out, target, measurement, lost)))
    return 0


def _quantities(arguments: argparse.Namespace) -> tuple[float | None, ...]:
    """Return rate (Hz), step (s), first and last time (s), None for what is not asked for."""
    rate, step = arguments.rate, arguments.step
    return (
        None if rate is None else positive("--rate", rate, units.FREQUENCY),
        None if step is None else positive("--step", step, units.TIME),
        *(
            None if text is None else quantity(option, text, units.TIME)
            for option, text in (("--from", arguments.first), ("--to-time", arguments.last))
        ),
    )


def _format(name: str | None, out: Path | None) -> Format:
    """Return the format to write, by its name or by the suffix of the file to write."""
    from mastd.formats.catalogue import formats

    writable = [known for known in formats() if known.write is not None]
    known_names = ", ".join(known.name for known in writable)
    if name is not None:
        chosen = next((known for known in writable if known.name == name.lower()), None)
        if chosen is None:
            raise UsageError(f"--to {name}: is not a writable format: {known_names}")
        return chosen
    if out is None:
        raise UsageError(f"--to FORMAT or --out FILE is required; formats: {known_names}")
    chosen = next((known for known in writable if out.suffix.lower() in known.suffixes), None)
    if chosen is None:
        raise UsageError(f"{out}: unknown suffix, give the format with --to: {known_names}")
    return chosen


class _Taken(NamedTuple):
    """The file, what is taken of it, whether it is a record, and from when to when (s), if that is asked."""

    source: Path
    measurement: Measurement
    recorded: bool
    span: tuple[float, float] | None = None


def _taken(arguments: argparse.Namespace, step: float | None) -> _Taken:
    """Return what is read, as the user asks for it."""
    from mastd.formats.core.files import head_of
    from mastd.formats.core.measurement import HEAD
    from mastd.formats.mcap.frames import PROFILE_NAME
    from mastd.formats.mcap.walk import profile_of
    from mastd.record.export import DEFAULT_SIGNALS, SIGNALS, played, run_measurement
    from mastd.record.reader import find_run, open_run

    source = find_run(arguments.source)
    channels = _listed(arguments.channels)
    if profile_of(head_of(source, HEAD)) != PROFILE_NAME:
        if arguments.signals is not None:
            raise UsageError(f"{source}: is not a record: choose its channels with --channels")
        if arguments.played:
            raise UsageError(f"{source}: is not a record: cut it with --from and --to-time")
        return _Taken(source, _from_file(source, channels, arguments.unit, step), False)
    if arguments.unit is not None or step is not None:
        raise UsageError(f"{source}: a record states its units and step: remove --unit and --step")
    if arguments.played and (arguments.first is not None or arguments.last is not None):
        raise UsageError("--played defines the time span: remove --from and --to-time")
    signals = _listed(arguments.signals)
    unknown = [signal for signal in signals if signal not in SIGNALS]
    if unknown:
        raise UsageError(f"--signals {', '.join(unknown)}: known are {', '.join(SIGNALS)}")
    record = open_run(source)
    span = played(record) if arguments.played else None
    if arguments.played and span is None:
        raise UsageError(f"{source}: no profile ran in this record: remove --played")
    return _Taken(source, run_measurement(record, signals or channels or DEFAULT_SIGNALS), True, span)


def _listed(text: str | None) -> list[str]:
    return [] if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _from_file(source: Path, channels: Sequence[str], unit: str | None, step: float | None) -> Measurement:
    """Return what a file holds, with what the user says and it does not."""
    from mastd.formats.catalogue import completed, read
    from mastd.formats.core.reshape import chosen

    measurement = read(source)
    if channels:
        measurement = chosen(measurement, source, channels).measurement
    series = [completed(one, source, unit, step) for one in measurement.series]
    notes = {**measurement.notes, "made_of": f"{source.name} ({measurement.format})"}
    return replace(measurement, series=tuple(series), notes=notes)


def _beside(source: Path, recorded: bool, target: Format, signals: str | None) -> Path:
    """Return where the file goes if nothing else is said: beside the source, called as the run or file.

    Other signals than the usual ones stand in its name, but the drive of RPC III has a suffix of its own.
    """
    from mastd.record.export import DEFAULT_SIGNALS
    from mastd.record.writer import RUN_FILE

    name = source.stem
    if recorded and source.name == RUN_FILE:
        name = source.resolve().parent.name or name
    listed = _listed(signals)
    if listed == ["drive"] and ".drv" in target.suffixes:
        return source.with_name(f"{name}.drv")
    if listed and listed != list(DEFAULT_SIGNALS):
        name = "-".join((name, *listed))
    return source.with_name(name + target.suffixes[0])


def _resampled(measurement: Measurement, source: Path, rate: float, recorded: bool) -> Measurement:
    from mastd.formats.core.reshape import at_step
    from mastd.record.export import held

    done = (
        at_step(measurement, source, 1.0 / rate, held)
        if recorded
        else at_step(measurement, source, 1.0 / rate)
    )
    return replace(
        done, notes={**done.notes, "resampled": f"to {rate:.9g} Hz, band-limited, without phase shift"}
    )


def _report(out: Path, target: Format, measurement: Measurement, lost: Sequence[str]) -> list[str]:
    """Return what the command prints."""
    lines = [f"{out}: {target.title}, {out.stat().st_size / 1e6:.1f} MB"]
    lines += [f"  {_extent(series)}" for series in measurement.series]
    lines += [f"  as read: {warning}" for warning in measurement.warnings]
    lines += [f"  not kept: {line}" for line in lost[:_MAX_LOST]]
    if len(lost) > _MAX_LOST:
        lines.append(f"  not kept: and {len(lost) - _MAX_LOST} more of these")
    return lines


def _extent(series: Series) -> str:
    """Return name, channels, rate, values and reach of a series."""
    called = f"{series.name}: " if series.name else ""
    text = f"{called}{len(series.channels)} channels, {series.count} samples"
    if series.step is not None and series.abscissae is None:
        rate = f"{1.0 / series.step:.9g} Hz" if series.axis_unit == "s" else f"step {series.step:.9g}"
        text += f", {rate}" + (f" {series.axis_unit}" if series.axis_unit != "s" else "")
    else:
        text += ", uneven"
    if not series.count:
        return text
    try:
        reach = series.axis_values()
    except FormatError:
        return text
    return f"{text}, {reach[0]:.9g} to {reach[-1]:.9g} {series.axis_unit}"
