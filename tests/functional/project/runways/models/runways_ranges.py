from alluvium.ranges import plan_frame


def model(dbt, session):
    method = dbt.config.meta_get("method")
    return plan_frame(dbt.ref("runways_batch"), column="id", method=method, k=5)
