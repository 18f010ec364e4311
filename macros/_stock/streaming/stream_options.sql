{#- The parser's options that have an effect on lines of a format, as src/alluvium/ingest/options.py has
    them; a test compares the two. Without `header` and `multiLine`: no SQL of a stock target reads them. -#}
{% macro _stream_options(format) %}
  {%- set records = ['mode', 'columnNameOfCorruptRecord'] -%}
  {%- set dates = ['dateFormat', 'timestampFormat', 'timestampNTZFormat', 'timeFormat', 'enableDateTimeParsingFallback', 'timeZone', 'locale'] -%}
  {%- set own = {
      'json': ['allowBackslashEscapingAnyCharacter', 'allowComments', 'allowNonNumericNumbers', 'allowNumericLeadingZeros',
               'allowSingleQuotes', 'allowUnquotedControlChars', 'allowUnquotedFieldNames', 'maxNestingDepth', 'maxNumLen', 'maxStringLen'],
      'csv': ['sep', 'delimiter', 'quote', 'escape', 'charToEscapeQuoteEscaping', 'comment', 'ignoreLeadingWhiteSpace',
              'ignoreTrailingWhiteSpace', 'nullValue', 'emptyValue', 'nanValue', 'positiveInf', 'negativeInf', 'maxColumns',
              'maxCharsPerColumn', 'inputBufferSize', 'unescapedQuoteHandling'],
  } -%}
  {{ return(own[format] + records + dates if format in own else []) }}
{% endmacro %}


{#- What is wrong with one option of a source on this target; none for nothing. -#}
{% macro _stream_option_mistake(given, key, value) %}
  {%- set name = key | lower -%}
  {%- set parsed = alluvium._stream_options(given.get('format')) if given.get('schema') else [] -%}
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
