{#- Says behind a first build that files get the `index` of `meta.alluvium_layout` later, where no hook gives it to them. -#}
{% macro alluvium_tell_of_index(post_hooks) %}
  {%- set index = (alluvium_layout() or {}).get('index') -%}
  {%- if index and 'alluvium.index' not in post_hooks | map(attribute='sql') | join -%}
    {%- do log(this.identifier ~ ': files get the index of ' ~ ([index] if index is string else index) | join(', ')
        ~ ' when they are compacted; the post-hook `{{ alluvium.index(this) }}` gives it to new files at once', info=true) -%}
  {%- endif -%}
{% endmacro %}
