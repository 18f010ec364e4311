{% test rows_kept(model, share=none, published=none) %}
  {%- do alluvium._check_arguments('rows_kept', {'share': share, 'published': published}, kwargs, kind='test') -%}
  {%- set head = alluvium._tested_head(published) if execute else none %}
select
    candidate.row_count,
    head.row_count as published_row_count
from (select count(*) as row_count from {{ model }}) as candidate
{%- if head is none %}
    -- Nothing is published to compare with.
    cross join (select 0L as row_count) as head
where false
{%- else %}
    {%- set where = config.get('where') %}
    {%- if where and adapter.condition_mistakes('where', where, head.render()) %}
        {%- do log('alluvium.rows_kept: ' ~ head.render() ~ ', which readers see, cannot answer `where: ' ~ where
            ~ '` yet, so all its rows count', info=true) %}
        {%- set where = none %}
    {%- endif %}
    cross join (select count(*) as row_count from {{ head }}{{ ' where ' ~ where if where }}) as head
where candidate.row_count < {{ share }} * head.row_count
{%- endif %}
{% endtest %}
