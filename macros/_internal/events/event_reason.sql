{#- SQL of why an event is neither a row nor a mistake; NULL where it is one of them. -#}
{% macro _left_out(spec) %}
  {%- set op = '`__alluvium_i`.op' -%}
  {%- set cases = [] -%}
  {%- if spec.tombstones != 'delete' -%}{%- do cases.append("when _value is null then 'tombstone'") -%}{%- endif -%}
  {%- if spec.form in ('debezium', 'mongodb') -%}
    {%- do cases.append('when `__alluvium_p`.`__alluvium_end` is null then null') -%}
    {%- if spec.table is not none -%}
      {%- set s = '`__alluvium_i`.source' -%}
      {%- set table = 'coalesce(' ~ s ~ '.`table`, ' ~ s ~ '.collection)' -%}
      {%- if '.' in spec.table -%}{%- set table = "concat(coalesce(" ~ s ~ '.`schema`, ' ~ s ~ ".db), '.', " ~ table ~ ')' -%}{%- endif -%}
      {%- do cases.append('when ' ~ table ~ ' <> ' ~ alluvium._text_literal(spec.table) ~ ' and ' ~ op ~ " is not null and " ~ op ~ " <> 'm' then 'other_table'") -%}
    {%- endif -%}
    {%- do cases.append('when ' ~ op ~ " = 't' then 'truncate' when " ~ op ~ " = 'm' then 'message'") -%}
    {%- if spec.form == 'mongodb' -%}
      {%- do cases.append('when ' ~ op ~ " = 'u' and `__alluvium_i`.`row` is null and `__alluvium_i`.event.updateDescription is null then 'deleted_since'") -%}
    {%- endif -%}
  {%- endif -%}
  {{ return('case ' ~ cases | join(' ') ~ ' end' if cases else 'cast(null as string)') }}
{% endmacro %}


{#- Condition for the events that a query gives; it stops the query at an event that emptied the source's table. -#}
{% macro _kept_events(spec) %}
  {%- if spec.form not in ('debezium', 'mongodb') or spec.truncate == 'ignore' -%}{{ return('`__alluvium_t`.left_out is null') }}{%- endif -%}
  {%- set said = spec.who ~ ': the source emptied its table (TRUNCATE), at ' -%}
  {{ return('case when `__alluvium_t`.left_out = \'truncate\' then cast(raise_error(concat(' ~ alluvium._text_literal(said)
      ~ ", coalesce(_source_partition, 'no partition'), ', offset ', coalesce(cast(_source_offset as string), '?'), '. Nothing of this batch is merged. "
      ~ "To go on, delete the rows of the merged table that are older, and set truncate to ignore in the model.')) as boolean) else `__alluvium_t`.left_out is null end") }}
{% endmacro %}


{#- SQL of why an event is rejected; NULL for a good one. -#}
{% macro _event_reason(spec) %}
  {%- set i, t = '`__alluvium_i`', '`__alluvium_t`' -%}
  {%- set cases = ['when ' ~ alluvium._has_other_bytes(spec) ~ " then 'bad_encoding'"] -%}
  {%- set is_cut = '_value is not null and `__alluvium_p`.`__alluvium_end` is null' -%}
  {#- Of several objects in a list only the first would be read. -#}
  {%- set is_other = "_value is not null and not (_value like '{%' or _value rlike '^\\\\s*[{]')" -%}
  {%- if spec.form == 'mongodb' -%}
    {%- do cases.append("when " ~ i ~ ".op = 'u' and " ~ i ~ ".`row` is null then 'no_full_document'") -%}
  {%- endif -%}
  {%- if spec.form in ('debezium', 'mongodb') -%}
    {%- do cases.append('when ' ~ is_cut ~ ' and ' ~ i ~ ".op is not null and _value rlike '^\\\\s*[{]' then 'malformed'") -%}
    {%- if spec.form == 'mongodb' -%}
      {%- do cases.append('when ' ~ i ~ '.`row` is not null and ' ~ i ~ ".`row`.`__alluvium_end` is null then 'malformed'") -%}
    {%- endif -%}
    {%- set is_bad = is_other ~ ' or ' ~ i ~ '.op is null or ' ~ i ~ ".op not in ('c', 'r', 'u', 'd') or ("
        ~ i ~ ".op <> 'd' and " ~ i ~ '.`row` is null)' -%}
    {%- do cases.append('when ' ~ is_bad ~ " then 'not_an_envelope'") -%}
  {%- else -%}
    {%- do cases.append('when ' ~ is_other ~ ' or ' ~ is_cut ~ " and _value not rlike '^\\\\s*[{]\\\\s*[}]\\\\s*$' then 'malformed'") -%}
  {%- endif -%}
  {%- set lacking, wrong = [], [] -%}
  {%- for column in spec.columns + spec.fields -%}
    {%- set text = alluvium._column_text(spec, column) -%}
    {%- if column.is_key -%}{%- do lacking.append(text ~ ' is null') -%}{%- endif -%}
    {#- Each text is a value of type string. -#}
    {%- if column.type.kind != 'string' -%}
      {%- set mistyped = text ~ ' is not null and ' ~ t ~ '.v' ~ loop.index0 ~ ' is null'
          ~ (' and not ' ~ t ~ '.lacks' ~ loop.index0 if column.may_lack else '') -%}
      {%- set name = alluvium._text_literal('wrong_type: ' ~ column.name) -%}
      {%- set unknown = alluvium._lacks_unit(column, text) -%}
      {%- if unknown -%}{%- set name = 'if(' ~ unknown ~ ', ' ~ alluvium._text_literal('unknown_unit: ' ~ column.name) ~ ', ' ~ name ~ ')' -%}{%- endif -%}
      {%- do wrong.append('when ' ~ mistyped ~ ' then ' ~ name) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if lacking -%}{%- do cases.append('when ' ~ lacking | join(' or ') ~ " then 'missing_key'") -%}{%- endif -%}
  {%- do cases.append('when ' ~ t ~ ".`position` is null then 'missing_position'") -%}
  {{ return('case ' ~ (cases + wrong) | join(' ') ~ ' end') }}
{% endmacro %}


{#- Condition for an event of which bytes were not UTF-8: bronze keeps them behind the headers, which a source may have of the same names. -#}
{% macro _has_other_bytes(spec) %}
  {%- set bad = "contains(_value, '\ufffd') and try_element_at(_headers.key, -1) = '_value' and try_element_at(_headers.value, -1) <> cast(_value as binary)" -%}
  {%- set bad_key = "`__alluvium_i`.op = 'd' and contains(_key, '\ufffd') and array_contains(_headers.key, '_key') and " ~ alluvium._lacks_before(spec) -%}
  {{ return('_headers is not null and (' ~ bad ~ ' or ' ~ bad_key ~ ')') }}
{% endmacro %}


{#- Condition for a text that nobody says how to read; none where each text says it. -#}
{% macro _lacks_unit(column, text) %}
  {%- set unit = '`__alluvium_i`.units.' ~ alluvium._quote_name(column.name) if column.has_unit else none -%}
  {%- if column.type.kind in ('timestamp', 'timestamp_ntz') -%}
    {{ return(text ~ " rlike '^-?[0-9]+$' and " ~ alluvium._time_unit(column.how.timestamps, unit) ~ ' is null') }}
  {%- elif column.type.kind == 'decimal' and column.how.decimals is none -%}
    {{ return(text ~ ' rlike ' ~ alluvium._number_or_base64() ~ ' and length(' ~ text ~ ') % 4 = 0' ~ (' and ' ~ unit ~ '.type is null' if unit is not none else '')) }}
  {%- endif -%}
  {{ return(none) }}
{% endmacro %}


{#- Condition for the texts that Debezium writes for a value that the event does not have. -#}
{% macro _is_placeholder(spec, text) %}
  {%- set codes = spec.unavailable.encode('utf-8') | list -%}
  {%- set bytes = "x'" ~ spec.unavailable.encode('utf-8').hex() ~ "'" -%}
  {%- set hash = local_md5(spec.unavailable) -%}
  {%- set uuid = [hash[:8], hash[8:12], '3' ~ hash[13:16], '89ab'[hash[16] | int(0, 16) % 4] ~ hash[17:20], hash[20:]] | join('-') -%}
  {%- set known = [] -%}
  {%- for one in [spec.unavailable, '["' ~ spec.unavailable ~ '"]', '["' ~ uuid ~ '"]', '[' ~ codes | join(',') ~ ']',
                  '{"' ~ spec.unavailable ~ '":"' ~ spec.unavailable ~ '"}', spec.unavailable.encode('utf-8').hex()] -%}
    {%- do known.append(alluvium._text_literal(one)) -%}
  {%- endfor -%}
  {%- do known.extend(['base64(' ~ bytes ~ ')', "concat('[\"', base64(" ~ bytes ~ "), '\"]')"]) -%}
  {{ return('coalesce(' ~ text ~ ' in (' ~ known | join(', ') ~ '), false)') }}
{% endmacro %}


{#- SQL of the names of the columns whose values an event does not have; NULL for none. -#}
{% macro _unavailable(spec) %}
  {%- set any, names = [], [] -%}
  {%- for column in spec.columns -%}
    {%- if column.may_lack -%}
      {%- do any.append('`__alluvium_t`.lacks' ~ loop.index0) -%}
      {%- do names.append('if(' ~ any[-1] ~ ', ' ~ alluvium._text_literal(column.name) ~ ', null)') -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if not any -%}{{ return('cast(null as array<string>)') }}{%- endif -%}
  {{ return('if(' ~ any | join(' or ') ~ ', filter(array(' ~ names | join(', ') ~ '), n -> n is not null), null)') }}
{% endmacro %}
