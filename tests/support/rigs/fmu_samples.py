"""FMUs made for tests: a first-order lag in C that counts its steps, compiled here, of FMI 2 and 3."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from platform import machine

import pytest

needs_fmpy = pytest.mark.skipif(find_spec("fmpy") is None, reason="fmpy is not installed: mastd[fmi]")
needs_compiler = pytest.mark.skipif(
    find_spec("fmpy") is None or shutil.which("gcc") is None or machine() != "x86_64",
    reason="FMUs are compiled here: fmpy, gcc and an x86-64 machine are needed",
)

LAG = 0.02
"""s, time constant of the lag."""
IDENTIFIER = "lag"
PLATFORM = {2: "linux64", 3: "x86_64-linux"}
INPUT, OUTPUT, STEPS, FAULT, WHOLE, LOUD = range(1, 7)
"""Value references: u, y, steps, fault, whole, loud."""

_BODY = """
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  double u, y, fault; int steps, whole, loud;
  LOGGER
} Lag;

#ifdef OUTSIDE
extern double OUTSIDE(void);
#endif

/* A point that is not the one at which the last step ended is a step lost or doubled. */
static int advance(Lag *m, double now, double h) {
#ifdef FAIL_AT
  if (m->steps == FAIL_AT) return FAIL_STATUS;
#endif
#ifdef CRASH_AT
  if (m->steps == CRASH_AT) abort();
#endif
#ifdef GREEDY_AT
  if (m->steps == GREEDY_AT) for (int k = 0; k < 5; k++) if (!malloc((size_t)1 << 30)) return 3;
#endif
#ifdef HANG_AT
  if (m->steps == HANG_AT) { write(1, "hangs\\n", 6); for (;;) pause(); }
#endif
  if (fabs(now - m->steps * h) > 1e-12 * (1.0 + now)) m->fault += 1.0;
  m->y += (m->u - m->y) * (1.0 - exp(-h / 0.02));
  m->steps += 1;
#ifdef OUTSIDE
  m->y += OUTSIDE();
#endif
#ifdef NOT_A_NUMBER_AT
  if (m->steps == NOT_A_NUMBER_AT) m->y = NAN;
#endif
  return 0;
}

static int get_real(Lag *m, const unsigned *r, size_t n, double *v) {
  for (size_t k = 0; k < n; k++) switch (r[k]) {
    case 1: v[k] = m->u; break;
    case 2: v[k] = m->y; break;
    case 4: v[k] = m->fault; break;
    default: return 3;
  }
  return 0;
}

static int set_real(Lag *m, const unsigned *r, size_t n, const double *v) {
  for (size_t k = 0; k < n; k++) { if (r[k] != 1) return 3; m->u = v[k]; }
  return 0;
}

static int get_int(Lag *m, const unsigned *r, size_t n, int *v) {
  for (size_t k = 0; k < n; k++) switch (r[k]) {
    case 3: v[k] = m->steps; break;
    case 5: v[k] = m->whole; break;
    case 6: v[k] = m->loud; break;
    default: return 3;
  }
  return 0;
}

static int set_int(Lag *m, const unsigned *r, size_t n, const int *v) {
  for (size_t k = 0; k < n; k++) { if (r[k] != 5) return 3; m->whole = v[k]; }
  return 0;
}
"""

_SOURCE_2 = (
    """
#include "fmi2Functions.h"
#define LOGGER fmi2CallbackFunctions callbacks;
"""
    + _BODY
    + """
const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String place,
    const fmi2CallbackFunctions *callbacks, fmi2Boolean visible, fmi2Boolean logging) {
#ifdef NO_INSTANCE
  callbacks->logger(callbacks->componentEnvironment, name, fmi2Error, "logStatusError",
                    "no licence for %s", "lag");
  return NULL;
#else
  Lag *m = calloc(1, sizeof(Lag));
  m->callbacks = *callbacks;
  return m;
#endif
}

void fmi2FreeInstance(fmi2Component c) { free(c); }
fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean d, fmi2Real t, fmi2Real s, fmi2Boolean e,
    fmi2Real f) { return fmi2OK; }
fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2Terminate(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2DoStep(fmi2Component c, fmi2Real now, fmi2Real h, fmi2Boolean n) {
  Lag *m = c;
#ifdef LOUD
  m->callbacks.logger(m->callbacks.componentEnvironment, "rig", fmi2Warning, "logStatusWarning",
                      "step %d is steep", m->steps);
#endif
  return advance(m, now, h);
}
fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2Real v[]) {
  return get_real(c, r, n, v); }
fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Real v[]) {
  return set_real(c, r, n, v); }
fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2Integer v[]) {
  return get_int(c, r, n, v); }
fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Integer v[]) {
  return set_int(c, r, n, v); }
"""
)

_SOURCE_3 = (
    """
#include "fmi3Functions.h"
#define LOGGER fmi3LogMessageCallback log; fmi3InstanceEnvironment environment;
"""
    + _BODY
    + """
const char *fmi3GetVersion(void) { return "3.0"; }

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String place,
    fmi3Boolean visible, fmi3Boolean logging, fmi3Boolean event, fmi3Boolean early,
    const fmi3ValueReference r[], size_t n, fmi3InstanceEnvironment environment,
    fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update) {
#ifdef NO_INSTANCE
  log(environment, fmi3Error, "logStatusError", "no licence for lag");
  return NULL;
#else
  Lag *m = calloc(1, sizeof(Lag));
  m->log = log;
  m->environment = environment;
  return m;
#endif
}

void fmi3FreeInstance(fmi3Instance c) { free(c); }
fmi3Status fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean d, fmi3Float64 t, fmi3Float64 s,
    fmi3Boolean e, fmi3Float64 f) { return fmi3OK; }
fmi3Status fmi3ExitInitializationMode(fmi3Instance c) { return fmi3OK; }
fmi3Status fmi3Terminate(fmi3Instance c) { return fmi3OK; }
fmi3Status fmi3DoStep(fmi3Instance c, fmi3Float64 now, fmi3Float64 h, fmi3Boolean n, fmi3Boolean *event,
    fmi3Boolean *finished, fmi3Boolean *early, fmi3Float64 *reached) {
  Lag *m = c;
#ifdef LOUD
  m->log(m->environment, fmi3Warning, "logStatusWarning", "a step is steep");
#endif
  *event = *early = 0;
#ifdef FINISHED_AT
  *finished = m->steps == FINISHED_AT;
#else
  *finished = 0;
#endif
  *reached = now + h;
  return advance(m, now, h);
}
fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, fmi3Float64 v[], size_t k) {
  return get_real(c, r, n, v); }
fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference r[], size_t n, const fmi3Float64 v[],
    size_t k) { return set_real(c, r, n, v); }
fmi3Status fmi3GetInt32(fmi3Instance c, const fmi3ValueReference r[], size_t n, fmi3Int32 v[], size_t k) {
  return get_int(c, r, n, v); }
fmi3Status fmi3SetInt32(fmi3Instance c, const fmi3ValueReference r[], size_t n, const fmi3Int32 v[],
    size_t k) { return set_int(c, r, n, v); }
"""
)


def _compile(sources: Sequence[Path], library: Path, *options: str) -> None:
    import fmpy

    headers = Path(str(fmpy.__file__)).parent / "c-code"
    command = ["gcc", "-O1", "-w", "-shared", "-fPIC", f"-I{headers}", "-o", str(library)]
    subprocess.run(
        [*command, *map(str, sources), *options, "-lm"], check=True, capture_output=True, timeout=60
    )


@cache
def library(major: int, defines: tuple[tuple[str, object], ...] = (), options: tuple[str, ...] = ()) -> bytes:
    """Compile the lag with these macros; return the shared library."""
    from fmpy.fmi2 import FMU2Slave
    from fmpy.fmi3 import FMU3Slave

    source = _SOURCE_2 if major == 2 else _SOURCE_3
    slave = FMU2Slave if major == 2 else FMU3Slave
    names = [name for name in dir(slave) if name.startswith(f"fmi{major}")]
    # What an FMU has to export, but nobody calls here.
    stubs = "".join(f"int {name}(void) {{ return 3; }}\n" for name in names if f"{name}(" not in source)
    macros = [f"-D{name}={value}" for name, value in defines]
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        main, rest, target = directory / "lag.c", directory / "rest.c", directory / "lag.so"
        main.write_text(source, encoding="ascii")
        rest.write_text(stubs, encoding="ascii")
        _compile([main, rest], target, *macros, *options)
        return target.read_bytes()


UNITS = """
  <UnitDefinitions>
    <Unit name="mm"><BaseUnit m="1" factor="0.001"/></Unit>
    <Unit name="degF"><BaseUnit K="1" factor="0.5555555555555556" offset="255.3722222222222"/></Unit>
  </UnitDefinitions>"""


def description(major: int, *, unit: str = "mm", kinds: str = "CoSimulation", extra: str = "") -> str:
    """Return a model description of the lag; ``extra``: attributes of CoSimulation."""
    elements = "".join(
        f'\n  <{kind} modelIdentifier="{IDENTIFIER}" {extra if kind == "CoSimulation" else ""}/>'
        for kind in kinds.split()
    )
    written = f' unit="{unit}"' if unit else ""
    variables = (
        ("u", "input", f"Real{written}", 'start="0"'),
        ("y", "output", f"Real{written}", ""),
        ("steps", "output", "Integer", ""),
        ("fault", "output", "Real", ""),
        ("whole", "input", "Integer", 'start="0"'),
    )
    if major == 2:
        head = 'fmiVersion="2.0" guid="{lag}"'
        lines = "".join(
            f'\n    <ScalarVariable name="{name}" valueReference="{k}" causality="{causality}"'
            f"{' variability=' + chr(34) + 'discrete' + chr(34) if kind == 'Integer' else ''}>"
            f"<{kind} {start}/></ScalarVariable>"
            for k, (name, causality, kind, start) in enumerate(variables, 1)
        )
        outputs = "".join(f'<Unknown index="{k}"/>' for k in (2, 3, 4))
        structure = f"<Outputs>{outputs}</Outputs><InitialUnknowns>{outputs}</InitialUnknowns>"
    else:
        head = 'fmiVersion="3.0" instantiationToken="{lag}"'
        names = {"Integer": "Int32"}
        lines = "".join(
            f'\n    <{names.get(kind, kind.replace("Real", "Float64"))} name="{name}" valueReference="{k}" '
            f'causality="{causality}" {start}/>'
            for k, (name, causality, kind, start) in enumerate(variables, 1)
        )
        lines += '\n    <Float64 name="time" valueReference="0" causality="independent"/>'
        structure = "".join(
            f'<{element} valueReference="{k}"/>'
            for element in ("Output", "InitialUnknown")
            for k in (2, 3, 4)
        )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<fmiModelDescription {head} modelName="Lag">{elements}{UNITS}\n'
        f"  <ModelVariables>{lines}\n  </ModelVariables>\n  <ModelStructure>{structure}</ModelStructure>\n"
        "</fmiModelDescription>\n"
    )


def pack(path: Path, members: Mapping[str, str | bytes]) -> Path:
    """Write an archive with these members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def lag(
    directory: Path,
    major: int,
    defines: Mapping[str, object] | None = None,
    *options: str,
    text: str | None = None,
) -> Path:
    """Return the file of a lag FMU with these macros."""
    binary = library(major, tuple((defines or {}).items()), options)
    members: dict[str, str | bytes] = {
        "modelDescription.xml": text or description(major),
        f"binaries/{PLATFORM[major]}/{IDENTIFIER}.so": binary,
    }
    return pack(directory / f"lag{major}.fmu", members)
