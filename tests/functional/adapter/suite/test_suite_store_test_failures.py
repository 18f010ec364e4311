"""dbt's public adapter suite: store_test_failures_tests."""

from dbt.tests.adapter.store_test_failures_tests import basic, test_store_test_failures


class TestStoreTestFailuresAsInteractions(basic.StoreTestFailuresAsInteractions):
    pass


class TestStoreTestFailuresAsProjectLevelOff(basic.StoreTestFailuresAsProjectLevelOff):
    pass


class TestStoreTestFailuresAsProjectLevelView(basic.StoreTestFailuresAsProjectLevelView):
    pass


class TestStoreTestFailuresAsProjectLevelEphemeral(basic.StoreTestFailuresAsProjectLevelEphemeral):
    pass


class TestStoreTestFailuresAsGeneric(basic.StoreTestFailuresAsGeneric):
    pass


class TestStoreTestFailuresAsExceptions(basic.StoreTestFailuresAsExceptions):
    pass


class TestStoreTestFailures(test_store_test_failures.BaseStoreTestFailures):
    pass


class TestStoreTestFailuresLimit(test_store_test_failures.BaseStoreTestFailuresLimit):
    pass
