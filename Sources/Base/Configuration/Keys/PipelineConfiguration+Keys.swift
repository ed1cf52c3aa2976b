package import PipelineModel

extension PipelineConfiguration: ConfigurationObject {
  static let standard = PipelineConfiguration(file: BytePath(""), library: BytePath(""))

  static let keys: [ConfigurationKey<PipelineConfiguration>] = [
    .init(
      unread: "$schema", ["type": "string"],
      "The JSON Schema of this file, for editors; not read."),
    .init(
      "library", \.library, .path,
      "The folder that holds manifest, catalog, originals and renditions.", isRequired: true),
    .init(
      "catalog", \.catalog, .catalogLocation,
      "A folder for the catalog on a local file system, if the library is not on one; or a "
        + "postgresql:// URI of a database for it, without a password."),
    .init(
      "originals", \.originals, .bucket,
      "A bucket for originals on a server with the S3 API, as s3://bucket/prefix; after it may stand "
        + "?endpoint=, &region= and &style=path or host. Credentials come from the environment or "
        + "~/.aws/credentials. By default originals are in the library."),
    .init(
      "renditions", \.renditions, .bucket,
      "A bucket, written like that of originals, for renditions that the database does not keep. By default they are "
        + "files in the library."),
    .init(
      "originalsCache", \.originalsCache, .size,
      "The space for local copies of what is in a bucket; the least recently used make room."),
    .init(
      "node", \.node, .object(["default": [:]]),
      "This machine among several that work on one library."),
    .init(
      "sources", \.sources, .list(of: .object(["title": "Source"])),
      "The folders whose files are imported."),
    .init(
      "plugins", \.plugins, .list(of: .path),
      "Plugin folders, searched in this order before the standard ones."),
    .init(
      "memoryBudget", \.memoryBudget, .positiveSize,
      "The memory for all running jobs together. By default half of the machine's memory.",
      hasFixedDefault: false),
    .init(
      "reserve", \.reserve, .size,
      "Space that is always left free. By default 256 MiB or 1 % of the file system, whichever "
        + "is less."),
    .init(
      "rescan", \.rescan, .positiveDuration, "The interval at which watch rescans all sources."),
    .init(
      "groups", \.groups, .list(of: .object(["title": "Group"])),
      "Which files belong together: one rule for each kind. An empty list joins nothing."),
    .init(
      "onDemand", \.onDemand, .object(["default": [:]]),
      "Pictures of any size that somebody asks for, as by get --max-pixel-size."),
    .init(
      "stages", \.stages, .list(of: .object(["title": "Stage"])),
      "The work done on every asset, in any order that respects needs."),
  ]

  /// The configuration as a complete `pipeline.json` with all defaults.
  ///
  /// Paths are absolute; unset keys without a default are absent. Decoding it yields the same
  /// configuration with unset limits filled in, unless a path is not UTF-8, which JSON can't
  /// represent.
  package func effective() -> JSONValue {
    var complete = self
    for (index, stage) in stages.enumerated() {
      complete.stages[index].limits = stage.limits.filled(
        memory: memoryShare, mayExecute: stage.allow.exec)
    }
    return complete.written()
  }
}

extension GroupRule: ConfigurationObject {
  static let standard = GroupRule(kind: .rawAndJPEG)

  static let keys: [ConfigurationKey<GroupRule>] = [
    .init(
      "kind", \.kind, .choice,
      "rawAndJPEG: a raw file and its JPEG or HEIC. livePhoto: a picture and the film made with it. "
        + "sidecar: a file and the XMP file that describes it. burst: pictures that a camera took in one burst.",
      isRequired: true),
    .init(
      "within", \.within, .duration,
      "How far apart the times of such files may be. By default 2s for rawAndJPEG, 3s for livePhoto, "
        + "1d for sidecar. For burst, how far apart the times of two pictures with consecutive numbers may be that "
        + "nothing but times joins; by default 0ms, which joins none by times."),
  ]
}

extension SourceConfiguration: ConfigurationObject {
  static let standard = SourceConfiguration(path: BytePath(""))

  static let keys: [ConfigurationKey<SourceConfiguration>] = [
    .init("path", \.path, .path, "The folder.", isRequired: true),
    .init(
      "mode", \.mode, .choice,
      "move: the file is removed once its bytes are safe. copy: it stays."),
    .init("recursive", \.recursive, .flag, "Whether to scan subfolders."),
    .init(
      "settle", \.settle, .duration, "How long a file must be quiet before it counts as complete."),
    .init(
      "complete", \.complete, .choice,
      "quiet: after a quiet settle window without writers. close: at once after a close."),
    .init("include", \.include, .list(of: .glob), "Patterns of files to import."),
    .init(
      "exclude", \.exclude, .list(of: .glob),
      "Patterns of files and folders to ignore, in addition to the built-in ones."),
    .init(
      "duplicates", \.duplicates, .choice, "What to do with content that is already stored."),
    .init(
      "take", \.take, .choice,
      "auto: by rename if that is safe, otherwise by reflink or copy. copy: always by copy."),
    .init(
      "emptyFolders", \.emptyFolders, .choice, "What to do with folders that pipeline emptied."),
    .init(
      "shared", \.shared, .text(["pattern": .string(NodeConfiguration.namePattern)]),
      "A name for a folder that several machines reach, the same on all of them: one of those that join takes files "
        + "from it, and another one when that is gone."),
    .init(
      "maxMissing", \.maxMissing, .share,
      "The share of known files that may be missing at once; if more are, a run asks. Up to 20 "
        + "files may always be missing."),
  ]
}

extension NodeConfiguration: ConfigurationObject {
  static let standard = NodeConfiguration()

  static let keys: [ConfigurationKey<NodeConfiguration>] = [
    .init(
      "name", \.name, .text(["pattern": .string(namePattern)]),
      "The machine's name, unlike that of any other; by default the host's. The paths of a machine that joins are "
        + "recorded with it."),
    .init(
      "joins", \.joins, .flag,
      "Whether another machine has the library's own folder: run, watch and import then take files for that library, "
        + "whose catalog is in PostgreSQL and whose originals are in a bucket."),
  ]
}

extension OnDemandConfiguration: ConfigurationObject {
  static let standard = OnDemandConfiguration()

  static let keys: [ConfigurationKey<OnDemandConfiguration>] = [
    .init(
      "maxPixelSize", \.maxPixelSize, .count(most: 16384),
      "The largest longer side that may be asked for, in pixels."),
    .init(
      "cache", \.cache, .size,
      "The space for pictures that are kept; the least recently read make room for new ones."),
    .init(
      "concurrency", \.concurrency, .count(most: 64),
      "How many pictures are made at once, in all processes."),
    .init(
      "queue", \.queue, .count(most: 1024),
      "How many pictures may wait for their turn in serve, which refuses others."),
  ]
}
