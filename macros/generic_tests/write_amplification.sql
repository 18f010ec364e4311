{% test write_amplification(model, max) %}
select
    since,
    written_bytes,
    rewritten_bytes,
    write_amplification
from {{ alluvium.tested_storage('writes', 'write_amplification', max, 1) }} as writes
where write_amplification > {{ max }}
{% endtest %}
