{#- dbt-spark's clone refuses a model that names no file format; here that means Delta. dbt's own knows the
    source by the case of its name: in another one it would drop the table that it is about to clone. -#}
{% materialization clone, adapter='alluvium' %}
  {%- if defer_relation and (this.schema | lower, this.identifier | lower) == (defer_relation.schema | lower, defer_relation.identifier | lower) -%}
    {%- do log(this.render() ~ ' is the table of the state too: nothing to clone', info=true) -%}
    {{ return({'relations': []}) }}
  {%- endif -%}
  {%- set started = modules.datetime.datetime.now() -%}
  {%- set relations = materialization_clone_default() -%}
  {%- if relations.relations -%}
    {%- set seconds = (modules.datetime.datetime.now() - started).total_seconds() -%}
    {%- do log(model.name ~ ': cloned ' ~ defer_relation.render() ~ ' in %.1f s' | format(seconds), info=true) -%}
  {%- endif -%}
  {{ return(relations) }}
{% endmaterialization %}
