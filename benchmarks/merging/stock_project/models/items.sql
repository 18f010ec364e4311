{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key=var('key'),
        incremental_predicates=var('predicates', none),
    )
}}
select * from {{ ref('batch') }}
