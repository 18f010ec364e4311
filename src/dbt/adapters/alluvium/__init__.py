"""dbt adapter `alluvium`: dbt-spark's SQL on a Spark session inside the dbt process."""

from dbt.adapters.base import AdapterPlugin
from dbt.include import alluvium

from dbt.adapters.alluvium.connections import AlluviumConnectionManager  # noqa: F401
from dbt.adapters.alluvium.credentials import AlluviumCredentials
from dbt.adapters.alluvium.impl import AlluviumAdapter

Plugin = AdapterPlugin(
    adapter=AlluviumAdapter,  # type: ignore[arg-type]
    credentials=AlluviumCredentials,
    include_path=alluvium.PACKAGE_PATH,
    dependencies=["spark"],
)
