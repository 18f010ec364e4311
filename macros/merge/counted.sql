{% macro thousands(number) %}
  {{ return('{:,}'.format(number)) }}
{% endmacro %}


{% macro counted(number, noun) %}
  {{ return(alluvium.thousands(number) ~ ' ' ~ noun ~ ('' if number == 1 else 's')) }}
{% endmacro %}
