"""The ranges of the staged batch, as the merge of `flights` asks for them."""

from alluvium.merge import plan_ranges


def model(dbt, session):
    return plan_ranges(session, dbt.ref("flights_batch"))
