{#- Whether the model that a hook runs for has a layout, which OPTIMIZE would undo. -#}
{% macro _has_layout() %}
  {{ return((config.get('meta') or {}).get('alluvium_layout') is not none) }}
{% endmacro %}


{#- What a hook that would rewrite files does on a model with a layout: `compact`, and a warning, once a model. -#}
{% macro _compact_instead(hook, relation) %}
  {%- if not alluvium._maintenance_is_on() -%}{{ return('') }}{%- endif -%}
  {%- if load_result('alluvium_replaced') is none -%}
    {%- do exceptions.warn(model.name ~ ': the hook alluvium.' ~ hook ~ ' ran alluvium.compact. OPTIMIZE knows nothing of'
        ~ ' meta.alluvium_layout: it would merge the fragments out of their order. Write post_hook: "{{ alluvium.compact(this) }}";'
        ~ ' sort_by says the columns.') -%}
  {%- endif -%}
  {#- dbt hands a note out once, so it is put back. -#}
  {%- do store_result('alluvium_replaced', response='') -%}
  {{ return(alluvium.compact(relation)) }}
{% endmacro %}
