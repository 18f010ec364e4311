{#- Subquery: of every key the row that comes last by `order_by` (first where `first` is true).

    Rows that tie are told apart by their content, so the choice never depends on the plan. NULL in a key equals
    nothing, so such rows all stay, unless `nulls_equal`. -#}
{% macro deduplicate(relation, keys, order_by, first=false, nulls_equal=false) %}
  {%- set direction = ' asc nulls first' if first else ' desc nulls last' -%}
  {%- set order = [] -%}
  {%- for column in alluvium._as_list(order_by) -%}
    {%- do order.append(alluvium._quote(column) ~ direction) -%}
  {%- endfor -%}
  {#- The second tells strings apart that are not UTF-8: JSON shows their bytes all alike. -#}
  {%- do order.extend([alluvium._row_json('*') ~ ' desc', 'cast(struct(*) as string) desc']) -%}
  {%- set partition = alluvium._quote_names(alluvium._column_names(keys)) -%}
(
        select * except (`__alluvium_rank`)
        from (
            select
                *,
                row_number() over (
                    partition by {{ partition | join(', ') }}
                    order by {{ order | join(', ') | indent(20) }}
                ) as `__alluvium_rank`
            from {{ relation }}
        )
        where `__alluvium_rank` = 1{{ ' or ' ~ partition | join(' is null or ') ~ ' is null' if not nulls_equal }}
    )
{%- endmacro %}
