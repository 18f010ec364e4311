"""A range as a row of a ranges model: what is written of it, from the plan to the literal."""

from typing import Required, TypedDict


class RangeRow(TypedDict, total=False):
    """One range of a batch; docs/ranges.md says what each column means.

    The first four say what the range is: a model of the user's own may leave the others out. `lo`
    and `hi` are canonical text, which `typed_literal` turns into SQL; both None where `auto` takes
    no ranges.
    """

    column_name: Required[str]
    column_type: Required[str]
    lo: Required[str | None]
    hi: Required[str | None]
    method: str
    range_no: int
    row_count: int | None
    seconds: float
    requested: str
    files_kept: int | None
    files_total: int | None
    bytes_kept: int | None
    bytes_total: int | None
    table_version: int | None
