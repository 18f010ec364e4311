{#- True for a string that is UTF-8, and for NULL. Spark before 4 has no function for it. -#}
{% macro is_utf8(value) %}
  {{ return(adapter.dispatch('is_utf8', 'alluvium')(value)) }}
{% endmacro %}

{% macro default__is_utf8(value) %}
  {{ return("coalesce(get_json_object(to_json(named_struct('v', " ~ value ~ ")), '$.v') = " ~ value ~ ', true)') }}
{% endmacro %}

{% macro alluvium__is_utf8(value) %}
  {{ return('coalesce(is_valid_utf8(' ~ value ~ '), true)') }}
{% endmacro %}
