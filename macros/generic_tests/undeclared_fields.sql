{% test undeclared_fields(model, events=none, columns=none, envelope=true, table=none) %}
  {{- config(severity='warn') -}}
  {%- do alluvium._check_arguments('undeclared_fields', {'events': events, 'columns': columns, 'envelope': envelope, 'table': table}, kwargs, kind='test') -%}
  {%- if table is not none and not envelope -%}
    {%- do exceptions.raise_compiler_error('alluvium.undeclared_fields: table is ' ~ table ~ ', and events without an envelope name no table; accepted: without table.') -%}
  {%- endif -%}
  {%- set of = {} -%}
  {%- for name in ('table', 'collection', 'schema', 'db') -%}
    {%- do of.update({name: "get_json_object(`_value`, '$.payload.source." ~ name ~ "'), get_json_object(`_value`, '$.source." ~ name ~ "')"}) -%}
  {%- endfor -%}
  {%- set of_table = 'coalesce(' ~ of.table ~ ', ' ~ of.collection ~ ')' -%}
  {%- if '.' in (table or '') -%}{%- set of_table = 'concat(coalesce(' ~ of.schema ~ ', ' ~ of.db ~ "), '.', " ~ of_table ~ ')' -%}{%- endif -%}
  {#- JSON tells Id from id. -#}
  {%- set names = alluvium._column_names(columns) if columns is not none
      else adapter.get_columns_in_relation(alluvium._existing_relation(alluvium._tested_node())) | map(attribute='name') | list
      if execute and flags.INTROSPECT is not sameas false else [] -%}
  {%- set known = [] -%}
  {%- for name in names -%}{%- do known.append(alluvium._text_literal(name)) -%}{%- endfor %}
select
    field,
    count(*) as events,
    min(place) as first_place
from (
    select
        explode(json_object_keys(
            {%- if envelope %}
            coalesce(get_json_object(`_value`, '$.payload.after'), get_json_object(`_value`, '$.after'))
            {%- else %}
            coalesce(get_json_object(`_value`, '$.payload'), `_value`)
            {%- endif %}
        )) as field,
        concat(`_source_partition`, ', offset ', `_source_offset`) as place
    from {{ events }} as bronze
    where
        `_batch_id` > (select max(`_batch_id`) from {{ events }} as newest) - 10
        {%- if table is not none %}
        and {{ of_table }} = {{ alluvium._text_literal(table) }}
        {%- endif %}
)
where
    field not like '\\_\\_%'
    {%- if known %}
    and field not in ({{ known | join(', ') }})
    {%- endif %}
group by field
{% endtest %}
