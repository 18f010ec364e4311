"""The ranges of the staged batch, on the column that a flight never changes."""

from alluvium.ranges import plan_frame


def model(dbt, session):
    return plan_frame(
        dbt.ref("flights_batch"),
        column="sched_dep_at",
        method=dbt.config.meta_get("ranges_method"),
        k=dbt.config.meta_get("ranges_k"),
    )
