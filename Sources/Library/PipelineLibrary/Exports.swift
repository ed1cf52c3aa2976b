// `AssetID` and `JSONValue` are part of what this product gives.
@_exported public import PipelineModel
