package import Ingest
package import PipelineModel

/// What the process that answers HTTP asks of the one that started it.
package struct WebQuestion: Codable, Sendable {
  package enum Subject: Codable, Sendable {
    /// To make changes.
    case edits([AssetEdit])
    /// To hand out a picture of an asset.
    case picture(AssetID, PictureRequest)
    /// To have an asset's original in the cache of originals, which the asker may read.
    case original(AssetID)
    /// To have a rendition in that cache.
    case rendition(Int64)
    /// To start another process: this one has lost its database. There is no answer.
    case lostDatabase
    /// To forget what was asked by the same number, if there is still time.
    case withdrawn
  }

  /// Chosen by the asker; the answer repeats it.
  package var number: Int
  package var subject: Subject

  package init(number: Int, subject: Subject) {
    self.number = number
    self.subject = subject
  }
}

/// What came of it: a line, behind which the bytes of a picture follow.
package struct WebAnswer: Codable, Sendable {
  package enum Outcome: Codable, Sendable {
    case edited(EditResult)
    case picture(WebPicture)
    /// The original or rendition is in the cache.
    case fetched
    case refused(WebRefusal)
    /// Said without a question: whether the database refuses to be read, because rights are missing.
    case database(isDenied: Bool)
  }

  package var number: Int
  package var outcome: Outcome
}

/// What is said of a picture before its bytes.
package struct WebPicture: Codable, Sendable {
  package var bytes: Int
  package var mediaType: String

  package init(bytes: Int, mediaType: String) {
    self.bytes = bytes
    self.mediaType = mediaType
  }
}

/// Why nothing was changed, or there is no picture.
package struct WebRefusal: Codable, Sendable {
  package enum Kind: String, Codable, Sendable {
    /// Others are first, or the library is busy: asking again may help.
    case busy
    /// What is asked for can't be.
    case badRequest
    case noAsset
    /// The file is none that pictures are made of, or it is damaged.
    case noPicture
    /// The machine lacks something, or something failed.
    case failed
  }

  package var kind: Kind
  /// A sentence.
  package var reason: String

  package init(kind: Kind, reason: String) {
    self.kind = kind
    self.reason = reason
  }
}
