{#- A seed is one statement: readers see the old rows or the new ones. Its values never become SQL. -#}
{% materialization seed, adapter='alluvium' %}
  {%- set old_relation = load_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- if old_relation is not none and old_relation.is_view and not should_full_refresh() -%}
    {%- do exceptions.raise_compiler_error("Cannot seed to '" ~ old_relation ~ "', it is a view") -%}
  {%- endif -%}

  {{ run_hooks(pre_hooks) }}

  {%- set kept = adapter.kept_as_built(old_relation) -%}
  {%- if kept is not none -%}
    {#- dbt asks each seed for its rows. -#}
    {%- do store_result('agate_table', response='OK') -%}
    {%- do store_result('main', response=kept) -%}
  {%- else -%}
    {%- set agate_table = load_agate_table() -%}
    {%- do store_result('agate_table', response='OK', agate_table=agate_table) -%}
    {%- if old_relation is not none and not (old_relation.is_delta and config.get('file_format') == 'delta') -%}
      {%- do adapter.drop_relation(old_relation) -%}
    {%- endif -%}
    {%- set types = {} -%}
    {%- for name in agate_table.column_names -%}
      {%- if config.get('quote_columns') is sameas false and not modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', name) -%}
        {%- do exceptions.raise_compiler_error("Syntax error in the header of the seed: '" ~ name
            ~ "' is not a name of a column without quotes (quote_columns: false); accepted: letters, digits and _, not a digit first. Is the delimiter right?") -%}
      {%- endif -%}
      {%- set inferred = adapter.convert_type(agate_table, loop.index0) -%}
      {%- do types.update({name: config.get('column_types', {}).get(name, inferred)}) -%}
    {%- endfor -%}
    {%- set create = alluvium_create_table_header(target_relation) -%}
    {%- set response = adapter.load_seed(create, agate_table, types) -%}
    {{ write(create) }}
    {%- do store_result('main', response=response) -%}

    {%- set should_revoke = should_revoke(old_relation, full_refresh_mode=True) -%}
    {%- do apply_grants(target_relation, config.get('grants'), should_revoke=should_revoke) -%}
    {%- do persist_docs(target_relation, model) -%}
    {%- do adapter.note_built(response) -%}
  {%- endif -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
