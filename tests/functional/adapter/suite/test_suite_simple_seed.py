"""dbt's public adapter suite: simple_seed."""

import shutil
from pathlib import Path

import pytest
from dbt.tests.adapter.simple_seed import fixtures, seeds, test_seed, test_seed_type_override
from functional.adapter.suite.spark_dialect import spark

DATA = Path(__file__).parent / "data"


class ViewsStay:
    """A dropped table takes no view with it: the view stays, and reads the new table."""

    def _check_relation_end_state(self, run_result, project, exists):
        super()._check_relation_end_state(run_result, project, exists=True)


class TestBasicSeedTests(ViewsStay, test_seed.BaseBasicSeedTests):
    pass


class TestSeedConfigFullRefreshOn(ViewsStay, test_seed.BaseSeedConfigFullRefreshOn):
    pass


class TestSeedConfigFullRefreshOff(test_seed.BaseSeedConfigFullRefreshOff):
    pass


class TestSeedCustomSchema(test_seed.BaseSeedCustomSchema):
    pass


class TestSeedWithUniqueDelimiter(test_seed.BaseSeedWithUniqueDelimiter):
    pass


class TestSeedWithWrongDelimiter(test_seed.BaseSeedWithWrongDelimiter):
    pass


class TestSeedWithEmptyDelimiter(test_seed.BaseSeedWithEmptyDelimiter):
    pass


class TestSimpleSeedEnabledViaConfig(test_seed.BaseSimpleSeedEnabledViaConfig):
    pass


class TestSeedParsing(test_seed.BaseSeedParsing):
    pass


class TestSimpleSeedWithBOM(test_seed.BaseSimpleSeedWithBOM):
    """The file is copied from beside the test: it is in data/ here."""

    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project):
        project.run_sql(seeds.seeds__expected_sql)
        shutil.copy(DATA / "seed_bom.csv", project.project_root / "seeds" / "seed_bom.csv")


class TestSeedSpecificFormats(test_seed.BaseSeedSpecificFormats):
    """Spark's names have no dots: an alias. The big seed is written into a temporary folder."""

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {
            "seeds": {"quote_columns": False, "test": {"seed.with.dots": {"alias": "with_dots"}}},
        }

    @pytest.fixture(scope="class")
    def test_data_dir(self, tmp_path_factory):
        return tmp_path_factory.mktemp("seed") / "data"


class TestEmptySeed(test_seed.BaseTestEmptySeed):
    pass


class TestSimpleSeedColumnOverride(test_seed_type_override.BaseSimpleSeedColumnOverride):
    """The types are PostgreSQL's."""

    @pytest.fixture(scope="class")
    def models(self):
        text = fixtures.properties__schema_yml
        return {"schema.yml": spark(text).replace("type: integer", "type: bigint")}

    @staticmethod
    def seed_enabled_types():
        return {"seed_id": "string", "birthday": "date"}

    @staticmethod
    def seed_tricky_types():
        return dict.fromkeys(("seed_id_str", "looks_like_a_bool", "looks_like_a_date"), "string")
