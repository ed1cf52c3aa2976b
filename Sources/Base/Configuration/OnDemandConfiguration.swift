package import PipelineModel

/// How pictures are made that somebody asks for, besides those of stages.
package struct OnDemandConfiguration: Sendable, Hashable {
  /// The largest longer side that may be asked for, in pixels; default 4096.
  package var maxPixelSize = 4096
  /// The space for pictures that are kept; default 2 GiB.
  package var cache = ByteSize(bytes: 2 << 30)
  /// How many pictures are made at once, in all processes; default 2.
  package var concurrency = 2
  /// How many may wait for their turn in `serve`; default 64.
  package var queue = 64
}
