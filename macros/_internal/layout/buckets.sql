{#- The partition column that buckets are made by: its `name` as an identifier, its `type`, and `begins`. That is SQL of
    the moment that a value stands for, NULL where it stands for none. It is the column of `bucket_by`, or the one that
    an alluvium target generates from it. -#}
{% macro _bucket_column(relation, layout) %}
  {%- set partition = alluvium._partition_columns(relation) -%}
  {%- set found = [] -%}
  {%- set generated = alluvium._generated_column_name(layout.column, layout.window) -%}
  {%- for wanted in (layout.column, generated) -%}
    {%- for column in partition if column | lower == wanted | lower -%}{%- do found.append(column) -%}{%- endfor -%}
  {%- endfor -%}
  {%- set column = found[0] if found else none -%}
  {%- set type = alluvium._column_types(relation).get(column | lower) if found else none -%}
  {%- if type is none or not alluvium._can_range(type) -%}
    {%- do exceptions.raise_compiler_error('meta.alluvium_layout.bucket_by.column: ' ~ relation ~ (' is not partitioned by ' ~ layout.column
        ~ '; accepted: ' ~ (partition | join(', ') or 'a table with partitions') if type is none
        else '.' ~ column ~ ' is ' ~ type ~ '; accepted: a partition column that holds a date, a time, a text or a number')) -%}
  {%- endif -%}
  {%- set name = alluvium._quote(column) -%}
  {%- set begins = 'cast(null as timestamp)' -%}
  {%- if type in ('date', 'timestamp', 'timestamp_ntz') -%}
    {%- set begins = 'try_cast(' ~ name ~ ' as timestamp)' -%}
  {%- elif type == 'string' -%}
    {#- A number alone would be read as a year. -#}
    {%- set begins = "if(" ~ name ~ " rlike '^[0-9]{4}-[0-9]', try_cast(" ~ name ~ ' as timestamp), null)' -%}
  {%- endif -%}
  {{ return({'name': name, 'type': type, 'begins': begins}) }}
{% endmacro %}


{#- What an alluvium target calls the partition column that it generates from `bucket_by`. -#}
{% macro _generated_column_name(column, window) %}
  {{ return(modules.re.sub('[^A-Za-z0-9_]', '_', alluvium._bare(column)) ~ '_' ~ window) }}
{% endmacro %}


{#- Subquery with a row for each data file: `bucket` (the partition's value as text), `begins`, `bytes`, `written` and
    `rows`. The log cannot be read in SQL, so each file is opened once, for its number of rows.

    bucket: `_bucket_column`, or none where the table is one bucket; where: a predicate on the partition, or none. -#}
{% macro _bucket_files(relation, bucket, where=none) -%}
{%- set keys = ["cast(null as string) as `bucket`", "cast(null as timestamp) as `begins`"] -%}
{%- if bucket -%}
  {%- set keys = [alluvium._text_of(bucket.name, bucket.type) ~ ' as `bucket`', bucket.begins ~ ' as `begins`'] -%}
{%- endif -%}
(
    select `bucket`, `begins`, `bytes`, `written`, count(*) as `rows`
    from (
        select
            {{ keys | join(',\n            ') }},
            _metadata.file_path as `path`,
            _metadata.file_size as `bytes`,
            _metadata.file_modification_time as `written`
        from {{ relation.render() }}
        {%- if where %}
        where {{ where }}
        {%- endif %}
    )
    group by `bucket`, `begins`, `path`, `bytes`, `written`
)
{%- endmacro %}


{#- SQL that is true in these buckets alone. Buckets are given by their texts as `_bucket_files` has them. None where a
    literal can name none of them. -#}
{% macro _in_buckets(bucket, texts) %}
  {%- set terms = [] -%}
  {%- set literals = [] -%}
  {%- for text in texts if text is not none -%}
    {%- set literal = alluvium._sql_literal(alluvium._canonical_text(text, bucket.type), bucket.type) -%}
    {%- if literal is not none -%}{%- do literals.append(literal) -%}{%- endif -%}
  {%- endfor -%}
  {%- if literals -%}{%- do terms.append(bucket.name ~ ' in (' ~ literals | join(', ') ~ ')') -%}{%- endif -%}
  {%- if none in texts -%}{%- do terms.append(bucket.name ~ ' is null') -%}{%- endif -%}
  {{ return(terms | join(' or ') or none) }}
{% endmacro %}
