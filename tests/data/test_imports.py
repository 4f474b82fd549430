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


def test_the_parts_of_the_package_are_there_after_its_import() -> None:
    code = (
        "import bemps; print(bemps.data.read.__name__, bemps.report.write_report.__name__,"
        " bemps.results.__name__, bemps.distributed.__name__, len(bemps.acquisition.strategy_registry.STRATEGIES) > 9)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["read", "write_report", "bemps.results", "bemps.distributed", "True"]
