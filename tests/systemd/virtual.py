"""What the limits of the unit grant, on a kernel of its own: not every container can raise limits."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from tests.systemd.machine import BUILD, PACKAGES, SUITE, StepError, pristine_root
from tests.systemd.scene import Scene, expect

EMULATOR = "qemu-system-x86_64"
DISK = "3G"
MAX_S = 1800.0
"""The machine is emulated, instruction by instruction where the processor does not help."""
_KERNEL = "linux-image-cloud-amd64"
_ASK = """
from pathlib import Path
from mastd.loop.realtime.rights import acquire
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.core.loader import load

rights = acquire(load(Path("/etc/mastd/daemon-real.yaml"), DaemonSettings).realtime)
for right in rights.items:
    print(f"TOLD {right.name}: {right.found}", flush=True)
status = Path("/proc/self/status").read_text()
print("TOLD capabilities:", status.partition("CapEff:")[2].split()[0])
print(f"TOLD degraded: {rights.degraded}", flush=True)
"""
_INSTEAD = """[Service]
Type=oneshot
WatchdogSec=0
Restart=no
ExecStart=
ExecStart=/usr/lib/mastd/bin/python3 /usr/local/ask.py
ExecStopPost=
StandardOutput=journal+console
StandardError=journal+console
Environment=OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
"""
_END = """[Unit]
After=mastd.service
[Service]
Type=oneshot
ExecStart=/bin/systemctl --no-block poweroff
[Install]
WantedBy=multi-user.target
"""


def rights_by_limits_alone(scene: Scene) -> str:
    """In a virtual machine the unit's limits give all rights to its user, without any capability."""
    if shutil.which(EMULATOR) is None:
        return f"left out: {EMULATOR} is missing (apt-get install qemu-system-x86)"
    place = BUILD / "virtual"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    try:
        told = _boot(*_disk(scene, place))
    finally:
        shutil.rmtree(place)
    expect(told.get("degraded") == "False", f"rights are missing: {told}")
    expect(told.get("capabilities", "").strip("0") == "", f"capabilities: {told.get('capabilities')}")
    shown = ("SCHED_FIFO", "memory lock", "sockets' threads", "timer slack")
    return "; ".join(f"{name}: {told.get(name)}" for name in shown) + "; no capabilities"


def _disk(scene: Scene, place: Path) -> tuple[Path, Path, Path]:
    """Return kernel, its first file system, and a disk on which the unit asks for the rights at boot."""
    archive, root = BUILD / f"{SUITE}-kernel.tar", place / "root"
    pristine_root(archive, (*PACKAGES, _KERNEL))
    root.mkdir()
    _run("tar", "-C", str(root), "-xf", str(archive))
    shutil.copy(scene.package, root / "package.deb")
    _run("chroot", str(root), "dpkg", "--force-unsafe-io", "--install", "/package.deb")
    (root / "package.deb").unlink()
    files = {
        "usr/local/ask.py": _ASK,
        "etc/systemd/system/mastd.service.d/instead.conf": _INSTEAD,
        "etc/systemd/system/end.service": _END,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    _run("systemctl", f"--root={root}", "enable", "end.service")
    _run("systemctl", f"--root={root}", "disable", "hil-sim-plant.service")
    disk = place / "disk.img"
    _run("truncate", f"--size={DISK}", str(disk))
    _run("mke2fs", "-q", "-t", "ext4", "-d", str(root), str(disk))
    boot = root / "boot"
    return next(boot.glob("vmlinuz-*")), next(boot.glob("initrd.img-*")), disk


def _boot(kernel: Path, initial: Path, disk: Path) -> dict[str, str]:
    """Boot the virtual machine until it powers off; return what the unit has told."""
    quiet = "quiet systemd.show_status=0 systemd.mask=serial-getty@ttyS0.service"
    files = ["-kernel", str(kernel), "-initrd", str(initial)]
    files += ["-drive", f"file={disk},format=raw,if=virtio,cache=unsafe"]
    files += ["-append", f"root=/dev/vda rw console=ttyS0 {quiet}"]
    told: dict[str, str] = {}
    for processor in (("-accel", "kvm", "-cpu", "host"), ("-accel", "tcg", "-cpu", "max")):
        try:
            said = subprocess.run(
                [EMULATOR, *processor, "-m", "2048", "-nographic", "-no-reboot", *files],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=MAX_S,
                check=False,
            ).stdout.decode(errors="replace")
        except subprocess.TimeoutExpired:
            raise StepError(f"the virtual machine has not ended within {MAX_S:g} s") from None
        told = dict(re.findall(r"TOLD ([^:\r\n]+): ([^\r\n]*)", said))
        if told:  # a machine without the processor's help, or with half of it, ends at once
            break
    return told


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StepError(f"{' '.join(command[:4])} … failed: {done.stderr.strip()[-300:]}")
