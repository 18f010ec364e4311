{#- Ranges of a column in SQL: cut at the k - 1 widest gaps between neighbouring values. The width
    only chooses where to cut, so it may be coarse; the bounds are values of the batch. -#}
{% macro _merge_gaps_sql(source, column, type, k) %}
  {%- set value = 'cast(' ~ alluvium._quote_name(column) ~ ' as ' ~ type ~ ')' %}
with `distinct_values` as (
    select distinct {{ value }} as `v` from {{ source }} where {{ alluvium._quote_name(column) }} is not null
),
`neighbours` as (
    select
        `v`,
        lag(`v`) over (order by `v`) as `before`,
        {{ alluvium._gap_position('`v`', type) }} as `at`
    from `distinct_values`
),
`gaps` as (
    select *, `at` - lag(`at`) over (order by `v`) as `width` from `neighbours`
),
`cuts` as (
    select
        *,
        row_number() over (order by `before` is null desc, `width` desc nulls last, `v`) <= {{ k }} as `is_start`
    from `gaps`
),
`numbered` as (
    select `v`, sum(if(`is_start`, 1, 0)) over (order by `v`) as `range_no` from `cuts`
),
`bounds` as (
    select
        `range_no`,
        {{ alluvium._text_of('min(`v`)', type) }} as `lo`,
        {{ alluvium._text_of('max(`v`)', type) }} as `hi`
    from `numbered`
    group by `range_no`
)
select to_json(sort_array(collect_list(struct(`range_no`, `lo`, `hi`)))) as `ranges` from `bounds`
{%- endmacro %}


{#- Where a value lies on a line, as a double. An ObjectId starts with its second, in hexadecimal. -#}
{% macro _gap_position(value, type) %}
  {%- if type == 'timestamp' -%}
    {{ return('cast(unix_micros(' ~ value ~ ') as double)') }}
  {%- elif type == 'timestamp_ntz' -%}
    {{ return('cast(unix_micros(cast(' ~ value ~ ' as timestamp)) as double)') }}
  {%- elif type == 'date' -%}
    {{ return('cast(unix_date(' ~ value ~ ') as double)') }}
  {%- elif type == 'string' -%}
    {{ return("cast(conv(substr(regexp_extract(" ~ value ~ ", '^[0-9a-fA-F]{8,}', 0), 1, 12), 16, 10) as double)") }}
  {%- endif -%}
  {{ return('cast(' ~ value ~ ' as double)') }}
{% endmacro %}


{#- Rows of ranges whose bounds SQL has written as text. -#}
{% macro _ranges_of_texts(bounds, column, type, method) %}
  {%- set rows = [] -%}
  {%- for row in bounds -%}
    {%- do rows.append({
        'column_name': column, 'column_type': type, 'method': method,
        'lo': alluvium._canonical_text(row.get('lo'), type),
        'hi': alluvium._canonical_text(row.get('hi'), type),
    }) -%}
  {%- endfor -%}
  {{ return(rows) }}
{% endmacro %}
