"""The type checker under which every test runs: shapes by jaxtyping, the rest by beartype."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))  # an int is a float, as for the static checker
