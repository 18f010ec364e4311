{#- The model that a name means, or those of a tier, that have a layout. -#}
{% macro _models_with_layout(name, tier, who='alluvium.compact') %}
  {%- if (name is none) == (tier is none) -%}
    {%- do exceptions.raise_compiler_error(who ~ ': accepted: model, the name of one, or tier, the name of one') -%}
  {%- endif -%}
  {%- if tier is not none and tier not in alluvium.tiers() -%}
    {%- do exceptions.raise_compiler_error(who ~ ": '" ~ tier ~ "' is not a tier; accepted: " ~ alluvium.tiers() | join(', ')) -%}
  {%- endif -%}
  {%- set asked = alluvium._find_model(name, who).unique_id if name is not none else none -%}
  {%- set found, others = [], [] -%}
  {%- for node in graph.nodes.values() if node.resource_type == 'model' -%}
    {%- set meta = node.config.get('meta') or {} -%}
    {%- if 'alluvium_layout' in meta -%}
      {%- if node.unique_id == asked or (tier is not none and meta.get('alluvium_tier') == tier) -%}
        {%- do found.append(node) -%}
      {%- else -%}
        {%- do others.append(alluvium._name_of(node) if name else meta.get('alluvium_tier')) -%}
      {%- endif -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if not found -%}
    {%- set accepted = others | select | unique | sort | join(', ') -%}
    {%- do exceptions.raise_compiler_error(who ~ ": '" ~ (name or tier) ~ "' is not a "
        ~ ('model' if name else 'tier of a model') ~ ' with meta.alluvium_layout; accepted: '
        ~ (accepted or ('the name of one' if name else 'model, for no such model has meta.alluvium_tier'))) -%}
  {%- endif -%}
  {{ return(found) }}
{% endmacro %}


{#- Compacts, and says so; what failed, if anything did. A hook says nothing where there is nothing to do, and looks only where
    something may be due since the last look. -#}
{% macro _compact_table(relation, name, block, dry_run=false, is_hook=true) %}
  {%- if target.type != 'alluvium' -%}{{ return(alluvium._compact_in_sql(relation, name, block, dry_run, is_hook)) }}{%- endif -%}
  {%- set lines, failed = adapter.compact(relation.render(), name, block, dry_run, is_hook) -%}
  {%- do alluvium._say(lines) -%}
  {%- if not (lines or failed or is_hook) -%}{%- do log(name ~ ': nothing to compact', info=true) -%}{%- endif -%}
  {{ return(failed) }}
{% endmacro %}
