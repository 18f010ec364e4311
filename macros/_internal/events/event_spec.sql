{#- What a public macro was asked for, checked: a mapping that the other macros of this folder read. Stops with one sentence for what is wrong. -#}
{% macro _event_spec(who, form, events, columns, given) %}
  {%- set spec = {'who': who, 'form': form, 'events': events, 'log': given.log, 'table': given.table, 'truncate': given.truncate or 'stop',
                  'everything': given.everything or false, 'unavailable': given.unavailable, 'connector': given.connector, 'position': given.position,
                  'tombstones': given.tombstones} -%}
  {%- set columns = alluvium._declared_columns(who, 'columns', columns) -%}
  {%- set fields = alluvium._declared_columns(who, 'fields', given.fields, paths=true) if given.fields is not none and given.fields is defined else [] -%}
  {%- set names = columns | map(attribute='name') | map('lower') | list -%}
  {%- set timed = names + fields | map(attribute='name') | map('lower') | list -%}
  {%- for name in timed -%}
    {%- if name in ('_op', '_position', '_committed_at', '_unavailable', '_rejected', '_left_out', '_key', '_value', '_headers', '_source_partition',
                    '_source_offset', '_source_timestamp', '_batch_id', '_batch_after', '_batch_through') or '__alluvium' in name -%}
      {{ alluvium._refuse(who, ('columns' if name in names else 'fields') ~ ' has ' ~ name ~ ', which the macro adds itself', 'other names') }}
    {%- endif -%}
  {%- endfor -%}
  {%- for field in fields if field.name | lower in names -%}
    {{ alluvium._refuse(who, 'fields has ' ~ field.name ~ ', which is a column too', 'other names') }}
  {%- endfor -%}
  {%- do spec.update({'fields': fields}) -%}

  {%- set keys = [] -%}
  {%- for key in alluvium._column_names(given.key) -%}
    {%- if key | lower not in names -%}
      {{ alluvium._refuse(who, 'key names ' ~ key ~ ', which is not among the columns', columns | map(attribute='name') | join(', ')) }}
    {%- endif -%}
    {%- do keys.append(key | lower) -%}
  {%- endfor -%}
  {%- if not keys and (form != 'json' or spec.tombstones == 'delete') -%}
    {{ alluvium._refuse(who, 'key is missing', 'a column, or a list of columns') }}
  {%- endif -%}
  {%- do alluvium._check_position(who, form, spec) -%}
  {%- do alluvium._check_fields(who, spec) -%}

  {%- for argument, accepted in [('truncate', ['stop', 'ignore']), ('tombstones', ['skip', 'delete'])] if spec[argument] is not none and spec[argument] not in accepted -%}
    {{ alluvium._refuse(who, argument ~ ' is ' ~ spec[argument], accepted | join(', ')) }}
  {%- endfor -%}
  {%- do spec.update({'tombstones': spec.tombstones or ('delete' if form == 'flat' else 'skip')}) -%}
  {%- if spec.tombstones == 'delete' and spec.position != 'offset' -%}
    {{ alluvium._refuse(who, 'tombstones is delete' ~ (' unless you say otherwise' if not given.tombstones else '') ~ ', and a tombstone has no position but its offset',
        "tombstones='skip', or position='offset'") }}
  {%- endif -%}
  {%- do spec.update({'has_schema': form != 'json' and not (form == 'flat' and ('payload' in names or 'schema' in names))}) -%}

  {%- set how = {} -%}
  {%- for argument, accepted in [
      ('timestamps', ['adaptive', 'adaptive_time_microseconds', 'connect', 'isostring', 'microseconds', 'nanoseconds', 'structured', 'milliseconds']),
      ('decimals', ['precise', 'string', 'double']), ('binary', ['bytes', 'base64', 'base64-url-safe', 'hex'])] -%}
    {%- do how.update({argument: alluvium._by_column(who, argument, given[argument], timed if argument == 'timestamps' else names, accepted)}) -%}
  {%- endfor -%}
  {%- for column in columns -%}
    {%- set inner = column.type.of if column.type.kind in ('array', 'map') else column.type -%}
    {%- set name = column.name | lower -%}
    {%- do column.update({
        'is_key': name in keys, 'is_field': false,
        'has_unit': spec.has_schema and form != 'mongodb' and inner.kind in ('timestamp', 'timestamp_ntz', 'decimal'),
        'has_digits': spec.has_schema and form != 'mongodb' and column.type.kind in ('tinyint', 'smallint', 'int', 'bigint', 'float', 'double'),
        'may_lack': spec.unavailable is not none and name not in keys and (column.type.nested or column.type.kind in ('string', 'binary')),
        'has_hex': column.type.kind == 'decimal' and form in ('debezium', 'flat'),
        'how': {'mongodb': form == 'mongodb', 'timestamps': how.timestamps.get(name, 'milliseconds' if form == 'mongodb' else none),
                'decimals': how.decimals.get(name, 'string' if form in ('json', 'mongodb') else none), 'binary': how.binary.get(name, 'base64')},
    }) -%}
  {%- endfor -%}
  {%- set clocks = {'ts_ms': 'connect', 'ts_us': 'microseconds', 'ts_ns': 'nanoseconds'} -%}
  {%- for field in fields -%}
    {%- do field.update({'is_key': false, 'is_field': true, 'has_unit': false, 'has_digits': false, 'may_lack': false,
                         'how': {'mongodb': false, 'timestamps': clocks.get(field.name, how.timestamps.get(field.name | lower)), 'decimals': 'string', 'binary': 'base64'}}) -%}
  {%- endfor -%}
  {%- do spec.update({'columns': columns}) -%}
  {{ return(spec) }}
{% endmacro %}


{% macro _check_position(who, form, spec) %}
  {%- set connectors = ['postgresql', 'mysql', 'mariadb', 'sqlserver', 'oracle'] -%}
  {%- if form != 'debezium' -%}
    {#- MongoDB's clock is no order, and the others say none. -#}
    {%- do spec.update({'connector': none, 'position': spec.position or 'offset'}) -%}
    {%- if form == 'flat' and modules.re.search('(?<![\\w.`\'])(?:source|transaction)[.]', spec.position) -%}
      {{ alluvium._refuse(who, 'position is ' ~ spec.position ~ ', and flat events have no envelope', "offset, or SQL over fields that begin with __, such as __source_lsn") }}
    {%- endif -%}
  {%- elif spec.connector is not none and spec.position is not none -%}
    {{ alluvium._refuse(who, 'connector and position are both set', 'one of them') }}
  {%- elif spec.connector is none and spec.position is none -%}
    {{ alluvium._refuse(who, 'nothing says the order of the events', 'connector (' ~ connectors | join(', ') ~ "), or position='offset', or position as SQL over the envelope") }}
  {%- elif spec.connector is not none and spec.connector not in connectors -%}
    {{ alluvium._refuse(who, 'connector is ' ~ spec.connector, connectors | join(', ') ~ ("; for MongoDB use alluvium.mongodb" if spec.connector == 'mongodb' else '')
        ~ alluvium._did_you_mean(spec.connector, connectors)) }}
  {%- endif -%}
{% endmacro %}


{#- Spark cannot tell names apart that differ by case only. The objects of the envelope are read for what is in them. -#}
{% macro _check_fields(who, spec) %}
  {%- set objects = ['before', 'after', 'source', 'schema', 'payload'] + (['transaction'] if alluvium._envelope_fields(spec, 'transaction') else []) -%}
  {%- for field in spec.fields -%}
    {%- if not field.parent and field.name | lower in objects -%}
      {{ alluvium._refuse(who, 'fields has ' ~ field.name ~ ', an object that the macro takes apart', 'a field of the envelope, such as source.lsn bigint') }}
    {%- endif -%}
    {%- for name in alluvium._envelope_fields(spec, field.parent) + ([] if field.parent else ['op']) if name | lower == field.name | lower and name != field.name -%}
      {{ alluvium._refuse(who, 'fields has ' ~ field.name ~ ', and the macro reads ' ~ name ~ ', which differs by case only', name) }}
    {%- endfor -%}
  {%- endfor -%}
{% endmacro %}


{#- An argument that is one value for all columns, or a mapping of values by column; by column in lower case. -#}
{% macro _by_column(who, argument, value, names, accepted) %}
  {%- set by_column = {} -%}
  {%- for name, one in (value.items() if value is mapping else []) if name | lower not in names -%}
    {{ alluvium._refuse(who, argument ~ ' names ' ~ name ~ ', which is not among the columns', names | join(', ')) }}
  {%- endfor -%}
  {%- for name in names if value is not none and value is defined -%}
    {%- for key, one in (value.items() if value is mapping else [(name, value)]) if key | lower == name -%}
      {%- if one not in accepted -%}{{ alluvium._refuse(who, argument ~ ' is ' ~ one, accepted | join(', ')) }}{%- endif -%}
      {%- do by_column.update({name: one}) -%}
    {%- endfor -%}
  {%- endfor -%}
  {{ return(by_column) }}
{% endmacro %}


{% macro _refuse(who, wrong, accepted) %}
  {%- do exceptions.raise_compiler_error(who ~ ': ' ~ wrong ~ '; accepted: ' ~ accepted) -%}
{% endmacro %}
