{% macro _old_buckets(relation, layout, bucket) -%}
{%- set over = bucket.begins ~ ' <= current_timestamp() - interval ' ~ layout.retain ~ ' - interval 1 ' ~ layout.window -%}
select
    `bucket`,
    count(*) as `files`,
    sum(`bytes`) as `bytes`,
    sum(`rows`) as `rows`
from {{ alluvium._bucket_files(relation, bucket, over) }}
group by `bucket`, `begins`
order by `begins`, `bucket`
{%- endmacro %}


{% macro _bucket_size(files, bytes, rows) %}
  {{ return(alluvium._counted(files, 'file') ~ ', ' ~ '{:,.1f}'.format(bytes / 2 ** 20) ~ ' MiB, ' ~ alluvium._counted(rows, 'row')) }}
{% endmacro %}
