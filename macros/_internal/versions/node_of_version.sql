{#- The model that an operation on a version names. Stops it with every mistake in its arguments. -#}
{% macro _node_of_version(operation, given, unknown) %}
  {%- do alluvium._begin_operation(operation, given, unknown, 'makes no tags and clones') -%}
  {{ return(alluvium._find_model(given.model, 'alluvium.' ~ operation)) }}
{% endmacro %}


{#- The line of an operation. -#}
{% macro _tell(line, dry_run) %}
  {%- do builtins.log(line ~ (' (dry run)' if dry_run else ''), info=true) -%}
{% endmacro %}
