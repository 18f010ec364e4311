"""OurAirports' runways: a real table's changes over 1,476 versions, and what they lead to.

`src/alluvium/demo/data/runways_cdc.parquet` has one row for each change, sorted by version, with

- `version` bigint, 0 to 1475: the published version of the file that brought the change
- `commit`, `ts` string: the version's commit and time (ISO 8601 with offset, rising)
- `op` string: `r` (the 42,824 rows of version 0), `c`, `u`, `d`
- `id` bigint: the runway; at most one change of an `id` in a version
- `before`, `after` string: the row before and after as a line of CSV with the 20 columns of
  `IMAGE`; `before` is null for `r` and `c`, `after` for `d`. An empty field is null.

Versions 1008 and 1009 delete all rows and create them again. The order of an `id`'s changes is
`version`; its key, `id`, is the one column that never changes.
"""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

FILE = Path(__file__).parents[2] / "src/alluvium/demo/data/runways_cdc.parquet"

IMAGE = pa.schema(
    [
        ("id", pa.int64()),
        ("airport_ref", pa.int64()),
        ("airport_ident", pa.string()),
        ("length_ft", pa.int32()),
        ("width_ft", pa.int32()),
        ("surface", pa.string()),
        ("lighted", pa.bool_()),
        ("closed", pa.bool_()),
        ("le_ident", pa.string()),
        ("le_latitude_deg", pa.float64()),
        ("le_longitude_deg", pa.float64()),
        ("le_elevation_ft", pa.int32()),
        ("le_heading_deg", pa.float64()),
        ("le_displaced_threshold_ft", pa.int32()),
        ("he_ident", pa.string()),
        ("he_latitude_deg", pa.float64()),
        ("he_longitude_deg", pa.float64()),
        ("he_elevation_ft", pa.int32()),
        ("he_heading_deg", pa.float64()),
        ("he_displaced_threshold_ft", pa.int32()),
    ]
)


def changes() -> pd.DataFrame:
    """The file as it is, in its order."""
    return pd.read_parquet(FILE)


def typed(images: "pd.Series[str]") -> pd.DataFrame:
    """Images (lines of CSV, none null) as the columns of `IMAGE`, in pandas' nullable types."""
    text = pd.read_csv(
        io.StringIO("\n".join(images)),
        header=None,
        names=IMAGE.names,
        dtype=str,
        keep_default_na=False,
        na_values=[""],
        index_col=False,
    )
    frame = pd.DataFrame(index=images.index)
    for field in IMAGE:
        values = text[field.name].set_axis(images.index)
        if pa.types.is_string(field.type):
            frame[field.name] = values.astype(object).where(values.notna(), None)
        elif pa.types.is_boolean(field.type):
            frame[field.name] = values.map({"0": False, "1": True}).astype("boolean")
        elif pa.types.is_floating(field.type):
            # float() rounds correctly, which not every fast reader of CSV does.
            frame[field.name] = values.map(float, na_action="ignore").astype("Float64")
        else:
            frame[field.name] = values.map(int, na_action="ignore").astype("Int64")
    return frame


def groups(number: int) -> list[pa.Table]:
    """The changes as `number` groups of consecutive versions, each a batch for the merge.

    Columns: `version` bigint, `op` string, then `IMAGE`; a delete has its `id` and otherwise nulls.
    Within a group one `id` may have several changes: the highest `version` is the newest.
    """
    frame = changes()
    present = frame["after"].notna()
    events = frame[["version", "op", "id"]].join(
        typed(frame.loc[present, "after"]).drop(columns="id")
    )
    schema = pa.schema([("version", pa.int64()), ("op", pa.string()), *IMAGE])
    return [
        pa.Table.from_pandas(
            events[events["version"].isin(versions)], schema=schema, preserve_index=False
        )
        for versions in np.array_split(np.sort(frame["version"].unique()), number)
    ]


def as_of(version: int) -> pa.Table:
    """The table as of a version, sorted by `id`: the last `after` image of each runway."""
    frame = changes()
    last = frame[frame["version"] <= version].drop_duplicates("id", keep="last")
    rows = last[last["op"] != "d"].sort_values("id")
    images = typed(rows["after"]) if len(rows) else pd.DataFrame(columns=IMAGE.names)
    return pa.Table.from_pandas(images, schema=IMAGE, preserve_index=False)


def final() -> pa.Table:
    """The table after the last version."""
    return as_of(1475)
