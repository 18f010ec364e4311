{% test overlap_depth(model, max) %}
select
    bucket,
    state,
    fragments,
    overlap_depth
from {{ alluvium.tested_storage('buckets', 'overlap_depth', max, 1) }} as buckets
where overlap_depth > {{ max }}
{% endtest %}
