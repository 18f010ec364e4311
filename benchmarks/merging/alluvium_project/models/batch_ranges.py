from alluvium.merge import plan_ranges


def model(dbt, session):
    return plan_ranges(session, dbt.ref("batch"))
