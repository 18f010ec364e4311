{#- SQL of what an event did: c, r, u, d and so on; a tombstone that deletes is a d. -#}
{% macro _op_of(spec) %}
  {%- if spec.form == 'json' -%}
    {%- set op = "'u'" -%}
  {%- elif spec.form == 'flat' -%}
    {%- set op = "if(" ~ alluvium._in_event(spec, '__deleted') ~ " = 'true', 'd', coalesce(" ~ alluvium._in_event(spec, '__op') ~ ", 'u'))" -%}
  {%- else -%}
    {%- set op = alluvium._in_event(spec, 'op') -%}
  {%- endif -%}
  {{ return("if(_value is null, 'd', " ~ op ~ ')' if spec.tombstones == 'delete' else op) }}
{% endmacro %}


{#- SQL of the row that an event writes, a struct of texts; NULL for a delete. -#}
{% macro _row_text(spec) %}
  {%- if spec.form == 'json' -%}
    {{ return('if(_value is null, null, `__alluvium_p`)') }}
  {%- elif spec.form == 'flat' -%}
    {{ return('if(_value is null or ' ~ alluvium._in_event(spec, '__deleted') ~ " = 'true' or " ~ alluvium._in_event(spec, '__op') ~ " = 'd', null, "
        ~ alluvium._texts_of(spec, spec.columns) ~ ')') }}
  {%- endif -%}
  {%- set after = alluvium._in_event(spec, 'after') -%}
  {%- if spec.form == 'mongodb' -%}
    {%- set after = 'from_json(' ~ after ~ ', ' ~ alluvium._text_literal(alluvium._image_ddl(spec.columns) ~ ', `__alluvium_corrupt` string') ~ ', '
        ~ alluvium._json_options() ~ ')' -%}
  {%- endif -%}
  {{ return('if(' ~ alluvium._in_event(spec, 'op') ~ " in ('c', 'r', 'u'), " ~ after ~ ', null)') }}
{% endmacro %}


{#- SQL of a struct of the texts of some columns, of an event without an envelope. -#}
{% macro _texts_of(spec, columns) %}
  {%- set texts = [] -%}
  {%- for column in columns -%}
    {%- do texts.append(alluvium._text_literal(column.name) ~ ', ' ~ alluvium._in_event(spec, column.name)) -%}
  {%- endfor -%}
  {{ return('named_struct(' ~ texts | join(', ') ~ ')') }}
{% endmacro %}


{#- SQL of the key that an event deletes, a struct of texts: that of the row before, else of the message. -#}
{% macro _deleted_key(spec, op) %}
  {%- set keys = spec.columns | selectattr('is_key') | list -%}
  {%- if not keys -%}{{ return('cast(null as string)') }}{%- endif -%}
  {%- set names, before, lacking = [], [], [] -%}
  {%- for column in keys -%}
    {%- do names.append(column.name) -%}
    {%- set text = alluvium._in_event(spec, column.name) if spec.form == 'flat' else alluvium._in_event(spec, 'before') ~ '.' ~ alluvium._quote_name(column.name) -%}
    {%- do before.append(alluvium._text_literal(column.name) ~ ', ' ~ text) -%}
    {%- do lacking.append(text ~ ' is null') -%}
  {%- endfor -%}
  {%- set key = '_key' if 'payload' in names else "coalesce(get_json_object(_key, '$.payload'), _key)" -%}
  {%- if spec.form == 'mongodb' -%}
    {#- Its key is a document in a text. -#}
    {%- set key = "concat('{\"" ~ names[0] ~ "\":', get_json_object(" ~ key ~ ", '$.id'), '}')" -%}
  {%- endif -%}
  {%- set key = 'from_json(' ~ key ~ ', ' ~ alluvium._text_literal(alluvium._image_ddl(keys)) ~ ')' -%}
  {%- if keys | length == 1 and spec.form != 'mongodb' -%}
    {%- set key = "if(_key rlike '^\\\\s*[{]', " ~ key ~ ', named_struct(' ~ alluvium._text_literal(names[0]) ~ ", regexp_replace(_key, '^\\\\s*\"|\"\\\\s*$', '')))" -%}
  {%- endif -%}
  {%- if spec.form in ('debezium', 'flat') -%}
    {%- set key = 'if(' ~ lacking | join(' or ') ~ ', ' ~ key ~ ', named_struct(' ~ before | join(', ') ~ '))' -%}
  {%- endif -%}
  {{ return('if(' ~ op ~ " = 'd', " ~ key ~ ', null)') }}
{% endmacro %}


{#- SQL of a column's text as an event writes it, before its row is made. -#}
{% macro _written_text(spec, column) %}
  {%- if spec.form == 'debezium' -%}{{ return(alluvium._in_event(spec, 'after') ~ '.' ~ alluvium._quote_name(column.name)) }}{%- endif -%}
  {{ return(alluvium._row_text(spec) ~ '.' ~ alluvium._quote_name(column.name) if spec.form == 'mongodb' else alluvium._in_event(spec, column.name)) }}
{% endmacro %}
