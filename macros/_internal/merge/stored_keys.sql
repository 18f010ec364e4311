{#- A table may store a key otherwise than its event wrote it: cast to the column's type, or `''` in a partition as NULL. Such an
    event would find no row and be inserted each time it is seen. Here the batch's keys become what the table will store, and
    an event whose key the table cannot hold as it is gets a reason.

    Gives by key column, as `unique_key` writes it: `stored`, SQL of what the table stores. `changed` is SQL that is
    true where that is another key. Columns that are stored as they are have no entry. table: as `_stored_table` gives
    it. -#}
{% macro _stored_keys(table, settings, types, source_types) %}
  {{ return(alluvium._stored_values(settings.unique_key, table, settings, types, source_types, of_key=true)) }}
{% endmacro %}


{#- The same of the order's columns, each with the `name` that the judged batch has for what the table will store. An event is
    compared with its row by that: a time that the table cuts would be newer than its own row in each run. -#}
{% macro _stored_order(table, settings, types, source_types) %}
  {%- set found = {} -%}
  {%- for column, one in alluvium._stored_values(settings.order_by, table, settings, types, source_types).items()
      if one.stored != alluvium._quote_name(column) -%}
    {%- do found.update({column: dict(one, name='__alluvium_order' ~ loop.index0, value=alluvium._quote_name(column))}) -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}


{#- What the batch is ordered by: the order as the table stores it, then as its events wrote it. -#}
{% macro _order_terms(settings) %}
  {%- set terms = [] -%}
  {%- for column in settings.order_by -%}
    {%- do terms.append(settings.stored_order[column].name if column in settings.stored_order else column) -%}
  {%- endfor -%}
  {{ return(terms + settings.stored_order.keys() | list) }}
{% endmacro %}


{% macro _stored_values(columns, table, settings, types, source_types, of_key=false) %}
  {%- set found = {} -%}
  {%- set partitions = table.partitions | map('lower') | list -%}
  {%- for key in columns -%}
    {#- A batch may have VARCHAR, which is a string with a limit. -#}
    {%- set given = modules.re.sub('^(var)?char\\(.*', 'string', source_types[key | lower]) -%}
    {%- set one = alluvium._stored_key(
        alluvium._quote_name(key), given, types[key | lower], key | lower in partitions, table.limits.get(key | lower),
        settings.null_keys == 'match', of_key) -%}
    {%- if one -%}{%- do found.update({key: one}) -%}{%- endif -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}


{#- The entry of one key column; none where it is stored as it is. limit: characters at most, or none. null_matches:
    whether NULL is a value like any other. of_key: whether it is compared for being the same, not for what is later.
    -#}
{% macro _stored_key(value, given, type, in_partition, limit=none, null_matches=false, of_key=true) %}
  {%- set stored = value -%}
  {%- set changed = [] -%}
  {%- if type.startswith('string') and not given.startswith('string') and given != 'binary' -%}
    {#- Spark compares these as the event's type, to which '01' is 1: what it stores is found again. But these as doubles, to which
        long decimals are alike and a float is not its own text. -#}
    {%- set is_double = of_key and modules.re.match('float|decimal\\((1[6-9]|[23][0-9])', given) -%}
    {%- set text = 'cast(' ~ value ~ ' as string)' if is_double else value -%}
    {{ return({'stored': text, 'changed': 'length(' ~ value ~ ') > ' ~ limit if limit is not none else 'false'}
        if is_double or limit is not none else none) }}
  {%- endif -%}
  {%- if given != type and given != 'void' and '<' not in given ~ type -%}
    {%- set stored = 'try_cast(' ~ value ~ ' as ' ~ type ~ ')' -%}
    {%- do changed.append('not coalesce(' ~ alluvium._survives_cast(value, stored, given, type) ~ ', false)') -%}
  {%- endif -%}
  {%- if limit is not none -%}
    {%- do changed.append('length(' ~ stored ~ ') > ' ~ limit) -%}
  {%- endif -%}
  {%- if in_partition and type in ('string', 'binary') -%}
    {%- set text = stored if type == 'string' else 'cast(' ~ stored ~ ' as string)' -%}
    {#- The path of a partition is text, in which both of these mean NULL. -#}
    {%- set as_null = text ~ " in ('', '__HIVE_DEFAULT_PARTITION__')" -%}
    {%- do changed.append('not ' ~ alluvium.is_utf8(text)) -%}
    {%- do changed.append('instr(' ~ text ~ ", cast(x'00' as string)) > 0") -%}
    {%- if not null_matches -%}{%- do changed.append(as_null) -%}{%- endif -%}
    {%- set stored = 'if(' ~ as_null ~ ', null, ' ~ stored ~ ')' -%}
  {%- endif -%}
  {{ return({'stored': stored, 'changed': value ~ ' is not null and (' ~ changed | join(' or ') ~ ')'} if changed else none) }}
{% endmacro %}


{#- SQL that is true where a cast value is still the same key. It comes back as it was; or, for a text, it means the
    same. -#}
{% macro _survives_cast(value, stored, given, type) %}
  {%- if not given.startswith('string') -%}
    {{ return('try_cast(' ~ stored ~ ' as ' ~ given ~ ') = ' ~ value) }}
  {%- elif type == 'date' -%}
    {{ return('try_cast(' ~ value ~ ' as timestamp) = cast(' ~ stored ~ ' as timestamp)') }}
  {%- elif type in ('tinyint', 'smallint', 'int', 'bigint') or type.startswith('decimal') -%}
    {{ return('try_cast(' ~ value ~ ' as double) = cast(' ~ stored ~ ' as double)') }}
  {%- elif type.startswith('string') -%}
    {{ return('true') }}
  {%- endif -%}
  {{ return(stored ~ ' is not null') }}
{% endmacro %}
