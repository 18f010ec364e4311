{#- The lines of an operation. -#}
{% macro _say(lines) %}
  {%- for line in lines -%}{%- do log(line, info=true) -%}{%- endfor -%}
{% endmacro %}


{% macro _tell(line, dry_run) %}
  {%- do log(line ~ (' (dry run)' if dry_run else ''), info=true) -%}
{% endmacro %}
