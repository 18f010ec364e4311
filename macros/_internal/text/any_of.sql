{#- A condition that a column has a value, or one of a list; none is NULL. who: the macro that was given it. -#}
{% macro _any_of(column, value, who) %}
  {%- set values = [value] if value is string or value is mapping or value is not iterable else value | list -%}
  {%- set literals = [] -%}
  {%- for one in values if one is not none -%}
    {%- if one is boolean or one is number -%}
      {%- do literals.append(one | lower if one is boolean else one | string) -%}
    {%- elif one is string -%}
      {%- do literals.append(alluvium._text_literal(one)) -%}
    {%- elif one.isoformat is defined -%}
      {%- do literals.append(('timestamp' if one.hour is defined else 'date') ~ " '" ~ one.isoformat() ~ "'") -%}
    {%- else -%}
      {%- do exceptions.raise_compiler_error(who ~ ': ' ~ column ~ ' is ' ~ alluvium._shown_value(one)
          ~ '; accepted: a text, number, boolean, date, timestamp, none, or a list of them') -%}
    {%- endif -%}
  {%- endfor -%}
  {%- set quoted = alluvium._quote(column) -%}
  {%- set parts = [quoted ~ ' in (' ~ literals | join(', ') ~ ')'] if literals else [] -%}
  {%- if none in values -%}
    {%- do parts.append(quoted ~ ' is null') -%}
  {%- endif -%}
  {{ return('(' ~ parts | join(' or ') ~ ')' if parts else 'false') }}
{% endmacro %}
