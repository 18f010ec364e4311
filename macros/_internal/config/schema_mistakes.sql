{#- Every mistake in a value by one of `_settings_schema`, each a line that begins with `where`. -#}
{% macro _schema_mistakes(where, value, schema) %}
  {%- if target.type == 'alluvium' -%}{{ return(adapter.setting_mistakes(where, value, schema)) }}{%- endif -%}
  {%- set mistakes = [] -%}
  {%- do alluvium._walk_schema(where, value, schema, mistakes) -%}
  {{ return(mistakes) }}
{% endmacro %}


{#- What `jsonschema` does for the adapter, as far as `_settings_schema` needs it. -#}
{% macro _walk_schema(where, value, schema, mistakes) %}
  {%- set shown = where ~ ': ' ~ alluvium._shown_value(value) -%}
  {%- set is_mapping = 'properties' in schema or 'additionalProperties' in schema -%}
  {%- if is_mapping and value is mapping -%}
    {%- set properties = schema.get('properties') or {} -%}
    {%- for key, inner in value.items() -%}
      {%- set rule = properties.get(key, schema.additionalProperties) -%}
      {%- if rule -%}
        {%- do alluvium._walk_schema(where ~ '.' ~ key, inner, rule, mistakes) -%}
      {%- else -%}
        {%- do mistakes.append(where ~ ': unknown key ' ~ key ~ '; accepted: ' ~ properties | join(', ') ~ alluvium._did_you_mean(key, properties)) -%}
      {%- endif -%}
    {%- endfor -%}
    {%- for key in schema.get('required') or [] if key not in value -%}
      {%- do mistakes.append(where ~ '.' ~ key ~ ': missing; accepted: ' ~ (properties[key].missing or properties[key].accepted)) -%}
    {%- endfor -%}
    {%- if value | length < schema.get('minProperties', 0) -%}
      {%- do mistakes.append(shown ~ ' is not accepted; accepted: ' ~ schema.accepted) -%}
    {%- endif -%}
  {%- elif not alluvium._fits_schema(value, schema) -%}
    {%- if schema.get('secret') -%}
      {%- do mistakes.append(where ~ ': accepted: ' ~ schema.accepted) -%}
    {%- elif is_mapping -%}
      {%- do mistakes.append(shown ~ ' is not a mapping; accepted'
          ~ (' keys: ' ~ schema.properties | join(', ') if 'properties' in schema else ': ' ~ schema.accepted)) -%}
    {%- else -%}
      {%- do mistakes.append(shown ~ ' is not accepted; accepted: ' ~ schema.accepted) -%}
    {%- endif -%}
  {%- endif -%}
{% endmacro %}


{#- Whether a value is what a schema asks for. -#}
{% macro _fits_schema(value, schema) %}
  {%- set is_number = value is number and value is not boolean -%}
  {%- if 'type' in schema -%}
    {%- set types = {
        'object': value is mapping,
        'array': value is sequence and value is not string and value is not mapping,
        'string': value is string,
        'integer': is_number and value is integer,
        'number': is_number,
        'boolean': value is boolean,
        'false': value is sameas false,
        'null': value is none,
        'moment': alluvium._is_moment(value),
    } -%}
    {%- set found = [] -%}
    {%- for type in alluvium._as_list(schema.type) if types[type] -%}{%- do found.append(type) -%}{%- endfor -%}
    {%- if not found -%}{{ return(false) }}{%- endif -%}
  {%- endif -%}
  {%- if 'enum' in schema and (value is boolean or value not in schema.enum) -%}{{ return(false) }}{%- endif -%}
  {%- if value is string and 'pattern' in schema and not modules.re.search(schema.pattern, value) -%}{{ return(false) }}{%- endif -%}
  {%- if is_number and (value < schema.get('minimum', value) or value > schema.get('maximum', value)
         or 'exclusiveMinimum' in schema and value <= schema.exclusiveMinimum
         or 'exclusiveMaximum' in schema and value >= schema.exclusiveMaximum) -%}{{ return(false) }}{%- endif -%}
  {%- if value is sequence and value is not string and value is not mapping -%}
    {%- if value | length < schema.get('minItems', 0) -%}{{ return(false) }}{%- endif -%}
    {%- for item in value if 'items' in schema and not alluvium._fits_schema(item, schema['items']) -%}{{ return(false) }}{%- endfor -%}
  {%- endif -%}
  {%- if 'anyOf' in schema -%}
    {%- set found = [] -%}
    {%- for one in schema.anyOf if alluvium._fits_schema(value, one) -%}{%- do found.append(one) -%}{%- endfor -%}
    {%- if not found -%}{{ return(false) }}{%- endif -%}
  {%- endif -%}
  {%- if value is mapping and 'properties' in schema -%}
    {%- set mistakes = [] -%}
    {%- do alluvium._walk_schema('', value, schema, mistakes) -%}
    {{ return(not mistakes) }}
  {%- endif -%}
  {{ return(true) }}
{% endmacro %}


{#- A day of the calendar, and maybe a time of it. -#}
{% macro _is_moment(value) %}
  {%- set found = modules.re.fullmatch('([0-9]{4})-([0-9]{2})-([0-9]{2})([ T]([0-9]{2}):([0-9]{2})(:([0-9]{2}))?)?', value | string) -%}
  {%- if not found -%}{{ return(false) }}{%- endif -%}
  {%- set year, month, day = found[1] | int, found[2] | int, found[3] | int -%}
  {%- if year < 1 or month < 1 or month > 12 -%}{{ return(false) }}{%- endif -%}
  {%- set last = 31 if month == 12 else (modules.datetime.date(year, month + 1, 1) - modules.datetime.timedelta(days=1)).day -%}
  {{ return(1 <= day <= last and (found[5] or 0) | int < 24 and (found[6] or 0) | int < 60 and (found[8] or 0) | int < 60) }}
{% endmacro %}


{#- A value for a message. YAML makes dates, and `tojson` fails at those. -#}
{% macro _shown_value(value) %}
  {%- set parts = [] -%}
  {%- if value is mapping -%}
    {%- for key, inner in value.items() -%}{%- do parts.append(tojson(key | string) ~ ': ' ~ alluvium._shown_value(inner)) -%}{%- endfor -%}
    {{ return('{' ~ parts | join(', ') ~ '}') }}
  {%- elif value is sequence and value is not string -%}
    {%- for inner in value -%}{%- do parts.append(alluvium._shown_value(inner)) -%}{%- endfor -%}
    {{ return('[' ~ parts | join(', ') ~ ']') }}
  {%- endif -%}
  {{ return(tojson(value if value is string or value is number or value is none else value | string)) }}
{% endmacro %}
