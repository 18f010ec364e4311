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


{#- SQL of the row that an event writes, a struct of texts; NULL for a delete. A text that is read as JSON once more may have its marks. -#}
{% macro _row_text(spec, marks=false) %}
  {%- if spec.form == 'json' -%}
    {{ return('if(_value is null, null, ' ~ alluvium._texts_of(spec, spec.columns) ~ ')') }}
  {%- elif spec.form == 'flat' -%}
    {{ return('if(_value is null or ' ~ alluvium._in_event(spec, '__deleted') ~ " = 'true' or " ~ alluvium._in_event(spec, '__op') ~ " = 'd', null, "
        ~ alluvium._texts_of(spec, spec.columns) ~ ')') }}
  {%- endif -%}
  {%- set after = alluvium._in_event(spec, 'after') -%}
  {%- if spec.form == 'mongodb' -%}
    {%- set after = alluvium._document(after, spec.columns) -%}
  {%- elif not marks -%}
    {%- set after = alluvium._unmarked_fields(alluvium._is_marked(), after, spec.columns | map(attribute='name')) -%}
  {%- endif -%}
  {{ return('if(' ~ alluvium._in_event(spec, 'op') ~ " in ('c', 'r', 'u'), " ~ after ~ ', null)') }}
{% endmacro %}


{#- SQL of MongoDB's document, which is a text in the event: a struct of texts. -#}
{% macro _document(text, columns) %}
  {{ return('from_json(' ~ alluvium._exact_json(alluvium._mark_texts(text)) ~ ', '
      ~ alluvium._text_literal(alluvium._image_ddl(columns) ~ ', `__alluvium_end` string, `__alluvium_corrupt` string') ~ ', ' ~ alluvium._json_options() ~ ')') }}
{% endmacro %}


{#- SQL of a struct of the texts of some columns, of an event without an envelope. -#}
{% macro _texts_of(spec, columns) %}
  {%- set plain, unmarked = [], [] -%}
  {%- for column in columns -%}
    {%- set name, text = alluvium._text_literal(column.name), alluvium._in_event(spec, column.name) -%}
    {%- do plain.append(name ~ ', ' ~ text) -%}
    {%- do unmarked.append(name ~ ', ' ~ alluvium._unmarked(text)) -%}
  {%- endfor -%}
  {{ return('if(' ~ alluvium._is_marked() ~ ', named_struct(' ~ unmarked | join(', ') ~ '), named_struct(' ~ plain | join(', ') ~ '))') }}
{% endmacro %}


{#- SQL of the key that an event deletes, a struct of texts: that of the row before, else of the message. -#}
{% macro _deleted_key(spec, op) %}
  {%- set keys = spec.columns | selectattr('is_key') | list -%}
  {%- if not keys -%}{{ return('cast(null as string)') }}{%- endif -%}
  {%- set key = alluvium._key_of_message(spec, keys) -%}
  {%- if spec.form in ('debezium', 'flat') -%}
    {%- set before = [] -%}
    {%- for column in keys -%}
      {%- set text = alluvium._text_before(spec, column) -%}
      {%- do before.append(alluvium._text_literal(column.name) ~ ', if(' ~ alluvium._is_marked() ~ ', ' ~ alluvium._unmarked(text) ~ ', ' ~ text ~ ')') -%}
    {%- endfor -%}
    {%- set key = 'if(' ~ alluvium._lacks_before(spec) ~ ', ' ~ key ~ ', named_struct(' ~ before | join(', ') ~ '))' -%}
  {%- endif -%}
  {{ return('if(' ~ op ~ " = 'd', " ~ key ~ ', null)') }}
{% endmacro %}


{#- SQL of a key's text in the row before. -#}
{% macro _text_before(spec, column) %}
  {{ return(alluvium._in_event(spec, column.name) if spec.form == 'flat' else alluvium._in_event(spec, 'before') ~ '.' ~ alluvium._quote_name(column.name)) }}
{% endmacro %}


{#- Condition for a delete whose key is the message's. -#}
{% macro _lacks_before(spec) %}
  {%- set lacking = [] -%}
  {%- for column in spec.columns if column.is_key -%}{%- do lacking.append(alluvium._text_before(spec, column) ~ ' is null') -%}{%- endfor -%}
  {{ return('(' ~ lacking | join(' or ') ~ ')' if spec.form in ('debezium', 'flat') else 'true') }}
{% endmacro %}


{#- SQL of the message's key, a struct of texts. A bare one is a text in JSON, or a text as it is. -#}
{% macro _key_of_message(spec, keys) %}
  {%- set name = alluvium._text_literal(keys[0].name) -%}
  {%- if spec.form == 'mongodb' -%}
    {#- Its key is a document in a text. -#}
    {%- set id = "get_json_object(coalesce(get_json_object(_key, '$.payload'), _key), '$.id')" -%}
    {{ return(alluvium._document("concat('{\"" ~ keys[0].name ~ "\":', " ~ id ~ ", '}')", keys)) }}
  {%- endif -%}
  {%- set ddl, texts = alluvium._image_ddl(keys), [] -%}
  {%- set has_schema = 'payload' not in keys | map(attribute='name') -%}
  {%- for column in keys -%}
    {%- set field = '.' ~ alluvium._quote_name(column.name) -%}
    {%- do texts.append(alluvium._text_literal(column.name) ~ ', ' ~ alluvium._unmarked('if(k.payload is not null, k.payload' ~ field ~ ', k' ~ field ~ ')' if has_schema else 'k' ~ field)) -%}
  {%- endfor -%}
  {#- A function of the parsed key, so that it is parsed once for all of its columns. -#}
  {%- set key = 'get(transform(array(from_json(' ~ alluvium._exact_json('_key') ~ ', '
      ~ alluvium._text_literal(ddl ~ (', payload struct<' ~ ddl ~ '>' if has_schema else '') ~ ', `__alluvium_end` string')
      ~ ')), k -> if(k.`__alluvium_end` is null, null, named_struct(' ~ texts | join(', ') ~ '))), 0)' -%}
  {%- if keys | length > 1 -%}{{ return(key) }}{%- endif -%}
  {%- set is_text = '_key rlike ' ~ alluvium._text_literal('(?s)^\\s*"(?:[^"\\\\]|\\\\.)*+"\\s*$') -%}
  {%- set bare = 'if(' ~ is_text ~ ", coalesce(get_json_object(concat('{\"k\":', _key, '}'), '$.k'), _key), _key)" -%}
  {{ return("if(_key rlike '^\\\\s*[{]', " ~ key ~ ', named_struct(' ~ name ~ ', ' ~ bare ~ '))') }}
{% endmacro %}


{#- SQL of a column's text as an event writes it, before its row is made; a key's may be that of a delete. -#}
{% macro _written_text(spec, column, op) %}
  {%- set name = '.' ~ alluvium._quote_name(column.name) -%}
  {%- if spec.form in ('json', 'flat') or column.is_field and not column.parent -%}
    {%- set text = alluvium._in_event(spec, column.name) -%}
  {%- elif column.is_field -%}
    {%- set text = alluvium._in_event(spec, column.parent) ~ name -%}
  {%- elif column.is_key or spec.form == 'mongodb' -%}
    {%- set text = alluvium._row_text(spec, marks=true) ~ name -%}
  {%- else -%}
    {%- set text = alluvium._in_event(spec, 'after') ~ name -%}
  {%- endif -%}
  {{ return('coalesce(' ~ text ~ ', ' ~ alluvium._deleted_key(spec, op) ~ name ~ ')' if column.is_key else text) }}
{% endmacro %}
