import Files
import PipelineModel
import PipelinePlugin

/// Whether the bundled plugins decode what they ought to, and refuse what they must.
struct LoadersCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    do throws(PluginFailure) {
      let identify = try PluginTrial("identify", options: [:], on: site)
      defer { identify.end() }
      // What is not enlarged is not resampled either, so that pixels can be compared.
      let thumbnail = try PluginTrial(
        "thumbnail", options: ["sizes": [["name": "all", "maxPixelSize": 64]]], on: site)
      defer { thumbnail.end() }
      return findings(LoaderTrial(identify: identify, thumbnail: thumbnail))
    } catch {
      return [
        Finding(
          "decode", .unknown, "No picture could be decoded for trial. \(error.reason)",
          advice: "The plugins `identify` and `thumbnail` come with the program: install it whole.")
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
