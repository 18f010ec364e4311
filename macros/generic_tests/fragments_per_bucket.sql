{% test fragments_per_bucket(model, max=none) %}
  {%- do alluvium._check_arguments('fragments_per_bucket', {'max': max}, kwargs, kind='test') -%}
select
    bucket,
    state,
    fragments,
    overlap_depth
from {{ alluvium._tested_storage('buckets', 'fragments_per_bucket') }} as buckets
where fragments > {{ max }}
{% endtest %}
