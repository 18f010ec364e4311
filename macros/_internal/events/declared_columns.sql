{#- The columns of `id bigint, total decimal(12,2), …`: name, type (as `_event_type` has it), where, the text's path in an
    envelope (`fields` alone has one). Stops with one sentence where the text says no columns. -#}
{% macro _declared_columns(who, argument, text, paths=false) %}
  {%- set columns, names = [], [] -%}
  {%- for part in alluvium._split_outside(text if text is string else '') -%}
    {%- set found = modules.re.fullmatch('(?s)(`(?:[^`]|``)+`|[\\w.]+)\\s+(\\S.*)', part) -%}
    {%- set type = alluvium._event_type(found.group(2)) if found else none -%}
    {%- set name = alluvium._bare(found.group(1)) if found else none -%}
    {%- set path = modules.re.fullmatch('(?:(source|transaction)[.])?(\\w+)', name or '') if paths else none -%}
    {%- if type is none or (paths and not path) or (not paths and '.' in name and found.group(1)[0] != '`') -%}
      {%- do exceptions.raise_compiler_error(who ~ ': ' ~ argument ~ ' has ' ~ part ~ '; accepted: '
          ~ ('a field of the envelope and its type, such as source.lsn bigint' if paths else 'a name and its type, such as id bigint')
          ~ "; types are string, boolean, the whole and real numbers, decimal(p,s), date, timestamp, timestamp_ntz, binary, "
          ~ 'and array<…>, map<string,…>, struct<name:…> of them') -%}
    {%- endif -%}
    {%- do columns.append({'name': path.group(2) if paths else name, 'type': type, 'parent': path.group(1) if paths else none}) -%}
    {%- do names.append(columns[-1].name | lower) -%}
  {%- endfor -%}
  {%- if not columns -%}
    {%- do exceptions.raise_compiler_error(who ~ ': ' ~ argument ~ ' names no column; accepted: a text such as id bigint, note string') -%}
  {%- endif -%}
  {%- for name in names if names.count(name) > 1 -%}
    {%- do exceptions.raise_compiler_error(who ~ ': ' ~ argument ~ ' has ' ~ name ~ ' twice; accepted: each column once') -%}
  {%- endfor -%}
  {{ return(columns) }}
{% endmacro %}


{#- The parts of a text between commas that no bracket and no backtick holds. -#}
{% macro _split_outside(text) %}
  {%- set ns = namespace(depth=0, quoted=false, begin=0) -%}
  {%- set parts = [] -%}
  {%- for letter in text ~ ',' -%}
    {%- if letter == '`' -%}{%- set ns.quoted = not ns.quoted -%}
    {%- elif not ns.quoted -%}
      {%- set ns.depth = ns.depth + (1 if letter in '<(' else -1 if letter in '>)' else 0) -%}
      {%- if letter == ',' and not ns.depth -%}
        {%- do parts.append(text[ns.begin:loop.index0].strip()) -%}
        {%- set ns.begin = loop.index -%}
      {%- endif -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if text[ns.begin:].strip() -%}{%- do parts.append(text[ns.begin:].strip()) -%}{%- endif -%}
  {{ return(parts if parts != [''] else []) }}
{% endmacro %}


{#- A type that a column of events may have: kind, what it holds (`of`, `fields`), and for decimals precision and scale; none for other
    texts. `text` is the type with which JSON is read: each value in it is a text. -#}
{% macro _event_type(text) %}
  {%- set name = text.strip() | lower -%}
  {%- set name = {'integer': 'int', 'long': 'bigint', 'short': 'smallint', 'byte': 'tinyint', 'real': 'float', 'numeric': 'decimal', 'dec': 'decimal',
                  'timestamp_ltz': 'timestamp'}.get(name, name) -%}
  {%- if name in ('string', 'boolean', 'tinyint', 'smallint', 'int', 'bigint', 'float', 'double', 'date', 'timestamp', 'timestamp_ntz', 'binary') -%}
    {{ return({'kind': name, 'text': 'string', 'nested': false}) }}
  {%- endif -%}
  {%- set decimal = modules.re.fullmatch('(?:decimal|numeric|dec)(?:\\s*[(]\\s*(\\d+)\\s*(?:,\\s*(\\d+)\\s*)?[)])?', name) -%}
  {%- if decimal -%}
    {%- set p, s = (decimal.group(1) or 10) | int, (decimal.group(2) or 0) | int -%}
    {{ return({'kind': 'decimal', 'text': 'string', 'nested': false, 'precision': p, 'scale': s} if s <= p and 0 < p <= 38 else none) }}
  {%- endif -%}
  {%- set inner = modules.re.fullmatch('(?is)(array|map|struct)\\s*<(.*)>', text.strip()) -%}
  {%- if not inner -%}{{ return(none) }}{%- endif -%}
  {%- set kind, parts = inner.group(1) | lower, alluvium._split_outside(inner.group(2)) -%}
  {%- if kind == 'array' and parts | length == 1 or kind == 'map' and parts | length == 2 and parts[0] | lower == 'string' -%}
    {%- set of = alluvium._event_type(parts[-1]) -%}
    {{ return({'kind': kind, 'of': of, 'nested': true, 'text': kind ~ '<' ~ ('string,' if kind == 'map' else '') ~ of.text ~ '>'} if of else none) }}
  {%- elif kind == 'struct' and parts -%}
    {%- set fields, texts = {}, [] -%}
    {%- for part in parts -%}
      {%- set field = modules.re.fullmatch('(?s)(`(?:[^`]|``)+`|\\w+)\\s*:?\\s*(\\S.*)', part) -%}
      {%- set type = alluvium._event_type(field.group(2)) if field else none -%}
      {%- if type is none -%}{{ return(none) }}{%- endif -%}
      {%- do fields.update({alluvium._bare(field.group(1)): type}) -%}
      {%- do texts.append(alluvium._quote(field.group(1)) ~ ':' ~ type.text) -%}
    {%- endfor -%}
    {{ return({'kind': 'struct', 'fields': fields, 'nested': true, 'text': 'struct<' ~ texts | join(',') ~ '>'}) }}
  {%- endif -%}
  {{ return(none) }}
{% endmacro %}
