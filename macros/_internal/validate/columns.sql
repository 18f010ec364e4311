{#- dbt's own settings that name columns, or hold SQL: their types, and names that a contract does not have. Of an alluvium
    target's models, and of merged ones elsewhere. -#}
{% macro _validate_columns(node, schema, mistakes) %}
  {%- set config = node.config -%}
  {%- if target.type != 'alluvium' and 'alluvium_merge' not in (config.get('meta') or {}) -%}{{ return('') }}{%- endif -%}
  {%- set named = {} -%}
  {%- for key, rule in schema.items() if config.get(key) -%}
    {%- set wrong = alluvium._schema_mistakes(node.name ~ ': ' ~ key, config[key], rule) -%}
    {%- do mistakes.extend(wrong) -%}
    {%- if not wrong and key not in ('predicates', 'incremental_predicates') -%}{%- do named.update({key: config[key]}) -%}{%- endif -%}
  {%- endfor -%}
  {%- if (config.get('contract') or {}).get('enforced') and config.get('materialized') == 'incremental' -%}
    {#- A layout partitions by a column that Delta makes, and Iceberg by what it makes of one. -#}
    {%- if 'alluvium_layout' in (config.get('meta') or {}) or (config.get('file_format') or 'delta') != 'delta' -%}
      {%- do named.pop('partition_by', none) -%}
    {%- endif -%}
    {%- set columns = [] -%}
    {%- for column in node.columns.values() -%}{%- do columns.append(alluvium._bare(column.name)) -%}{%- endfor -%}
    {%- for key, value in named.items() -%}
      {%- for name in alluvium._column_names(value) if name | lower not in columns | map('lower') -%}
        {%- do mistakes.append(node.name ~ ': ' ~ key ~ ': the contract has no column ' ~ name ~ '; accepted: '
            ~ columns | join(', ') ~ alluvium._did_you_mean(name, columns)) -%}
      {%- endfor -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}
