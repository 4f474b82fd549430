"""Processes and their sockets, to see that nothing is left running and who could connect."""

import os
import signal
import time
from pathlib import Path


def children(root=None):
    """The processes that descend from one, as {pid: the time it started}: a number alone may be used again."""
    parents, started = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents[int(entry)], started[int(entry)] = int(fields[1]), fields[19]
    found, last = {}, {root or os.getpid()}
    while last:
        last = {pid for pid, parent in parents.items() if parent in last and pid not in found}
        found |= {pid: started[pid] for pid in last}
    return found


def gone(processes, seconds=60):
    """Whether processes end; those that only wait to be collected count as ended."""
    over = time.monotonic() + seconds
    while alive := [pid for pid, start in processes.items() if _state(pid, start) not in ("gone", "Z")]:
        if time.monotonic() > over:
            return False
        time.sleep(0.1)
    return not alive


def end(processes):
    """Kill what is left of processes that a test has started."""
    for pid, start in processes.items():
        if _state(pid, start) not in ("gone", "Z"):
            os.kill(pid, signal.SIGKILL)
    assert gone(processes)


def _state(pid, start):
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return "gone"
    return fields[0] if fields[19] == start else "gone"


def listening(processes):
    """The addresses on which processes wait for connections."""
    sockets = set()
    for pid in processes:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                sockets.add(os.readlink(link).removeprefix("socket:[").removesuffix("]"))
            except OSError:
                continue
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                digits = bytes.fromhex(fields[1].split(":")[0])[-4:][::-1]  # an IPv4 address, also where it is mapped
                found.add(".".join(map(str, digits)))
    return found
