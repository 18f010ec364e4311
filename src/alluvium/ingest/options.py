"""The options of a stream's reader: which there are, which have no effect here, and why.

The names are those that Spark documents for its readers and for ``from_json`` and ``from_csv``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from alluvium.names import nearest

LINE_FORMATS = ("text", "json", "csv")
FILE_FORMATS = (*LINE_FORMATS, "parquet", "orc")
# Options of Spark's file stream; all others of a file format go to its parser or reader.
CLEANS = "cleanSource"
ARCHIVE = "sourceArchiveDir"
LISTING_OPTIONS = ("pathGlobFilter", CLEANS, ARCHIVE)
# The one option that says what the lines of a file are, and not how a line is parsed.
HEADER = "header"
# Whether a record of csv may span lines: then it is one event.
MULTI_LINE = "multiLine"

_DATES = (
    "dateFormat",
    "timestampFormat",
    "timestampNTZFormat",
    "timeFormat",
    "enableDateTimeParsingFallback",
    "timeZone",
    "locale",
)
_RECORDS = ("mode", "columnNameOfCorruptRecord")
_READ: Mapping[str, tuple[str, ...]] = {
    "text": (),
    "json": (
        *_RECORDS,
        *_DATES,
        "allowBackslashEscapingAnyCharacter",
        "allowComments",
        "allowNonNumericNumbers",
        "allowNumericLeadingZeros",
        "allowSingleQuotes",
        "allowUnquotedControlChars",
        "allowUnquotedFieldNames",
        "maxNestingDepth",
        "maxNumLen",
        "maxStringLen",
    ),
    "csv": (
        HEADER,
        MULTI_LINE,
        "sep",
        "delimiter",
        "quote",
        "escape",
        "charToEscapeQuoteEscaping",
        "comment",
        "ignoreLeadingWhiteSpace",
        "ignoreTrailingWhiteSpace",
        "nullValue",
        "emptyValue",
        "nanValue",
        "positiveInf",
        "negativeInf",
        *_RECORDS,
        *_DATES,
        "maxColumns",
        "maxCharsPerColumn",
        "inputBufferSize",
        "unescapedQuoteHandling",
    ),
    "parquet": ("datetimeRebaseMode", "int96RebaseMode"),
    "orc": (),
    "kafka": (
        "startingOffsets",
        "startingOffsetsByTimestamp",
        "startingOffsetsByTimestampStrategy",
        "startingTimestamp",
        "failOnDataLoss",
        "maxOffsetsPerTrigger",
        "maxRecordsPerPartition",
        "minPartitions",
        "groupIdPrefix",
        "kafkaConsumer.pollTimeoutMs",
        "fetchOffset.numRetries",
        "fetchOffset.retryIntervalMs",
    ),
}
# Options of Kafka's own client.
KAFKA_CLIENT = "kafka."
ISOLATION = "kafka.isolation.level"

_BOOLEANS = {
    "header",
    "multiline",
    "ignoreleadingwhitespace",
    "ignoretrailingwhitespace",
    "enabledatetimeparsingfallback",
    "allowbackslashescapinganycharacter",
    "allowcomments",
    "allownonnumericnumbers",
    "allownumericleadingzeros",
    "allowsinglequotes",
    "allowunquotedcontrolchars",
    "allowunquotedfieldnames",
}
_CHARACTERS = {"quote", "escape", "comment", "chartoescapequoteescaping"}
_NUMBERS = {
    "maxcolumns",
    "maxcharspercolumn",
    "inputbuffersize",
    "maxnestingdepth",
    "maxnumlen",
    "maxstringlen",
    "maxoffsetspertrigger",
    "maxrecordsperpartition",
    "minpartitions",
}
_VALUES = {
    "mode": ("PERMISSIVE", "FAILFAST"),
    "cleansource": ("off", "delete", "archive"),
    "unescapedquotehandling": (
        "STOP_AT_CLOSING_QUOTE",
        "BACK_TO_DELIMITER",
        "STOP_AT_DELIMITER",
        "SKIP_VALUE",
        "RAISE_ERROR",
    ),
    "datetimerebasemode": ("EXCEPTION", "CORRECTED", "LEGACY"),
    "int96rebasemode": ("EXCEPTION", "CORRECTED", "LEGACY"),
    ISOLATION: ("read_committed", "read_uncommitted"),
}

_LINES = "one line is one event"
_WRITES = "it is an option of writing"
_INFERS = "nothing is inferred: the key `schema` gives the types"
_ENCODING = "text is read as UTF-8; for another encoding decode the bytes in `_headers`"
_NONE_SKIPPED = "a file that cannot be read fails the run: none is skipped"
_ALL_FILES = "every file is read once; choose files with `path` or pathGlobFilter"
_ALL_THERE = "each run takes all that is there"
_DESERIALIZED = "key and value are read as bytes"
_STARTS = "use startingOffsets"
_OWN_COPY = "the checkpoint keeps the offsets"
_COLUMNS = "the columns of all files are read"
_ACCEPTS = (
    "the var `alluvium_accept_loss: <model>` lets one run go on behind lost records, and counts"
)

_OF_LINES = {
    "linesep": _LINES,
    "encoding": _ENCODING,
    "charset": _ENCODING,
    "compression": _WRITES,
}
_WHY_NOT: Mapping[str, Mapping[str, str]] = {
    "": {
        "path": "use the key `path`",
        "schema": "use the key `schema`",
        "format": "use the key `format`",
        "topic": "use the key `topic`",
        "subscribe": "use the key `topic`",
        "subscribepattern": "use the key `topic`",
        "assign": "use the key `topic`",
        "includeheaders": "headers are always read",
        "maxfilespertrigger": "use the key `max_files_per_trigger`",
        "maxbytespertrigger": "use the key `max_bytes_per_trigger`",
        "maxfileage": "files are never forgotten",
        "latestfirst": "files are taken oldest first",
        "filenameonly": "a file is known by its path below the source's folder",
        "maxcachedfiles": _ALL_THERE,
        "discardcachedinputratio": _ALL_THERE,
        "recursivefilelookup": "folders below the path are always read",
        "basepath": "folders such as a=b/ give no columns; see `_source_partition`",
        "modifiedbefore": _ALL_FILES,
        "modifiedafter": _ALL_FILES,
        "ignorecorruptfiles": _NONE_SKIPPED,
        "ignoremissingfiles": _NONE_SKIPPED,
        "multiline": _LINES,
        "wholetext": _LINES,
        "checkpointlocation": "the checkpoint lies beside the table",
    },
    "text": _OF_LINES,
    "json": {
        **_OF_LINES,
        "samplingratio": _INFERS,
        "primitivesasstring": _INFERS,
        "prefersdecimal": _INFERS,
        "dropfieldifallnull": _INFERS,
        "infertimestamp": _INFERS,
        "singlevariantcolumn": "write `parse_json(_value)` in the query",
        "useunsaferow": "Spark decides",
        "ignorenullfields": _WRITES,
        "pretty": _WRITES,
        "sortkeys": _WRITES,
        "writenonasciicharacterascodepoint": _WRITES,
    },
    "csv": {
        **_OF_LINES,
        "samplingratio": _INFERS,
        "inferschema": _INFERS,
        "preferdate": _INFERS,
        "enforceschema": "with `header: true` the names in the header decide, else the order",
        "columnpruning": "Spark decides",
        "singlevariantcolumn": "write the columns in the key `schema`",
        "codec": _WRITES,
        "escapequotes": _WRITES,
        "extension": _WRITES,
        "quoteall": _WRITES,
    },
    "parquet": {
        "mergeschema": _COLUMNS,
        "compression": _WRITES,
        "parquet.compression": _WRITES,
    },
    "orc": {"mergeschema": _COLUMNS, "compression": _WRITES, "orc.compress": _WRITES},
    "kafka": {
        "endingoffsets": _ALL_THERE,
        "endingtimestamp": _ALL_THERE,
        "endingoffsetsbytimestamp": _ALL_THERE,
        "minoffsetspertrigger": "use the key `min_rows`",
        "maxtriggerdelay": "use the key `max_wait`",
        "kafka.auto.offset.reset": _STARTS,
        "kafka.enable.auto.commit": _OWN_COPY,
        "kafka.key.deserializer": _DESERIALIZED,
        "kafka.value.deserializer": _DESERIALIZED,
        "kafka.key.serializer": _WRITES,
        "kafka.value.serializer": _WRITES,
        "kafka.interceptor.classes": "Spark reads the bytes, whatever an interceptor would do",
    },
}


def accepted(fmt: str, has_schema: bool) -> tuple[str, ...]:
    """Names of the options that have an effect on a format.

    Args:
        fmt: The format.
        has_schema: Whether the source says a schema: without one no line is parsed.
    """
    if fmt == "kafka":
        return (*_READ[fmt], f"{KAFKA_CLIENT}*")
    read = _READ[fmt]
    if fmt in LINE_FORMATS and not has_schema:
        read = tuple(name for name in read if name == HEADER)
    return (*LISTING_OPTIONS, *read)


def spelt(fmt: str, key: str) -> str:
    """The option's name as Spark documents it: readers ignore case, and so do we."""
    known = (*LISTING_OPTIONS, *_READ.get(fmt, ()))
    return next((name for name in known if name.lower() == key.lower()), key)


def unfit(fmt: str, key: str, has_schema: bool) -> str | None:
    """Why a format does not take an option; None where it does, or for an unknown format."""
    lower = key.lower()
    names = accepted(fmt, has_schema) if fmt in _READ else ()
    if lower in (name.lower() for name in names):
        return None
    if names and lower in (name.lower() for name in accepted(fmt, True)):
        return f"has no effect without the key `schema`; accepted without it: {', '.join(names)}"
    for reasons in (_WHY_NOT[""], _WHY_NOT.get(fmt, {})):
        if lower in reasons:
            return reasons[lower]
    if fmt not in _READ:
        return None
    if fmt == "kafka" and lower.startswith(KAFKA_CLIENT) and lower != KAFKA_CLIENT:
        return None
    of = [other for other in _READ if lower in (name.lower() for name in accepted(other, True))]
    if of:
        return f"has no effect on {fmt}, only on {', '.join(of)}; accepted: {', '.join(names)}"
    return f"unknown option of {fmt}; {_did_you_mean(lower, names)}"


def _did_you_mean(lower: str, names: tuple[str, ...]) -> str:
    candidates = {name.lower(): name for name in names}
    if f"{KAFKA_CLIENT}*" in names:
        for name in ("bootstrap.servers", "kafka.bootstrap.servers"):
            candidates[name] = "kafka.bootstrap.servers"
    close = nearest(lower, candidates)
    if close:
        return f"did you mean {candidates[close]}?"
    return f"accepted: {', '.join(names)}"


def bad_value(key: str, value: str) -> str | None:
    """What is wrong with an option's value; None for nothing. Spark takes some such in silence."""
    lower = key.lower()
    check: tuple[Callable[[str], bool], str]
    if lower in _BOOLEANS:
        check = (lambda v: v.lower() in ("true", "false")), "true, false"
    elif lower in _NUMBERS:
        check = (lambda v: v.removeprefix("-").isdecimal()), "a whole number"
    elif lower in _CHARACTERS:
        check = _is_character, "one character, or '' for none"
    elif lower in ("sep", "delimiter"):
        check = bool, "one or more characters"
    elif lower == "failondataloss":
        # Spark would pass over what is gone without a word.
        check = (lambda v: v.lower() == "true"), "true; " + _ACCEPTS
    elif lower in _VALUES:
        allowed = _VALUES[lower]
        check = (lambda v: v.upper() in (one.upper() for one in allowed)), ", ".join(allowed)
    else:
        return None
    return None if check[0](value) else f"{value!r}; accepted: {check[1]}"


def reads_uncommitted(options: Mapping[str, str]) -> bool:
    """Whether a Kafka source asks for the records of transactions that are open or were aborted."""
    given = {key.lower(): value for key, value in options.items()}
    return given.get(ISOLATION, "").lower() == "read_uncommitted"


def _is_character(value: str) -> bool:
    return len(value) <= 1 or (len(value) == 2 and value[0] == "\\")


def together(options: Mapping[str, object]) -> Iterator[str]:
    """Mistakes in which options are given at once."""
    names = {key.lower() for key in options}
    if {"sep", "delimiter"} <= names:
        yield "options.sep, options.delimiter: two names of one option; accepted: one of them"
    if "sourcearchivedir" in names and options.get("cleanSource") != "archive":
        yield "options.sourceArchiveDir: has no effect without cleanSource: archive"
    if options.get("cleanSource") == "archive" and "sourcearchivedir" not in names:
        yield "options.cleanSource: archive needs the option sourceArchiveDir"
