"""The memory that a round needs."""

import sys
from pathlib import Path


def restart_peak() -> None:
    """Reset the peak of resident memory, if the system can (Linux). Elsewhere the peak of the process counts."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_memory_mb() -> float:
    """The largest resident memory since `restart_peak`, in MiB; not a number where the system does not count it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
    except (OSError, StopIteration):
        return _peak_of_process()


def _peak_of_process() -> float:
    if sys.platform == "win32":
        return float("nan")
    import resource

    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest / (1024 * 1024 if sys.platform == "darwin" else 1024)
