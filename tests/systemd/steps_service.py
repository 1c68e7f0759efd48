"""Steps: the service is started, used, and ends in every way."""

from __future__ import annotations

import json
import re
import subprocess
import time

from tests.systemd.scene import DOWN_M, PROFILE, RECORDS, SHORT, Scene, expect

FIRST_START_S = 1800.0
TOLERANT = {"sample_stale": "1500 ms", "maximum_missed": "1500", "late_share": "100 %"}
"""Settings with which stalls of a machine that others use, too, do not spoil the steps."""
DROP_IN = "/run/systemd/system/{unit}.d/rights.conf"
RIGHTS = """[Service]
CapabilityBoundingSet=CAP_SYS_NICE CAP_IPC_LOCK
AmbientCapabilities=CAP_SYS_NICE CAP_IPC_LOCK
"""


def waits_for_the_plant(scene: Scene) -> str:
    """Started without a plant the daemon compiles, comes up and says what it waits for."""
    machine = scene.machine
    machine.run("systemctl", "disable", "hil-sim-plant.service")
    if scene.kernels is not None:
        machine.run("mkdir", "-p", "/var/cache/mastd")
        subprocess.run(
            ["tar", "-C", str(machine.root / "var/cache/mastd"), "-xf", str(scene.kernels)], check=True
        )
        machine.run("chown", "-R", "mastd:mastd", "/var/cache/mastd")
    begin = time.monotonic()
    machine.run("systemctl", "start", "mastd.service", timeout=FIRST_START_S)
    seconds = time.monotonic() - begin
    text = machine.shows("mastd.service", "StatusText")
    expect(machine.shows("mastd.service", "ActiveState") == "active", "the daemon is not active")
    expect("waiting" in text and "plant" in text, f"the status does not say what is waited for: {text}")
    size = machine.output("du", "-sm", "/var/cache/mastd").split()[0]
    how = "compiled" if scene.kernels is None else "of a former run"
    return f"active after {seconds:.0f} s, kernels {how} ({size} MB); STATUS={text}"


def meets_the_plant(scene: Scene) -> str:
    """The plant comes later, and the daemon finds it."""
    machine = scene.machine
    machine.run("systemctl", "enable", "--now", "hil-sim-plant.service")
    seconds = machine.wait_state("OFF", seconds=300.0)
    return f"OFF after {seconds:.0f} s; STATUS={machine.shows('mastd.service', 'StatusText')}"


def has_its_rights(scene: Scene) -> str:
    """The loop has SCHED_FIFO and locked memory, by limits or, where none can be raised, by capabilities."""
    machine = scene.machine
    limits = machine.output("cat", f"/proc/{scene.main_process()}/limits")
    allowed = int(re.findall(r"Max realtime priority\s+(\d+)", limits)[0])
    by = f"limits (priority up to {allowed})"
    if not allowed:
        # Here even root may not raise limits (no CAP_SYS_RESOURCE); nothing else about the units changes.
        by = "capabilities of the test: this machine lets nobody raise limits"
        for unit in ("mastd.service", "hil-sim-plant.service"):
            place = DROP_IN.format(unit=unit)
            machine.run("mkdir", "-p", place.rpartition("/")[0])
            machine.run("tee", place, given=RIGHTS)
        machine.run("systemctl", "daemon-reload")
    for name, value in TOLERANT.items():
        machine.run("sed", "-i", f"s/^  {name}: .*/  {name}: {value}/", "/etc/mastd/daemon.yaml")
    machine.run("systemctl", "restart", "hil-sim-plant.service", "mastd.service", timeout=FIRST_START_S)
    machine.wait_state("OFF", seconds=300.0)
    process = str(scene.main_process())
    policy = machine.output("sh", "-c", f"cut -d' ' -f40,41 /proc/{process}/stat").split()
    locked = re.findall(r"VmLck:\s+(\d+)", machine.output("cat", f"/proc/{process}/status"))[0]
    expect(policy[1] == "1", f"the loop's policy is {policy[1]}, not SCHED_FIFO")
    expect(int(locked) > 0, "no memory is locked")
    expect(not machine.status()["degraded"], "the status tells of DEGRADED_RT")
    return f"SCHED_FIFO {policy[0]}, {int(locked) // 1024} MB locked, by {by}"


def operated_by_the_group(scene: Scene) -> str:
    """A technician of the group plays a profile from an own file; somebody else may not even look."""
    machine = scene.machine
    stranger = machine.run("mastd", "ctl", "status", user="bob", check=False)
    expect(stranger.returncode != 0, "somebody outside of the group may see the daemon")
    machine.run("tee", PROFILE, user="anna", given=SHORT)
    begin = time.monotonic()
    scene.play(PROFILE)
    machine.wait_state("READY", seconds=60.0)
    scene.ctl("lower", "--wait")
    seconds = time.monotonic() - begin
    expect(machine.height() < DOWN_M, f"the table is at {machine.height():.4f} m")
    expect(len(scene.records()) == 1, f"records: {scene.records()}")
    record = scene.records()[0]
    found = scene.judged(record)
    files = machine.output("ls", f"{RECORDS}/{record}", user="anna").split()
    expect("run.mcap" in files and any(name.startswith("report.") for name in files), f"files: {files}")
    missed = found["missed"]
    return f"up, played, down in {seconds:.0f} s; verdict {found['verdict']}, {missed} cycles missed; {files}"


def shown_in_a_browser(scene: Scene) -> str:
    """The page is served to this machine by a user of its own, and finds the daemon."""
    machine = scene.machine
    machine.run("systemctl", "start", "mastd-console.service")
    ask = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8080/', timeout=5).read().decode())"
    page = machine.wait(
        lambda: "<form" in machine.run("python3", "-c", ask, check=False).stdout, "a page to log in", 60.0
    )
    tokens = machine.output("sh", "-c", "ls /run/mastd-console").split()
    expect(len(tokens) == 2, f"files of tokens: {tokens}")
    for user in ("anna", "bob"):
        seen = machine.run("ls", "/run/mastd-console", user=user, check=False)
        expect(seen.returncode != 0, f"{user} may look for the tokens")
    login = (
        "import sys, urllib.request as r, urllib.parse as p, http.cookiejar as c;"
        "o = r.build_opener(r.HTTPCookieProcessor(c.CookieJar()));"
        "o.addheaders = [('Origin', 'http://127.0.0.1:8080')];"
        "data = p.urlencode({'token': open('/run/mastd-console/' + sys.argv[1]).read().strip()}).encode();"
        "o.open('http://127.0.0.1:8080/login', data, timeout=5);"
        "print(o.open('http://127.0.0.1:8080/api/profiles', timeout=5).read().decode())"
    )
    operator = next(name for name in tokens if "operator" in name)
    profiles = json.loads(machine.output("python3", "-c", login, operator))
    own = [entry["name"] for entry in profiles if entry["file"].startswith("/etc/mastd/profiles")]
    expect("step" in own, f"the technician's profile is not offered: {own}")
    machine.run("systemctl", "stop", "mastd-console.service")
    return f"served after {page:.1f} s, {len(profiles)} profiles; the tokens are for root alone"


def killed(scene: Scene) -> str:
    """SIGKILL of the daemon: the table comes down, the record is whole, the next one tells."""
    return _dies(scene, "KILL", "signal", "killed by signal")


def stands_still(scene: Scene) -> str:
    """SIGSTOP of the daemon: the watchdog ends it, and all goes as with SIGKILL."""
    return _dies(scene, "STOP", "watchdog", "watchdog")


def _dies(scene: Scene, signal: str, result: str, told: str) -> str:
    machine = scene.machine
    scene.shaken()
    process, restarts = scene.main_process(), int(machine.shows("mastd.service", "NRestarts"))
    begin = time.monotonic()
    machine.run("sh", "-c", f"kill -{signal} {process}")
    machine.wait(lambda: machine.height() < DOWN_M, "the drive lets the table down", 60.0)
    down = time.monotonic() - begin
    machine.wait(lambda: int(machine.shows("mastd.service", "NRestarts")) > restarts, "a restart", 60.0)
    machine.wait_state("OFF", seconds=300.0)
    again = time.monotonic() - begin
    failed = machine.journal("UNIT=mastd.service", f"--grep=Failed with result '{result}'")
    expect(bool(failed), f"systemd does not tell of the result {result!r}")
    said = machine.output("mastd", "ctl", "status", user="anna")
    line = next((line for line in said.splitlines() if told in line), "")
    expect(bool(line), f"the status does not tell how the last daemon ended: {said}")
    expect(machine.height() < DOWN_M, "the table has moved after the restart")
    found = scene.judged(scene.records()[-1])
    return (
        f"down after {down:.1f} s, OFF again after {again:.1f} s; {line.strip()}; record: {found['verdict']}"
    )


def stopped_while_running(scene: Scene) -> str:
    """`systemctl stop` in the middle of a run: soft stop, lowered, a clean end within the time-out."""
    machine = scene.machine
    scene.shaken()
    begin = time.monotonic()
    machine.run("systemctl", "stop", "mastd.service")
    seconds = time.monotonic() - begin
    result = machine.shows("mastd.service", "Result")
    code = machine.shows("mastd.service", "ExecMainStatus")
    expect(result == "success" and code == "0", f"it ended with {result}, exit code {code}")
    expect(machine.height() < DOWN_M, f"the table is at {machine.height():.4f} m")
    machine.run("systemctl", "reset-failed", "mastd.service")  # so many starts are refused else
    machine.run("systemctl", "start", "mastd.service", timeout=FIRST_START_S)
    machine.wait_state("OFF", seconds=300.0)
    return f"lowered and ended in {seconds:.1f} s of 60 s, exit code 0"


def reloaded(scene: Scene) -> str:
    """A bad settings file is refused with its line, the daemon goes on; a good one is taken."""
    machine, file = scene.machine, "/etc/mastd/daemon.yaml"
    process = scene.main_process()
    machine.run("sed", "-i.before", "s/^  lease: .*/  lease: soon/", file)
    bad = machine.run("systemctl", "reload", "mastd.service", check=False)
    expect(bad.returncode != 0, "systemctl reload says nothing of a bad file")
    said = [
        str(entry["MESSAGE"])
        for entry in machine.journal("_SYSTEMD_UNIT=mastd.service")
        if file in str(entry["MESSAGE"])
    ]
    expect(any("lease" in line for line in said), "the journal does not tell what is wrong with the file")
    expect(scene.main_process() == process and machine.state() == "OFF", "the daemon did not go on")
    machine.run("sed", "-i", "s/^  lease: .*/  lease: 45 s/", file)
    machine.run("systemctl", "reload", "mastd.service")
    machine.wait_state("OFF", seconds=60.0)
    expect(scene.main_process() == process, "a reload has restarted the daemon")
    machine.run("mv", f"{file}.before", file)
    machine.run("systemctl", "reload", "mastd.service")
    machine.wait_state("OFF", seconds=60.0)
    line = next(line for line in said if "lease" in line)
    return f"refused: {line}; then taken without a restart"


def told_in_the_journal(scene: Scene) -> str:
    """States stand in the journal as fields; a line of figures comes once a second."""
    machine = scene.machine
    entries = machine.journal("_SYSTEMD_UNIT=mastd.service")
    states = [str(entry["MASTD_STATE"]) for entry in entries if "MASTD_STATE" in entry]
    expect({"RAISING", "READY", "RUNNING", "LOWERING"} <= set(states), f"states told: {sorted(set(states))}")
    known = [entry for entry in entries if "MESSAGE_ID" in entry]
    expect(bool(known), "no entry has a MESSAGE_ID")
    begin = time.monotonic()
    seen = len(_figures(scene))
    machine.wait(lambda: len(_figures(scene)) >= seen + 5, "five lines of figures", 20.0)
    seconds = time.monotonic() - begin
    last = str(_figures(scene)[-1]["MESSAGE"])
    expect(3.5 < seconds < 12.0, f"five lines of figures took {seconds:.1f} s")
    return f"{len(known)} entries with MESSAGE_ID; five lines of figures in {seconds:.1f} s: {last}"


def _figures(scene: Scene) -> list[dict[str, object]]:
    return [
        entry for entry in scene.machine.journal("_SYSTEMD_UNIT=mastd.service") if "MASTD_CYCLES" in entry
    ]
