"""Rows as JSON in which no value is cut."""

from __future__ import annotations

# Options of `to_json`. Spark's own formats of times end with the millisecond, and fields that are
# NULL are left out.
IN_FULL = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
