/// Walks a file by a function to which bytes that can't be read are absent.
///
/// - Parameters:
///   - read: returns up to `count` bytes at `offset`; fewer only at the end of the file.
///   - body: receives that function.
/// - Throws: what `read` threw last, whatever `body` returned: a fact that a failing disk hides must
///   not be recorded as absent.
package func withFetching<Result, Failure: Error>(
  by read: @escaping (_ offset: Int, _ count: Int) throws(Failure) -> [UInt8],
  _ body: (_ fetch: @escaping (_ offset: Int, _ count: Int) -> [UInt8]) -> Result
) throws(Failure) -> Result {
  var failure: Failure?
  let result = body { offset, count in
    do throws(Failure) {
      return try read(offset, count)
    } catch {
      failure = error
      return []
    }
  }
  if let failure { throw failure }
  return result
}
