"""The command line as `python -m bemps`, for where the command `bemps` is not on the path."""

from bemps.cli import app

if __name__ == "__main__":
    app(prog_name="python -m bemps")
