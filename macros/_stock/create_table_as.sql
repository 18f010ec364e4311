{#- The first run of a merged model on a stock target: dbt-spark would store the batch as it is. Here
    the table is created empty and the batch is merged into it, so that keys are unique, deletes are
    honoured and progress is recorded. Everything else is the adapter's own: see `spark__get_merge_sql`. -#}
{% macro spark__create_table_as(temporary, relation, compiled_code, language='sql') %}
  {%- set own = dbt[target.type ~ '__create_table_as'] -%}
  {%- if target.type != 'alluvium' and alluvium._creates_merged_table(temporary, language) -%}
    {%- set empty = alluvium._prepare_merge_source(relation, compiled_code) -%}
    {%- call statement('alluvium_create') -%}
      {{ own(false, relation, empty, language) }}
    {%- endcall -%}
    {{ return(alluvium._run_merge(relation, alluvium._merge_source(relation), is_new=true)) }}
  {%- endif -%}
  {{ return(own(temporary, relation, compiled_code, language)) }}
{% endmacro %}


{% macro _creates_merged_table(temporary, language) %}
  {{ return(not temporary and language == 'sql' and model.resource_type == 'model'
            and model.config.materialized == 'incremental' and alluvium._merge_settings(model) is not none) }}
{% endmacro %}


{% macro _merge_source(relation) %}
  {{ return(relation.incorporate(path={'identifier': relation.identifier ~ '__dbt_tmp'}).include(database=false, schema=false)) }}
{% endmacro %}


{#- Makes the temporary view of the batch; gives the select that has the table's columns and no rows. -#}
{% macro _prepare_merge_source(relation, compiled_code) %}
  {%- set source = alluvium._merge_source(relation) -%}
  {%- call statement('alluvium_source') -%}
    {{ create_temporary_view(source, compiled_code) }}
  {%- endcall -%}
  {%- do alluvium._check_settings_of_batch(model, source) -%}
  {{ return(alluvium._empty_merge_table(model, source)) }}
{% endmacro %}
