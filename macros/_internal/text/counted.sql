{#- Numbers in what is said; `alluvium.wording` is the same in Python. -#}
{% macro _thousands(number) %}
  {{ return('{:,}'.format(number)) }}
{% endmacro %}


{% macro _counted(number, noun) %}
  {{ return(alluvium._thousands(number) ~ ' ' ~ noun ~ ('' if number == 1 else 'es' if noun[-2:] == 'ch' else 's')) }}
{% endmacro %}
