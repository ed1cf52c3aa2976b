import Files
import PipelineModel
import PipelinePlugin

/// Checks whether the bundled plugins decode complete pictures and refuse truncated ones.
struct LoadersCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    do throws(PluginFailure) {
      let identify = try PluginTrial("identify", options: [:], on: site)
      defer { identify.end() }
      // A picture that fits is not resampled, so its pixels can be compared.
      let thumbnail = try PluginTrial(
        "thumbnail", options: ["sizes": [["name": "all", "maxPixelSize": 64]]], on: site)
      defer { thumbnail.end() }
      return findings(LoaderTrial(identify: identify, thumbnail: thumbnail))
    } catch {
      return [
        Finding(
          "decode", .unknown, "No sample picture could be decoded. \(error.reason)",
          advice: "The plugins `identify` and `thumbnail` come with the program: reinstall it.")
      ]
    }
  }

  private func findings(_ trial: LoaderTrial) -> [Finding] {
    do throws(FileError) {
      var findings: [Finding] = []
      for sample in LoaderSample.all { findings.append(try trial.decoding(of: sample)) }
      findings.append(try trial.orientation())
      findings.append(try trial.refusal(of: LoaderSample.cutJPEG, "JPEG"))
      findings.append(try trial.refusal(of: LoaderSample.cutPNG, "PNG"))
      return findings
    } catch {
      return [Finding("decode", .unknown, error.message)]
    }
  }
}
