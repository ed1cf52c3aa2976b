import PipelineModel

extension Console {
  /// Reports a stage that can't run; only its jobs and those that need it wait.
  func held(stage: String, plugin: String, reason: String) {
    if isJSON {
      return event(
        "stage",
        [
          "stage": .string(stage), "plugin": .string(plugin), "state": "held",
          "class": "environment", "reason": .string(reason),
        ])
    }
    error("The stage “\(stage)” (plugin “\(plugin)”) can't run, so its jobs wait: \(reason)")
  }
}
