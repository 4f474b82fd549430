"""Linux, macOS and Windows: what can be said about the other systems from this one."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from other_systems import left_out

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
# modules and names that Windows does not have; the process that runs this has everything else loaded already
PRETENDED = """
import contextlib, importlib, os, pkgutil, shutil, signal, sys, types, warnings

MISSING = {"fcntl", "pwd", "grp", "resource", "termios", "tty", "pty", "posix", "syslog", "crypt"}
OF_OS = ("fork", "getuid", "geteuid", "getgid", "statvfs", "sched_getaffinity", "mkfifo", "sysconf", "getloadavg",
         "O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC", "O_NONBLOCK", "ST_RDONLY", "killpg", "setsid", "uname")
OF_SIGNAL = ("SIGKILL", "SIGHUP", "SIGALRM", "alarm", "SIGUSR1", "SIGQUIT", "pthread_sigmask")


class Refused:
    def find_spec(self, name, path=None, target=None):
        if name in MISSING:
            raise ModuleNotFoundError(f"{name} is not on Windows", name=name)
        return None


def every_module():
    import bemps

    for module in pkgutil.walk_packages(bemps.__path__, "bemps."):
        yield module.name


def pretend():
    try:  # what the system's own modules need is loaded before it is taken away
        import ray, torch, transformers  # noqa: F401

        extras = True
    except ImportError:
        extras = False
    names = []
    for name in every_module():
        try:
            importlib.import_module(name)
        except ImportError:  # its extra is not installed here
            if extras:
                raise
        else:
            names.append(name)
    for name in [name for name in sys.modules if name.split(".")[0] == "bemps" or name in MISSING]:
        del sys.modules[name]
    sys.meta_path.insert(0, Refused())
    sys.platform = "win32"
    shutil._use_fd_functions = False  # folders are removed by their paths there
    for name in OF_OS:
        if hasattr(os, name):
            delattr(os, name)
    for name in OF_SIGNAL:
        if hasattr(signal, name):
            delattr(signal, name)
    held = set()

    def locking(descriptor, mode, size):
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        key = (os.fstat(descriptor).st_ino, position)
        if mode == 0:
            held.discard(key)
        elif key in held:
            raise PermissionError(13, "Permission denied")
        else:
            held.add(key)

    sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_LOCK=1, LK_NBLCK=2, LK_UNLCK=0)
    return names


warnings.simplefilter("ignore")
names = pretend()
for name in names:
    importlib.import_module(name)
"""


def run(code, *arguments, timeout=90):
    command = [sys.executable, "-c", PRETENDED + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)


def test_on_windows_every_module_is_imported_and_locks_ports_and_runs_work(tmp_path):
    code = """
from pathlib import Path
from bemps._utils.files import drafted, locked
from bemps.errors import InputError
from bemps.experiments.journal import open_journal, read_journal
from bemps.experiments.memory import peak_memory_mb, restart_peak
from bemps.experiments.run_folder import locked_folder
from bemps.server.http.connections import MOST, raise_file_limit
from bemps.server.http.http_server import Address, _stop_as_ctrl_c_does, listening
from bemps.server.http.image_files import read_inside
from bemps.cli.projects_page import _login

folder = Path(sys.argv[1])
with locked(folder / "a.lock") as file:
    file.write(b"me")
    try:
        with locked(folder / "a.lock", wait=False):
            raise SystemExit("held twice")
    except BlockingIOError:
        pass
    assert (folder / "a.lock").read_bytes() == b"me"
with locked(folder / "a.lock", wait=False):
    pass
with locked_folder(folder / "run"):
    try:
        with locked_folder(folder / "run"):
            raise SystemExit("two runs")
    except InputError as error:
        assert "in use" in str(error)
with open_journal(folder / "j.jsonl", {"a": 1}) as journal:
    journal.append({"round": 0})
assert read_journal(folder / "j.jsonl", {"a": 1}).rounds == [{"round": 0}]
with drafted(folder / "whole.txt") as draft:
    draft.write_text("whole")
assert (folder / "whole.txt").read_text() == "whole"
assert raise_file_limit() == MOST
_stop_as_ctrl_c_does()
with listening(Address(port=0)) as first:
    try:
        listening(Address(port=first.getsockname()[1]))
        raise SystemExit("two servers on one port")
    except InputError as error:
        assert "address" in str(error)
(folder / "a.png").write_bytes(b"image")
assert read_inside(folder, folder / "a.png") == b"image"
restart_peak()
os.environ.pop("LOGNAME", 0), os.environ.pop("USER", 0), os.environ.pop("LNAME", 0), os.environ.pop("USERNAME", 0)
assert _login() == "me"
print("done", len(names))
"""
    done = run(code, tmp_path)
    assert re.fullmatch(r"done \d+", done.stdout.strip()), done.stderr[-3000:]
    assert int(done.stdout.split()[1]) > 300


def test_on_windows_a_project_is_made_on_the_page_and_labelled(tmp_path):
    code = """
from pathlib import Path
from bemps.server.projects.new_projects import NewProjects
from bemps.server.projects.project_folder import ProjectFolder
from bemps.server.projects.uploads import Uploads
from bemps.store import open_store
from bemps.store.sql.server_lock import AlreadyServed

folder = Path(sys.argv[1])
projects = ProjectFolder(folder)
key = NewProjects(projects, Uploads(folder)).create_sample("messages")
with open_store(projects.paths()[key]) as store, store.serving("http://127.0.0.1/"):
    try:
        with store.serving("http://127.0.0.1:1/"):
            raise SystemExit("served twice")
    except AlreadyServed as other:
        assert other.url == "http://127.0.0.1/"
    store.answer("ann", store.ids()[0], "label", "praise")
print("done", [(each.title, each.labels, each.items) for each in projects.projects()])
"""
    done = run(code, tmp_path)
    assert done.stdout.strip() == "done [('Messages to a library', 1, 100)]", done.stderr[-3000:]


def test_signals_and_modules_of_one_system_alone_stand_behind_a_question():
    """Not found by importing: names that only fail when they are used."""
    risky = re.compile(
        r"\b(os\.(fork|getuid|geteuid|killpg|setsid|mkfifo)|signal\.(SIGKILL|SIGALRM|SIGHUP|alarm)|"
        r"import (fcntl|resource|pwd|termios))\b"
    )
    for path in (ROOT / "src" / "bemps").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not risky.search(text) or 'sys.platform == "win32"' in text, path


@pytest.mark.parametrize("name", ["macos-latest", "windows-latest", "ubuntu-latest", '"3.11"', '"3.14"'])
def test_the_workflow_runs_on_every_system(name):
    assert name in (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")


def sources_of_tests(path: Path) -> dict[str, str]:
    """The tests of a file by the names of `other_systems`, each with its source."""
    text = path.read_text(encoding="utf-8")
    named = path.relative_to(TESTS).as_posix()
    functions = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    tests = (node for node in functions if node.name.startswith("test_"))
    return {f"{named}::{node.name}": ast.get_source_segment(text, node) for node in tests}


def test_what_macos_and_windows_leave_out_exists():
    assert left_out("linux") == frozenset() < left_out("darwin") < left_out("win32")
    for name in left_out("win32"):
        path, _, test = name.partition("::")
        assert (TESTS / path).is_file(), name
        assert not test or name in sources_of_tests(TESTS / path), name


def test_a_test_that_needs_signals_links_or_rights_is_left_out_on_windows():
    posix = re.compile(
        r"send_signal|SIG(KILL|ALRM|HUP)|killpg|geteuid|mkfifo|umask|symlink_to|chmod\(|/proc\b|setrlimit"
    )
    leaves_out = left_out("win32")
    needy = {
        name
        for path in TESTS.rglob("test_*.py")
        for name, source in sources_of_tests(path).items()
        if posix.search(source) and "small_disk" not in source  # which skips by itself
    }
    assert {name for name in needy if not {name, name.partition("::")[0]} & leaves_out} == set()


def test_a_file_of_tests_that_windows_reads_imports_nothing_that_it_has_not():
    absent = re.compile(r"^(import|from) (fcntl|grp|pty|pwd|resource|termios)\b", flags=re.MULTILINE)
    imports = {path for path in TESTS.rglob("test_*.py") if absent.search(path.read_text(encoding="utf-8"))}
    assert {path.relative_to(TESTS).as_posix() for path in imports} <= left_out("win32")
