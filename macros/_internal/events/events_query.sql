{#- Subquery of bronze's events with the declared columns, `_op`, `_position`, `_committed_at`, `_unavailable`, `_rejected` and their place.

    Each step is a projection, which Spark computes once for an event. First the JSON is read, with a text for each value, and again where a
    number needs it; then the row is taken out of its envelope; then texts become values; then comes the reason; then what the caller sees is
    made. Spark writes a struct into each place that reads a field of it; so a condition that never holds stands before each.

    A filter is pushed through a projection, and would compute it again for every column that the filter names. So the last step is an array
    that inline takes, and filters stay above it. The array is an attribute, since Spark interprets an expression in a generator; the inline is
    an outer one, since Spark asks `size(array) > 0` before another one, and would compute the array twice. It gives plain attributes: for each
    alias in a filter Spark doubles what it knows of the rows, so ten of them would plan for a minute. -#}
{% macro _events_query(spec) %}
  {%- set shown, values, bounds, names = [], [], [], [] -%}
  {%- for column in spec.columns + spec.fields -%}
    {%- do values.append("'v" ~ loop.index0 ~ "', " ~ alluvium._value_of(spec, column)) -%}
    {%- if column.may_lack -%}{%- do values.append("'lacks" ~ loop.index0 ~ "', " ~ alluvium._is_placeholder(spec, alluvium._column_text(spec, column))) -%}{%- endif -%}
    {%- do names.append(alluvium._quote_name(column.name)) -%}
    {%- do shown.append(alluvium._text_literal(column.name) ~ ', `__alluvium_t`.v' ~ loop.index0) -%}
  {%- endfor -%}
  {%- set position = alluvium._event_position(spec, '`__alluvium_i`') -%}
  {%- if spec.log is not none -%}
    {%- set position = 'concat(' ~ alluvium._sorted_whole('cast(try_cast((' ~ spec.log ~ ') as bigint) as string)', 10, 19) ~ ", '/', " ~ position ~ ')' -%}
  {%- endif -%}
  {%- set millis = 'try_cast(`__alluvium_i`.committed as bigint)' -%}
  {%- set committed = 'if(' ~ millis ~ ' between 0 and 253402300799999, timestamp_millis(' ~ millis ~ '), null)' -%}
  {#- `new_events` is a text that says its bounds; a relation has none. -#}
  {%- for bound in ('_batch_after', '_batch_through') if spec.events is string and bound in spec.events -%}{%- do bounds.append('`' ~ bound ~ '`') -%}{%- endfor -%}
  {%- do values.extend(["'position', " ~ position, "'committed', " ~ committed, "'left_out', " ~ alluvium._left_out(spec)]) -%}
  {#- Bytes, for characters are counted one by one. -#}
  {%- set never = 'octet_length(_value) < 0' -%}
  {%- set reason = alluvium._event_reason(spec) -%}
  {%- set made = {
      '_op': '`__alluvium_i`.op',
      '_position': '`__alluvium_t`.`position`',
      '_committed_at': '`__alluvium_t`.committed',
      '_unavailable': alluvium._unavailable(spec),
      '_rejected': "if(`__alluvium_reason` is null, null, named_struct('reason', `__alluvium_reason`, 'value', coalesce(_value, _key)))",
  } -%}
  {%- if spec.everything -%}{%- do made.update({'_left_out': '`__alluvium_t`.left_out'}) -%}{%- endif -%}
  {%- for name, sql in made.items() -%}
    {%- do names.append(name) -%}
    {%- do shown.append("'" ~ name ~ "', " ~ sql) -%}
  {%- endfor -%}
  {%- do shown.append("'__alluvium_kept', " ~ ('true' if spec.everything else alluvium._kept_events(spec))) -%}
(
    select
        {%- for name in names %}
        `__alluvium_4`.{{ name }},
        {%- endfor %}
        {%- if spec.everything %}
        `__alluvium_shown`._value,
        {%- endif %}
        `__alluvium_shown`._source_partition,
        `__alluvium_shown`._source_offset,
        `__alluvium_shown`._source_timestamp,
        `__alluvium_shown`._batch_id
        {%- for bound in bounds %},
        `__alluvium_shown`.{{ bound }}
        {%- endfor %}
    from (
        select
            *,
            array(named_struct({{ shown | join(', ') }})) as `__alluvium_row`
        from (
            select
                *,
                case when `__alluvium_t`.left_out is null then {{ reason }} end as `__alluvium_reason`
            from (
                select
                    *,
                    if({{ never }}, null, named_struct({{ values | join(', ') }})) as `__alluvium_t`
                from (
                    select
                        *,
                        if({{ never }}, null, {{ alluvium._event_envelope(spec) }}) as `__alluvium_i`
                    from (
                        select
                            *,
                            {{ alluvium._exact_event(spec) }} as `__alluvium_p`
                        from (
                            select
                                *,
                                {{ alluvium._event_json(spec, alluvium._with_end('_value', 1)) }} as `__alluvium_p0`
                            from {{ spec.events }} as `__alluvium_events`
                        )
                    )
                )
            )
        )
    ) `__alluvium_shown` lateral view outer inline(`__alluvium_row`) `__alluvium_4` as {{ names | join(', ') }}, `__alluvium_kept`
    {%- if not spec.everything %}
    where `__alluvium_4`.`__alluvium_kept`
    {%- endif %}
)
{%- endmacro %}


{#- SQL of a column's text: that of the row, and of the deleted key. -#}
{% macro _column_text(spec, column) %}
  {%- set name = alluvium._quote_name(column.name) -%}
  {%- if column.is_field -%}
    {{ return('`__alluvium_i`.' ~ ('op' if column.name == 'op' and not column.parent else (column.parent or 'event') ~ '.' ~ name)) }}
  {%- endif -%}
  {%- set text = 'coalesce(`__alluvium_i`.`row`.' ~ name ~ ', `__alluvium_i`.deleted.' ~ name ~ ')' if column.is_key else '`__alluvium_i`.`row`.' ~ name -%}
  {#- The marks of MongoDB's documents are still there. -#}
  {{ return('if(coalesce(`__alluvium_i`.`row`.`__alluvium_end`, `__alluvium_i`.deleted.`__alluvium_end`) = \'2\', ' ~ alluvium._unmarked(text) ~ ', ' ~ text ~ ')'
      if spec.form == 'mongodb' else text) }}
{% endmacro %}


{#- SQL of a column's value; NULL for a placeholder, which stands for a value that the event does not have. -#}
{% macro _value_of(spec, column) %}
  {%- set text = alluvium._column_text(spec, column) -%}
  {%- set unit = '`__alluvium_i`.units.' ~ alluvium._quote_name(column.name) if column.has_unit else none -%}
  {%- set given = '`__alluvium_i`.nested.' ~ alluvium._quote_name(column.name) if column.type.nested else text -%}
  {%- set value = alluvium._typed_value(column.type, given, column.how, unit,
      hex='`__alluvium_i`.hex.' ~ alluvium._quote_name(column.name) if column.has_hex else none) -%}
  {%- if column.has_digits -%}
    {#- A whole number in base64 may look like one in digits. -#}
    {%- set value = 'if(array_contains(`__alluvium_i`.decimals, ' ~ alluvium._text_literal(column.name) ~ '), null, ' ~ value ~ ')' -%}
  {%- endif -%}
  {{ return('case when not ' ~ alluvium._is_placeholder(spec, text) ~ ' then ' ~ value ~ ' end' if column.may_lack else value) }}
{% endmacro %}
