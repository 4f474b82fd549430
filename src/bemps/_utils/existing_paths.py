"""Whether a path that somebody typed exists: what the system refuses to look at is an error, and not absent."""

import errno
from pathlib import Path

REFUSALS = (errno.ENAMETOOLONG, errno.EACCES, errno.EPERM)


def path_exists(path: Path) -> bool:
    """Return whether a path exists. From Python 3.14 on `Path.exists` says no also where it may not look.

    Parameters
    ----------
    path : Path
        The path.

    Returns
    -------
    bool
        Whether there is a file or folder.

    Raises
    ------
    OSError
        The system refuses: the name is too long, or a folder above may not be entered.
    """
    try:
        path.stat()
    except OSError as error:
        if error.errno in REFUSALS:
            raise
        return False
    except ValueError:  # a character that no path has
        return False
    return True
