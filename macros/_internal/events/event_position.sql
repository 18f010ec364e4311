{#- SQL of an event's position: a text of fixed width that sorts as the source's log. NULL where the event has none. i: the event's envelope. -#}
{% macro _event_position(spec, i) %}
  {%- set s = i ~ '.source' -%}
  {%- if spec.connector == 'postgresql' -%}
    {#- The last commit and the event's own place. A row of a snapshot is older than what was committed since. -#}
    {%- set sequence, part = s ~ '.sequence', '"?(?:null|([0-9]{1,20}))"?' -%}
    {%- set pair = "'^(?=[^0-9]*[0-9])\\\\s*\\\\[\\\\s*" ~ part ~ '\\\\s*,\\\\s*' ~ part ~ "\\\\s*\\\\]\\\\s*$'" -%}
    {#- What stands around the digits is cut off: to take them out by the pattern is dear. -#}
    {%- set place = "lpad(trim(both '[]\" nul\\t\\n\\r\\u000b\\u000c' from substring_index(" ~ sequence ~ ", ',', %s)), 20, '0')" -%}
    {{ return('case when ' ~ sequence ~ ' rlike ' ~ pair ~ ' then concat(' ~ place.replace('%s', '1') ~ ", '/', if(" ~ i ~ ".op = 'r' or " ~ s
        ~ ".snapshot <> 'false', repeat('0', 20), " ~ place.replace('%s', '-1') ~ ')) end') }}
  {%- elif spec.connector in ('mysql', 'mariadb') -%}
    {%- set file = 'regexp_extract(' ~ s ~ ".file, '([0-9]+)$', 1)" -%}
    {{ return(alluvium._joined_digits([("nullif(" ~ file ~ ", '')", 20), (s ~ '.pos', 20), (s ~ '.`row`', 10)], 2)) }}
  {%- elif spec.connector == 'sqlserver' -%}
    {%- set zero = "'00000000:00000000:0000'" -%}
    {%- set lsn = "lower(coalesce(" ~ s ~ '.commit_lsn, ' ~ zero ~ ')), ' ~ "'/', lower(coalesce(" ~ s ~ '.change_lsn, ' ~ zero ~ '))' -%}
    {{ return('case when coalesce(' ~ s ~ '.commit_lsn, ' ~ s ~ '.change_lsn) is not null and concat(' ~ lsn
        ~ ") rlike '^([0-9a-f]{8}:[0-9a-f]{8}:[0-9a-f]{4}/?){2}$' then concat(" ~ lsn ~ ", '/', " ~ alluvium._joined_digits([(s ~ '.event_serial_no', 20)], 0) ~ ') end') }}
  {%- elif spec.connector == 'oracle' -%}
    {{ return(alluvium._joined_digits([(s ~ '.commit_scn', 38), (s ~ '.scn', 38), (s ~ '.ssn', 20)], 2)) }}
  {%- elif spec.position == 'offset' -%}
    {#- A topic that was made again is named with its number, as orders#2-0. -#}
    {{ return("concat(lpad(coalesce(nullif(regexp_extract(_source_partition, '#([0-9]+)-[0-9]+$', 1), ''), '1'), 10, '0'), '/', lpad(cast(_source_offset as string), 20, '0'))") }}
  {%- endif -%}
  {%- set given = 'cast((' ~ alluvium._in_envelope(spec, i) ~ ') as string)' -%}
  {#- Other texts sort as texts; a number with a fraction, or in the form of a double, would not sort as a number. -#}
  {{ return('case when ' ~ given ~ " rlike '^-?[0-9]{1,38}$' then " ~ alluvium._sorted_whole(given, 38, 38) ~ ' when try_cast(' ~ given ~ ' as double) is null then '
      ~ given ~ ' end') }}
{% endmacro %}


{#- The text of a whole number as one that sorts as the number: of `width` digits, or behind a p of `most` digits. Of a negative number, behind a
    sign, the digits that lack to 9. Digits are behind `-` and before `p`. -#}
{% macro _sorted_whole(text, width, most) %}
  {%- set longer = ' when length(' ~ text ~ ') > ' ~ width ~ " then concat('p', lpad(" ~ text ~ ', ' ~ most ~ ", '0'))" if most > width else '' -%}
  {{ return('case when left(' ~ text ~ ", 1) = '-' then concat('-', translate(lpad(substring(" ~ text ~ ', 2), ' ~ most ~ ", '0'), '0123456789', '9876543210'))"
      ~ longer ~ ' else lpad(' ~ text ~ ', ' ~ width ~ ", '0') end") }}
{% endmacro %}


{#- Numbers side by side, each filled up with zeros to its width; a missing one is zeros. NULL where a part is no number, or where the first
    `needed` are all missing. -#}
{% macro _joined_digits(parts, needed) %}
  {%- set right, texts, any = [], [], [] -%}
  {%- for sql, width in parts -%}
    {%- do right.append('coalesce(' ~ sql ~ ", '0') rlike '^[0-9]{1," ~ width ~ "}$'") -%}
    {%- do texts.append('lpad(coalesce(' ~ sql ~ ", '0'), " ~ width ~ ", '0')") -%}
    {%- if loop.index0 < needed -%}{%- do any.append(sql) -%}{%- endif -%}
  {%- endfor -%}
  {%- if any -%}{%- do right.append('coalesce(' ~ any | join(', ') ~ ') is not null') -%}{%- endif -%}
  {{ return('case when ' ~ right | join(' and ') ~ ' then concat(' ~ texts | join(", '/', ") ~ ') end') }}
{% endmacro %}


{#- The user's SQL for a position, over the envelope whose fields are those of `i`; a flat event has the fields that begin with __. -#}
{% macro _in_envelope(spec, i) %}
  {%- if spec.form == 'flat' -%}{{ return(modules.re.sub('(?<![\\w.`\'])(__\\w+)', i ~ '.\\1', spec.position)) }}{%- endif -%}
  {%- set sql = modules.re.sub('(?<![\\w.`\'])(source[.]|transaction[.]|op\\b)', i ~ '.\\1', spec.position) -%}
  {{ return(modules.re.sub(alluvium._clocks(), i ~ '.event.\\1', sql)) }}
{% endmacro %}


{#- The fields of a flat event that its position reads. -#}
{% macro _flat_fields(spec) %}
  {{ return(modules.re.findall('(?<![\\w.`\'])__\\w+', spec.position or '') | unique | list) }}
{% endmacro %}


{#- The pattern of the envelope's own clocks in a position. -#}
{% macro _clocks() %}
  {{ return('(?<![\\w.`\'])(ts_ms|ts_us|ts_ns)\\b') }}
{% endmacro %}


{#- The fields of the envelope's `source` or `transaction` that a query reads; for none those of the envelope itself, but for `op`. -#}
{% macro _envelope_fields(spec, parent) %}
  {%- set names = [] -%}
  {%- if parent is none -%}
    {%- set names = modules.re.findall(alluvium._clocks(), spec.position or '') + (['updateDescription'] if spec.form == 'mongodb' else []) -%}
  {%- endif -%}
  {%- if parent == 'source' -%}
    {%- do names.extend({'postgresql': ['sequence', 'snapshot'], 'mysql': ['file', 'pos', 'row'], 'mariadb': ['file', 'pos', 'row'],
        'sqlserver': ['commit_lsn', 'change_lsn', 'event_serial_no'], 'oracle': ['commit_scn', 'scn', 'ssn']}.get(spec.connector, [])) -%}
    {%- do names.append('ts_ms') -%}
    {%- if spec.table is not none -%}{%- do names.extend(['db', 'schema', 'table', 'collection']) -%}{%- endif -%}
  {%- endif -%}
  {%- for field in spec.fields if field.parent == parent and (parent or field.name != 'op') -%}{%- do names.append(field.name) -%}{%- endfor -%}
  {%- if parent -%}{%- do names.extend(modules.re.findall('\\b' ~ parent ~ '[.](\\w+)', spec.position or '')) -%}{%- endif -%}
  {{ return(names | unique(case_sensitive=true) | list) }}
{% endmacro %}
