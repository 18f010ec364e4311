{#- The parser's options with an effect, by format: written by `make reference` from src/alluvium/ingest/options.json. -#}
{% macro _stream_options() %}
{%- set schema -%}
{
"text": [],
"json": ["allowBackslashEscapingAnyCharacter", "allowComments", "allowNonNumericNumbers", "allowNumericLeadingZeros", "allowSingleQuotes", "allowUnquotedControlChars", "allowUnquotedFieldNames", "maxNestingDepth", "maxNumLen", "maxStringLen", "mode", "columnNameOfCorruptRecord", "dateFormat", "timestampFormat", "timestampNTZFormat", "timeFormat", "enableDateTimeParsingFallback", "timeZone", "locale"],
"csv": ["sep", "delimiter", "quote", "escape", "charToEscapeQuoteEscaping", "comment", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "nullValue", "emptyValue", "nanValue", "positiveInf", "negativeInf", "maxColumns", "maxCharsPerColumn", "inputBufferSize", "unescapedQuoteHandling", "mode", "columnNameOfCorruptRecord", "dateFormat", "timestampFormat", "timestampNTZFormat", "timeFormat", "enableDateTimeParsingFallback", "timeZone", "locale"]
}
{%- endset -%}
{{ return(fromjson(schema)) }}
{% endmacro %}
