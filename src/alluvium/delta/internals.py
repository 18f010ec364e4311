"""Classes of Delta that Python asks for by name, and what it calls of them: `engine.internals`."""

from alluvium.engine.internals import Internal


def _of(name: str, *members: str) -> Internal:
    return Internal(f"org.apache.spark.sql.delta.{name}", members)


ACTION = _of("actions.Action$", "fromJson(String)")
AUTO_COMPACT = _of("hooks.AutoCompact$", "getAutoCompactType(SQLConf, Metadata)")
BATCH_INDEX = _of(
    "files.TahoeBatchFileIndex",
    "new(SparkSession, String, Seq, DeltaLog, Path, SnapshotDescriptor, boolean)",
)
BITMAP_AGGREGATOR = Internal(
    "org.apache.spark.sql.catalyst.expressions.aggregation.BitmapAggregator",
    ("new(Expression, Enumeration$Value)",),
)
BITMAP_ARRAY = _of("deletionvectors.RoaringBitmapArray", "readFrom(byte[])")
BITMAP_FORMAT = _of("deletionvectors.RoaringBitmapArrayFormat$", "Portable()")
BITMAP_GENERATOR = _of(
    "commands.DeletionVectorBitmapGenerator$",
    "buildRowIndexSetsForFilesMatchingCondition(SparkSession, String, boolean, Dataset, Seq,"
    " Expression, Option, Option)",
)
CLONE = _of("DeltaOperations$Clone", "new(String, long)")
CLUSTERED_TABLES = _of(
    "skipping.clustering.ClusteredTableUtils$", "getClusteringColumnsOptional(Snapshot)"
)
COMPUTE_STATS = _of("DeltaOperations$ComputeStats", "new(Seq)")
DATA_FRAMES = _of("DataFrameUtils$", "ofRows(SparkSession, LogicalPlan)")
DELTA_LOG = _of(
    "DeltaLog",
    "forTable(SparkSession, Path)",
    "forTable(SparkSession, TableIdentifier)",
    "invalidateCache(SparkSession, Path)",
)
DOMAIN_METADATA = _of(
    "DomainMetadataUtils$",
    "handleDomainMetadataForCloneTable(Snapshot, Snapshot)",
    "handleDomainMetadataForRestoreTable(Snapshot, Snapshot)",
)
FILE_NAMES = _of("util.FileNames", "unsafeDeltaFile(Path, long)")
FILE_OPERATIONS = _of(
    "util.DeltaFileOperations$",
    "absolutePath(String, String)",
    "makePathsAbsolute(String, Dataset)",
)
HISTORY = _of("DeltaHistoryManager$", "getEarliestDeltaFile(DeltaLog)")
IDENTITY_COLUMN = _of("IdentityColumn$", "getIdentityColumns(StructType)")
IMPLICITS = _of("implicits.package$", "addFileEncoder()")
LOG_INDEX = _of("files.TahoeLogFileIndex")
MANUAL_UPDATE = _of("DeltaOperations$ManualUpdate$")
MERGE = _of("DeltaOperations$Merge$", "apply(Option, Seq, Seq, Seq)")
MERGE_PREDICATE = _of("DeltaOperations$MergePredicate$", "apply(DeltaMergeIntoClause)")
OPTIMISTIC_TRANSACTION = _of(
    "OptimisticTransaction$", "clearActive()", "setActive(OptimisticTransaction)"
)
OPTIMIZE = _of("DeltaOperations$Optimize", "new(Seq, Seq, boolean, Option, boolean)")
PREPARE_SCAN = _of("stats.PrepareDeltaScan")
RECORD_COUNTS = _of("NumRecordsStats$", "fromActions(Seq)")
RESTORE = _of("DeltaOperations$Restore", "new(Option, Option)")
ROW_TRACKING = _of("RowTracking$", "isEnabled(Protocol, Metadata)", "isSupported(Protocol)")
SET_TRANSACTION = _of("actions.SetTransaction", "new(String, long, Option)")
STORED_BITMAP = _of("deletionvectors.StoredBitmap$", "create(DeletionVectorDescriptor, Path)")
TYPE_WIDENING = _of("TypeWidening$", "isTypeChangeSupported(AtomicType, AtomicType)")
UTILS = _of("util.Utils$", "getRandomPrefix(int)", "getRandomPrefixLength(Metadata)")
VECTOR_CONTEXT = _of(
    "commands.DeletionVectorWriter$DeletionVectorMapperContext",
    "new(DeletionVectorStore, DeletionVectorStoreUtils$Writer, Path, UUID, String)",
)
VECTOR_DATA = _of("commands.DeletionVectorData", "new(String, Option, byte[], long)")
VECTOR_HELPER = _of(
    "commands.DMLWithDeletionVectorsHelper$",
    "createTargetDfForScanningForMatches(SparkSession, LogicalPlan, TahoeFileIndex)",
    "generateCandidateFileMap(Path, Seq)",
    "getTouchedFile(Path, String, Map)",
)
VECTOR_STORE = _of("storage.dv.DeletionVectorStore$", "createInstance(Configuration)")
VECTOR_TOMBSTONES = _of("DeltaOperations$AddDeletionVectorsTombstones$")
VECTOR_WRITER = _of(
    "commands.DeletionVectorWriter$",
    "createWriter(DeletionVectorStore, PathWithFileSystem, String)",
    "storeBitmapAndGenerateResult(DeletionVectorWriter$DeletionVectorMapperContext,"
    " DeletionVectorData)",
)
VECTORS_FEATURE = _of("DeletionVectorsTableFeature$")
