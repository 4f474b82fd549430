"""The tests' own checker of types and shapes finds what is wrong, also where it saves itself work."""

import numpy as np
import pytest
from jaxtyping import Float, TypeCheckError, jaxtyped
from numpy.typing import ArrayLike
from typechecking import checked

ROWS = np.zeros((3, 2))


@jaxtyped(typechecker=checked)
def first_column(rows: Float[np.ndarray, "N K"], lost: int = 0) -> Float[np.ndarray, " N"]:
    return rows[: len(rows) - lost, 0]


@jaxtyped(typechecker=checked)
def length_of(values: ArrayLike | None) -> int:
    return 0 if values is None else len(np.asarray(values))


def column_reader(letters):
    @jaxtyped(typechecker=checked)
    def read(rows: Float[np.ndarray, letters], lost=0) -> Float[np.ndarray, " N"]:
        return rows[: len(rows) - lost, 0]

    return read


def test_what_fits_passes():
    assert first_column(ROWS).shape == (3,)
    assert [length_of(values) for values in ([1, 2], [[1.0], [2.0]], np.zeros(2), None)] == [2, 2, 2, 0]


def test_a_wrong_argument_is_named():
    for wrong in ((ROWS[0],), (ROWS.astype(int),), (ROWS.tolist(),), (ROWS, 1.0)):
        with pytest.raises(TypeCheckError, match=r"parameter '(rows|lost)'"):
            first_column(*wrong)
    with pytest.raises(TypeCheckError, match="parameter 'values'"):
        length_of({1, 2})


def test_a_result_has_the_sizes_of_the_arguments():
    with pytest.raises(TypeCheckError, match="return value"):
        first_column(ROWS, 1)


def test_functions_within_functions_are_checked_each_time_by_their_own_types():
    for _ in range(2):
        read = column_reader("N K")
        assert read(ROWS).shape == (3,)
        with pytest.raises(TypeCheckError, match="return value"):
            read(ROWS, 1)
        with pytest.raises(TypeCheckError, match="parameter 'rows'"):
            read(ROWS[None])
        assert column_reader("N 2")(ROWS).shape == (3,)
        with pytest.raises(TypeCheckError, match="parameter 'rows'"):
            column_reader("N 3")(ROWS)


def doubler(by_name):
    if by_name:

        @jaxtyped(typechecker=checked)
        def twice(*, number: int) -> int:
            return 2 * number
    else:

        @jaxtyped(typechecker=checked)
        def twice(number: int) -> int:
            return 2 * number

    return twice


def test_functions_of_one_name_are_called_each_in_its_way():
    assert doubler(by_name=True)(number=1) == doubler(by_name=False)(1) == 2
