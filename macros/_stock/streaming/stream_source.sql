{#- The stream that a streaming_table of a stock target reads: the one source of the model that has
    `meta.alluvium_stream`, checked, with its path made absolute. Stock targets read files of lines;
    the keys that bound a trigger (min_rows, max_…) have no meaning where a run is one commit. -#}
{% macro _stream_source(node) %}
  {%- set found = alluvium._streams_of(node) -%}
  {%- if found | length != 1 -%}
    {%- do exceptions.raise_compiler_error(node.name ~ ': reads ' ~ (found | map(attribute='name') | join(', ') or 'no source() with meta.alluvium_stream')
        ~ '; accepted: exactly one source() that has meta.alluvium_stream') -%}
  {%- endif -%}
  {%- set given = found[0].config.meta.alluvium_stream -%}
  {%- set name = found[0].source_name ~ '.' ~ found[0].name -%}
  {%- set where = 'source ' ~ name ~ ': meta.alluvium_stream' -%}
  {%- set mistakes = [] -%}
  {%- set path = given.get('path') -%}
  {%- if path is mapping -%}{%- set path = env_var(path.get('env') or '') -%}{%- endif -%}
  {%- if given.get('format') not in ('text', 'json', 'csv') -%}
    {%- do mistakes.append(where ~ '.format: ' ~ given.get('format') ~ '; accepted on a ' ~ target.type ~ ' target: text, json, csv') -%}
  {%- endif -%}
  {%- if not path -%}
    {%- do mistakes.append(where ~ '.path: missing; accepted: a folder, a file, a glob or {env: NAME}') -%}
  {%- elif '{home}' in path -%}
    {%- do mistakes.append(where ~ '.path: ' ~ path ~ ' uses {home}, which only embedded targets have; accepted: a path without it') -%}
  {%- endif -%}
  {%- set is_absolute = path and (path[:1] == '/' or modules.re.match('[A-Za-z][A-Za-z0-9+.-]*:/', path)) -%}
  {%- if path and not is_absolute and target.type == 'databricks' -%}
    {%- do mistakes.append(where ~ '.path: ' ~ path ~ '; accepted on a databricks target: a path of the workspace, such as /Volumes/…, or a URI') -%}
  {%- endif -%}
  {%- set options = {} -%}
  {%- for key, value in (given.get('options') or {}).items() -%}
    {%- if value is mapping -%}{%- set value = env_var(value.get('env') or '') -%}{%- endif -%}
    {%- set mistake = alluvium._stream_option_mistake(given, key, value) -%}
    {%- if mistake is not none -%}
      {%- do mistakes.append(where ~ '.options.' ~ key ~ ': ' ~ mistake) -%}
    {%- elif key | lower != 'header' -%}
      {%- set name = 'pathGlobFilter' if key | lower == 'pathglobfilter' else key -%}
      {%- do options.update({name: value | string | lower if value is boolean else value | string}) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if mistakes -%}
    {%- do exceptions.raise_compiler_error(mistakes | join('\n')) -%}
  {%- endif -%}
  {%- if not is_absolute -%}
    {%- set path = (invocation_args_dict.project_dir | string).rstrip('/') ~ '/' ~ path -%}
  {%- endif -%}
  {{ return({
      'source_name': found[0].source_name,
      'name': found[0].name,
      'view': found[0].source_name ~ '__' ~ found[0].name,
      'path': path,
      'format': given.format,
      'schema': given.get('schema'),
      'glob': options.pop('pathGlobFilter', none),
      'options': options,
  }) }}
{% endmacro %}


{#- What is wrong with one option of a source on this target; none for nothing. -#}
{% macro _stream_option_mistake(given, key, value) %}
  {%- set name = key | lower -%}
  {%- set parsed = alluvium._stream_options().get(given.get('format'), []) if given.get('schema') else [] -%}
  {%- if name in ('cleansource', 'sourcearchivedir') -%}
    {{ return('files are never moved by a ' ~ target.type ~ ' target') }}
  {%- elif name == 'header' and given.get('format') == 'csv' -%}
    {%- if value | string | lower != 'false' -%}
      {{ return('headers are read on alluvium targets only. Here the first line of a file is an event:'
          ~ ' leave the option out, and the lines with `where _source_offset > 0` in the query') }}
    {%- endif -%}
  {%- elif name == 'multiline' and given.get('format') == 'csv' -%}
    {{ return('records that span lines are read on alluvium targets only. Here a line is an event: leave the option out') }}
  {%- elif name != 'pathglobfilter' and name not in parsed | map('lower') -%}
    {{ return('has no effect on ' ~ given.get('format') ~ ('' if given.get('schema') else ' without the key `schema`') ~ '; accepted: '
        ~ (['pathGlobFilter'] + parsed) | join(', ')) }}
  {%- endif -%}
  {{ return(none) }}
{% endmacro %}


{#- The sources of a model that have `meta.alluvium_stream`. -#}
{% macro _streams_of(node) %}
  {%- set found = [] -%}
  {%- for unique_id in node.depends_on.nodes if 'alluvium_stream' in (graph.sources.get(unique_id, {}).get('config', {}).get('meta') or {}) -%}
    {%- do found.append(graph.sources[unique_id]) -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}


{#- The folder below which files are named: its path without scheme, host and wildcards. -#}
{% macro _stream_folder(path) %}
  {%- set folder = modules.re.sub('^[a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?', '', path).rstrip('/') -%}
  {%- set plain = modules.re.split('[*?[{]', folder)[0] -%}
  {{ return(folder if plain == folder else plain.rpartition('/')[0]) }}
{% endmacro %}


{#- The same with its file system and bucket. -#}
{% macro _stream_place(path) %}
  {{ return(modules.re.match('([a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?)?', path)[0] ~ alluvium._stream_folder(path)) }}
{% endmacro %}


{#- A model's SQL with its source() rendered as something else. -#}
{% macro _with_stream(sql, relation, replacement) %}
  {%- set name = modules.re.escape(relation.render()) -%}
  {{ return(modules.re.sub('(?<![A-Za-z0-9_`.])' ~ name ~ '(?![A-Za-z0-9_`.])', replacement.replace('\\', '\\\\'), sql)) }}
{% endmacro %}
