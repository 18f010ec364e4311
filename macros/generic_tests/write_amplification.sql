{% test write_amplification(model, max=none) %}
  {%- do alluvium._check_arguments('write_amplification', {'max': max}, kwargs, kind='test') -%}
select
    since,
    written_bytes,
    rewritten_bytes,
    write_amplification
from {{ alluvium._tested_storage('writes', 'write_amplification') }} as writes
where write_amplification > {{ max }}
{% endtest %}
