"""A labelling project in Python: create, read, export, import, predict."""

from bemps.project.project import Project as Project
from bemps.project.project import open_project as open_project
