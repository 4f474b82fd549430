"""Packages that only some users need are imported when used, not with the room."""

import subprocess
import sys


def test_importing_the_room_imports_no_optional_package() -> None:
    code = (
        "import sys, bemps.data;"
        "print([name for name in ('torch', 'sklearn', 'pyarrow', 'PIL', 'datasets', 'pandas') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
