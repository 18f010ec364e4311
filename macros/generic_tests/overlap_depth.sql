{% test overlap_depth(model, max=none) %}
  {%- do alluvium._check_arguments('overlap_depth', {'max': max}, kwargs, kind='test') -%}
select
    bucket,
    state,
    fragments,
    overlap_depth
from {{ alluvium._tested_storage('buckets', 'overlap_depth') }} as buckets
where overlap_depth > {{ max }}
{% endtest %}
