{#- SQL of an event's JSON, with a text for each value. A line that is no JSON object is a struct of NULLs. -#}
{% macro _event_json(spec, text) %}
  {%- set fields = alluvium._envelope_ddl(spec) -%}
  {%- set ddl = fields -%}
  {%- if spec.has_schema -%}
    {%- set field = 'field:string,name:string,type:string,parameters:map<string,string>' -%}
    {%- set row = 'array<struct<' ~ field ~ ',items:struct<name:string,type:string,parameters:map<string,string>>>>' -%}
    {%- set schema = 'array<struct<field:string,fields:' ~ row ~ '>>' if spec.form == 'debezium' else row -%}
    {%- set ddl = fields ~ ', payload struct<' ~ fields ~ '>' ~ (', schema struct<type:string,fields:' ~ schema ~ '>' if spec.form != 'mongodb' else '') -%}
  {%- endif -%}
  {{ return('from_json(' ~ text ~ ', ' ~ alluvium._text_literal(ddl ~ ', `__alluvium_end` string, `__alluvium_corrupt` string') ~ ', ' ~ alluvium._json_options() ~ ')') }}
{% endmacro %}


{#- SQL of the same, of an event that was read once: read again with marks if a text of it may be of a number that a double changed. To look
    for such a number in the whole event is dear. -#}
{% macro _exact_event(spec) %}
  {%- set texts = [] -%}
  {%- for column in spec.columns if column.type.kind in ('string', 'decimal', 'float', 'double') or column.type.nested -%}
    {%- if spec.form != 'mongodb' -%}
      {%- do texts.append(alluvium._in_event(spec, column.name) if spec.form != 'debezium' else alluvium._in_event(spec, 'after') ~ '.' ~ alluvium._quote_name(column.name)) -%}
      {%- if column.is_key and spec.form == 'debezium' -%}{%- do texts.append(alluvium._text_before(spec, column)) -%}{%- endif -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if spec.form == 'mongodb' -%}{%- do texts.append(alluvium._in_event(spec, 'after')) -%}{%- endif -%}
  {%- for parent in (none, 'source', 'transaction') if spec.form in ('debezium', 'mongodb') -%}
    {%- for name in alluvium._envelope_fields(spec, parent) if spec.fields or spec.position -%}
      {%- do texts.append(alluvium._in_event(spec, parent) ~ '.' ~ alluvium._quote_name(name) if parent else alluvium._in_event(spec, name)) -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- for name in alluvium._flat_fields(spec) if spec.form == 'flat' -%}{%- do texts.append(alluvium._in_event(spec, name)) -%}{%- endfor -%}
  {%- if not texts -%}{{ return('`__alluvium_p0`') }}{%- endif -%}
  {#- As Spark writes a double; infinite is one that is too large. -#}
  {%- set double = '\\x01(?:-?[0-9]+[.E]|"?-?Infinity|[{\\[][^\\x01]*?(?:[0-9][.E]|Infinity))' -%}
  {%- set texts = (texts | join(', ')).replace('`__alluvium_p`', '`__alluvium_p0`') -%}
  {%- set may_be = "concat('\\u0001', concat_ws('\\u0001', " ~ texts ~ ')) rlike ' ~ alluvium._text_literal(double) -%}
  {{ return('if(' ~ may_be ~ ' and ' ~ alluvium._has_inexact('_value') ~ ', '
      ~ alluvium._event_json(spec, alluvium._mark_numbers(alluvium._with_end('_value', 2))) ~ ', `__alluvium_p0`)') }}
{% endmacro %}


{#- Long texts are Kafka's to refuse. -#}
{% macro _json_options() %}
  {{ return("map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '__alluvium_corrupt', 'maxStringLen', '2147483647')") }}
{% endmacro %}


{#- The fields of an event that are read, as a schema's text. -#}
{% macro _envelope_ddl(spec) %}
  {%- set fields = [] -%}
  {%- if spec.form in ('debezium', 'mongodb') -%}
    {%- set after = 'string' if spec.form == 'mongodb' else 'struct<' ~ alluvium._image_ddl(spec.columns) ~ '>' -%}
    {%- do fields.extend(['`after` ' ~ after, '`op` string']) -%}
    {%- if spec.form == 'debezium' -%}{%- do fields.append('`before` struct<' ~ alluvium._image_ddl(spec.columns | selectattr('is_key')) ~ '>') -%}{%- endif -%}
    {%- for name in alluvium._envelope_fields(spec, none) -%}{%- do fields.append(alluvium._quote_name(name) ~ ' string') -%}{%- endfor -%}
    {%- for parent in ('source', 'transaction') if alluvium._envelope_fields(spec, parent) -%}
      {%- set names = [] -%}
      {%- for name in alluvium._envelope_fields(spec, parent) -%}{%- do names.append('`' ~ name ~ '` string') -%}{%- endfor -%}
      {%- do fields.append('`' ~ parent ~ '` struct<' ~ names | join(', ') ~ '>') -%}
    {%- endfor -%}
  {%- else -%}
    {%- do fields.append(alluvium._image_ddl(spec.columns)) -%}
    {%- if spec.form == 'flat' -%}
      {%- set names = (['__deleted', '__op', '__source_ts_ms'] + alluvium._flat_fields(spec)) | unique -%}
      {%- for name in names if name not in spec.columns | map(attribute='name') -%}{%- do fields.append('`' ~ name ~ '` string') -%}{%- endfor -%}
    {%- endif -%}
  {%- endif -%}
  {{ return(fields | join(', ')) }}
{% endmacro %}


{% macro _image_ddl(columns) %}
  {%- set fields = [] -%}
  {%- for column in columns -%}{%- do fields.append(alluvium._quote_name(column.name) ~ ' string') -%}{%- endfor -%}
  {{ return(fields | join(', ')) }}
{% endmacro %}


{#- SQL of a field of the event, which may stand beside a schema. A flat row may have fields of these names itself. -#}
{% macro _in_event(spec, name) %}
  {%- set name = alluvium._quote_name(name) -%}
  {%- if not spec.has_schema -%}{{ return('`__alluvium_p`.' ~ name) }}{%- endif -%}
  {%- set beside = '`__alluvium_p`.payload is not null' -%}
  {%- if spec.form == 'flat' -%}
    {%- set beside = beside ~ ' and (`__alluvium_p`.schema.type is not null or `__alluvium_p`.schema.fields is not null)' -%}
  {%- endif -%}
  {{ return('if(' ~ beside ~ ', `__alluvium_p`.payload.' ~ name ~ ', `__alluvium_p`.' ~ name ~ ')') }}
{% endmacro %}


{#- SQL of an event as one struct: op, the fields of its envelope, row (NULL for a delete), deleted (the deleted key), what JSON its nested
    columns hold, and what a schema says of its columns. -#}
{% macro _event_envelope(spec) %}
  {%- set parts, values = [], [] -%}
  {%- set row = alluvium._row_text(spec) -%}
  {%- set op = alluvium._op_of(spec) -%}
  {%- do parts.append("'op', " ~ op) -%}
  {%- do parts.append("'row', " ~ row) -%}
  {%- do parts.append("'deleted', " ~ alluvium._deleted_key(spec, op)) -%}
  {%- if spec.form in ('debezium', 'mongodb') -%}
    {%- for name in ('source', 'transaction') if alluvium._envelope_fields(spec, name) -%}
      {%- do parts.append("'" ~ name ~ "', " ~ alluvium._unmarked_fields(alluvium._is_marked(), alluvium._in_event(spec, name), alluvium._envelope_fields(spec, name))) -%}
    {%- endfor -%}
    {%- for name in alluvium._envelope_fields(spec, none) -%}
      {%- set text = alluvium._in_event(spec, name) -%}
      {%- do values.append(alluvium._text_literal(name) ~ ', if(' ~ alluvium._is_marked() ~ ', ' ~ alluvium._unmarked(text) ~ ', ' ~ text ~ ')') -%}
    {%- endfor -%}
    {#- Apart, for they may have any name. -#}
    {%- do parts.append("'event', named_struct(" ~ values | join(', ') ~ ')') -%}
  {%- endif -%}
  {%- for name in alluvium._flat_fields(spec) if spec.form == 'flat' -%}
    {%- do parts.append("'" ~ name ~ "', " ~ alluvium._unmarked(alluvium._in_event(spec, name))) -%}
  {%- endfor -%}
  {%- do parts.append("'committed', " ~ {'flat': alluvium._in_event(spec, '__source_ts_ms'), 'json': 'cast(null as string)'}.get(spec.form, alluvium._in_event(spec, 'source') ~ '.ts_ms')) -%}
  {%- set nested, units, hex = [], [], [] -%}
  {%- set of_row = "get(filter(`__alluvium_p`.schema.fields, f -> f.field = 'after'), 0).fields" if spec.form == 'debezium' else '`__alluvium_p`.schema.fields' -%}
  {%- if spec.columns | selectattr('has_digits') | list -%}
    {%- do parts.append("'decimals', if(`__alluvium_p`.schema is null, null, transform(filter(" ~ of_row ~ ", f -> f.name = 'org.apache.kafka.connect.data.Decimal'), f -> f.field))") -%}
  {%- endif -%}
  {%- for column in spec.columns + spec.fields -%}
    {%- if column.type.nested -%}
      {%- set text = alluvium._exact_part("concat('{\"v\":', " ~ alluvium._written_text(spec, column, op) ~ ", '}')") -%}
      {%- do nested.append(alluvium._text_literal(column.name) ~ ', from_json(' ~ text ~ ', ' ~ alluvium._text_literal('v ' ~ column.type.text ~ ', `__alluvium_corrupt` string')
          ~ ', ' ~ alluvium._json_options() ~ ').v') -%}
    {%- endif -%}
    {%- if column.has_hex -%}
      {%- do hex.append(alluvium._text_literal(column.name) ~ ', ' ~ alluvium._hex_of_decimal(alluvium._written_text(spec, column, op))) -%}
    {%- endif -%}
    {%- if column.has_unit -%}
      {%- do units.append(alluvium._text_literal(column.name) ~ ', get(transform(filter(' ~ of_row ~ ', f -> f.field = ' ~ alluvium._text_literal(column.name)
          ~ "), f -> named_struct('name', coalesce(f.items.name, f.name), 'type', coalesce(f.items.type, f.type), 'scale', "
          ~ "try_cast(coalesce(try_element_at(f.items.parameters, 'scale'), try_element_at(f.parameters, 'scale')) as int))), 0)") -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if nested -%}{%- do parts.append("'nested', named_struct(" ~ nested | join(', ') ~ ')') -%}{%- endif -%}
  {%- if hex -%}{%- do parts.append("'hex', named_struct(" ~ hex | join(', ') ~ ')') -%}{%- endif -%}
  {%- if units -%}{%- do parts.append("'units', if(`__alluvium_p`.schema is null, null, named_struct(" ~ units | join(', ') ~ '))') -%}{%- endif -%}
  {{ return('named_struct(' ~ parts | join(', ') ~ ')') }}
{% endmacro %}
