{#- What a value may be, by names that `_settings_schema` and `_arguments_schema` use. -#}
{% macro _value_schemas() %}
  {%- set text = {'type': 'string', 'pattern': '\\S', 'accepted': 'a text'} -%}
  {#- Of an operation: null is one that was not given. -#}
  {%- set model = dict(text, type=['string', 'null'], accepted='the name of a model') -%}
  {%- set models = {'anyOf': [{'type': 'null'}, text, {'type': 'array', 'items': text, 'minItems': 1}],
                    'accepted': 'the name of a model, or a list of names'} -%}
  {%- set tier = dict(text, type=['string', 'null'], accepted='the name of a tier') -%}
  {#- Of a data test, which says more of a number than its type. -#}
  {%- set relation = {'accepted': "a relation, such as ref('orders_events')"} -%}
  {%- set number = {'accepted': 'a number'} -%}
  {%- set flag = {'type': 'boolean', 'accepted': 'true, false'} -%}
  {%- set count = {'type': 'integer', 'minimum': 1, 'maximum': 256, 'accepted': 'a whole number from 1 to 256'} -%}
  {%- set natural = {'type': 'integer', 'minimum': 0, 'accepted': 'a whole number'} -%}
  {%- set positive = {'type': 'integer', 'minimum': 1, 'accepted': 'a whole number from 1'} -%}
  {%- set factor = {'type': 'integer', 'minimum': 2, 'maximum': 1000, 'accepted': 'a whole number from 2 to 1000'} -%}
  {%- set moment = {'type': 'moment', 'accepted': 'a date, or a date and time in UTC (2024-01-31 18:00)'} -%}
  {%- set time = '[1-9][0-9]{0,5} (minute|hour|day|week)s?' -%}
  {%- set duration = {'type': 'string', 'pattern': '\\A' ~ time ~ '\\Z',
                      'accepted': 'a number of minutes, hours, days or weeks, such as 15 minutes'} -%}
  {%- set duration_or_auto = {'type': 'string', 'pattern': '\\A(auto|' ~ time ~ ')\\Z',
                              'accepted': 'auto, or a number of minutes, hours, days or weeks, such as 6 hours'} -%}
  {%- set size = {'type': ['string', 'integer'], 'minimum': 1, 'maximum': 10 ** 12 - 1, 'pattern': '\\A[1-9][0-9]{0,11}( ?(KiB|MiB|GiB|TiB))?\\Z',
                  'accepted': 'bytes, such as 134217728, 128 MiB or 1 GiB'} -%}
  {%- set columns = {'anyOf': [text, {'type': 'array', 'items': text, 'minItems': 1}], 'accepted': 'a column, or a list of columns'} -%}
  {%- set columns_or_none = {'anyOf': [{'type': 'false'}, text, {'type': 'array', 'items': text, 'minItems': 1}],
                             'accepted': 'false, a column, or a list of columns'} -%}
  {#- dbt's own keys: an empty list, or an empty text, names none. -#}
  {%- set some_columns = {'anyOf': [{'type': ['string', 'null']}, {'type': 'array', 'items': text}],
                          'accepted': 'a column, or a list of columns'} -%}
  {%- set conditions = {'anyOf': [{'type': ['string', 'null']}, {'type': 'array', 'items': text}],
                        'accepted': 'SQL, or a list of SQL'} -%}
  {%- set from_environment = {'type': 'object', 'properties': {'env': text}, 'required': ['env'], 'additionalProperties': false} -%}
  {%- set option = {'anyOf': [{'type': ['string', 'number', 'boolean']}, from_environment], 'secret': true,
                    'accepted': 'a text, a number, a boolean or {env: NAME}'} -%}
  {{ return({
      'text': text, 'model': model, 'models': models, 'tier': tier, 'relation': relation, 'number': number, 'flag': flag,
      'count': count, 'natural': natural, 'positive': positive, 'factor': factor, 'moment': moment,
      'duration': duration, 'duration_or_auto': duration_or_auto, 'size': size, 'columns': columns, 'columns_or_none': columns_or_none,
      'some_columns': some_columns, 'conditions': conditions, 'from_environment': from_environment,
      'option': option,
  }) }}
{% endmacro %}


{% macro _mapping_schema(properties, required=[]) %}
  {{ return({'type': 'object', 'properties': properties, 'required': required, 'additionalProperties': false}) }}
{% endmacro %}


{% macro _choice_schema(values) %}
  {{ return({'enum': values, 'accepted': values | join(', ')}) }}
{% endmacro %}
