{#- `ref` of a merged model without its tombstones. On an alluvium target `ref` hides them itself,
    and asking twice does no harm. -#}
{% macro without_tombstones(relation) -%}
(select * from {{ relation }} where not coalesce(`_deleted`, false))
{%- endmacro %}
