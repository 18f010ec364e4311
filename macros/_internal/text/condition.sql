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
