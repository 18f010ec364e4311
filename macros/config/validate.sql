{#- Checks every setting of ours over the whole project, and what this invocation asks of them. Raises once, with every mistake. Runs no SQL. -#}
{% macro validate() %}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- do alluvium._check_arguments('validate', {}, kwargs) -%}
  {%- set mistakes = [] -%}
  {%- set merged = [] -%}
  {%- set schema = alluvium._settings_schema() -%}
  {%- for node in graph.nodes.values() if node.resource_type == 'model' -%}
    {%- set meta = node.config.get('meta') or {} -%}
    {%- do alluvium._validate_meta_names(node, meta, schema.model, mistakes) -%}
    {%- do alluvium._validate_columns(node, schema.config, mistakes) -%}
    {%- if 'alluvium_merge' in meta -%}
      {%- do merged.append(node) -%}
      {%- do alluvium._validate_merge(node, meta.alluvium_merge, mistakes) -%}
    {%- endif -%}
    {%- if 'alluvium_publish' in meta -%}
      {%- do mistakes.extend(alluvium._schema_mistakes(node.name ~ ': meta.alluvium_publish', meta.alluvium_publish, schema.model.alluvium_publish)) -%}
    {%- endif -%}
    {%- if target.type != 'alluvium' -%}{%- do alluvium._validate_published(node, mistakes) -%}{%- endif -%}
    {%- if 'alluvium_layout' in meta -%}
      {%- do alluvium._validate_layout_table(node, mistakes) -%}
      {%- if target.type != 'alluvium' -%}{%- do alluvium._validate_layout(node, meta.alluvium_layout, mistakes) -%}{%- endif -%}
    {%- endif -%}
  {%- endfor -%}
  {%- for node in graph.sources.values() -%}
    {%- set meta = node.config.get('meta') or {} -%}
    {%- do alluvium._validate_meta_names(node, meta, schema.source, mistakes) -%}
    {%- if 'alluvium_stream' in meta and target.type != 'alluvium' -%}
      {%- do mistakes.extend(alluvium._schema_mistakes(
          'source ' ~ node.source_name ~ '.' ~ node.name ~ ': meta.alluvium_stream', meta.alluvium_stream, schema.source.alluvium_stream)) -%}
    {%- endif -%}
  {%- endfor -%}
  {#- The adapter parses the streams and the layouts, with or without this package, and so knows what they accept. -#}
  {%- if target.type == 'alluvium' -%}
    {%- do mistakes.extend(adapter.stream_mistakes(graph.sources.values() | list)) -%}
    {%- do mistakes.extend(adapter.layout_mistakes(graph.nodes.values() | selectattr('resource_type', 'eq', 'model') | list)) -%}
  {%- endif -%}
  {%- do alluvium._validate_dispatch(merged, mistakes) -%}
  {%- do alluvium._validate_vars(schema.var, mistakes) -%}
  {%- do alluvium._validate_backfill(mistakes) -%}
  {%- do alluvium._validate_accept_loss(mistakes) -%}
  {%- do alluvium._validate_tiers(mistakes) -%}
  {%- if not mistakes -%}
    {%- for node in merged -%}
      {%- do alluvium._validate_full_refresh(node, mistakes) -%}
      {%- do alluvium._validate_staged_together(node, mistakes) -%}
      {%- do alluvium._warn_partition(node) -%}
    {%- endfor -%}
  {%- endif -%}
  {%- if mistakes -%}
    {%- do exceptions.raise_compiler_error(
        mistakes | length ~ (' mistake' if mistakes | length == 1 else ' mistakes')
        ~ ' in the settings of alluvium, nothing was run:\n  - ' ~ mistakes | join('\n  - ')) -%}
  {%- endif -%}
  {{ return('') }}
{% endmacro %}
