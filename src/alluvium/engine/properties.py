"""The Spark properties of a profile: as text, and what they say of S3."""

from collections.abc import Iterator, Mapping
from typing import Any

METASTORE_URL = "spark.hadoop.javax.jdo.option.ConnectionURL"
_METASTORE_URIS = "spark.hadoop.hive.metastore.uris"
_S3A = "spark.hadoop.fs.s3a."
# Schemes of older clients, and of Amazon's own Hadoop, which names its class.
_NOT_S3A = {"s3": "spark.hadoop.fs.s3.impl", "s3n": "spark.hadoop.fs.s3n.impl"}


def as_text(conf: Mapping[str, Any]) -> dict[str, str]:
    """Spark properties as Spark reads them: YAML's true and 1 become 'true' and '1'."""
    return {
        str(key): str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in conf.items()
    }


def has_embedded_metastore(conf: Mapping[str, str]) -> bool:
    """Whether the metastore is the home's own, which one process at a time can open."""
    return METASTORE_URL not in conf and _METASTORE_URIS not in conf


def names_s3(conf: Mapping[str, str]) -> bool:
    """Whether they have a place on S3, or a setting of it: else none of its jars is needed."""
    return any(key.startswith(_S3A) or "s3a://" in value for key, value in conf.items())


def other_s3(conf: Mapping[str, str]) -> Iterator[str]:
    """Mistakes: places of another scheme for S3. They are not repeated: a URI may hold a key."""
    for key, value in conf.items():
        for scheme, client in _NOT_S3A.items():
            if value.startswith(f"{scheme}://") and client not in conf:
                yield f"spark_conf: {key} begins with {scheme}://; accepted: s3a://"
