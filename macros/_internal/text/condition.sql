{#- The parts of a condition, all of which must hold: SQL, or values by column. who: the macro that was given it. -#}
{% macro _conditions(where, who) %}
  {%- set conditions = [] -%}
  {%- if where is mapping -%}
    {%- for column, value in where.items() -%}
      {%- do conditions.append(alluvium._any_of(column, value, who)) -%}
    {%- endfor -%}
  {%- elif where is string -%}
    {%- do conditions.append('(' ~ where ~ '\n)') -%}
  {%- elif where is not none -%}
    {%- do exceptions.raise_compiler_error(who ~ ': where is ' ~ alluvium._shown_value(where)
        ~ '; accepted: SQL, or values by column') -%}
  {%- endif -%}
  {{ return(conditions) }}
{% endmacro %}


{#- Raises where a public macro was given arguments that it does not have. -#}
{% macro _check_known(given, arguments, who) %}
  {%- for name in given -%}
    {%- do exceptions.raise_compiler_error(who ~ ': unknown argument ' ~ name ~ '; accepted: ' ~ arguments | join(', ')
        ~ alluvium._did_you_mean(name, arguments)) -%}
  {%- endfor -%}
{% endmacro %}
