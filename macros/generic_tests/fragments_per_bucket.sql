{% test fragments_per_bucket(model, max) %}
select
    bucket,
    state,
    fragments,
    overlap_depth
from {{ alluvium.tested_storage('buckets', 'fragments_per_bucket', max, 1) }} as buckets
where fragments > {{ max }}
{% endtest %}
