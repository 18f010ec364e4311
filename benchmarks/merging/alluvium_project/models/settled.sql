{{
    config(
        materialized='only_hooks',
        post_hook='{{ alluvium.compact(this) }}',
        meta={'alluvium_layout': {'sort_by': ['created_at']}},
    )
}}
select 1 as nothing
