{%- set ranges = {'column': var('column'), 'method': var('method')} -%}
{%- if var('planner', none) -%}{%- do ranges.update({'model': var('planner')}) -%}{%- endif -%}
{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key=var('key'),
        meta={
            'alluvium_merge': {
                'order_by': 'seq',
                'delete_when': "op = 'd'",
                'ranges': ranges,
                'engine': var('engine'),
            }
        },
    )
}}
-- depends_on: {{ ref('batch_ranges') }}
select * from {{ ref('batch') }}
