{% test undeclared_fields(model, events=none, columns=none, envelope=true) %}
  {{- config(severity='warn') -}}
  {%- do alluvium._check_arguments('undeclared_fields', {'events': events, 'columns': columns, 'envelope': envelope}, kwargs, kind='test') -%}
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
    where `_batch_id` = (select max(`_batch_id`) from {{ events }} as newest)
)
where
    field not like '\\_\\_%'
    {%- if known %}
    and field not in ({{ known | join(', ') }})
    {%- endif %}
group by field
{% endtest %}
