import PipelineModel

/// The configuration that `pipeline init` writes.
package enum InitialConfiguration {
  /// Returns a working `pipeline.json`: one watched folder, identification and two thumbnail sizes.
  ///
  /// - Parameters:
  ///   - library: The library's folder, relative to the file or absolute; by default `library`.
  ///   - inbox: The watched folder, likewise; by default `inbox`.
  package static func text(library: String = "library", inbox: String = "inbox") -> String {
    """
    {
      "$schema": "pipeline.schema.json",
      "library": \(JSONValue.string(library).formatted()),
      "sources": [
        { "path": \(JSONValue.string(inbox).formatted()), "mode": "move" }
      ],
      "stages": [
        { "name": "identify", "plugin": "identify", "timeout": "60s" },
        {
          "name": "thumbnails", "plugin": "thumbnail", "needs": ["identify"], "timeout": "60s",
          "options": {
            "sizes": [
              { "name": "grid", "maxPixelSize": 256 },
              { "name": "preview", "maxPixelSize": 1024 }
            ],
            "format": "jpeg",
            "quality": 80
          }
        }
      ]
    }

    """
  }
}
