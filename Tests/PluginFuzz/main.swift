/// Feeds generated messages of plugins to what reads them in the program; run by `make fuzz`, under
/// the address sanitizer.
///
/// usage: plugin-fuzz SEED FIRST COUNT
/// The same three numbers make the same inputs. Exit code 1, or a crash, if anything is wrong.

import Fixtures
import Glibc

let numbers = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
guard numbers.count == 3, CommandLine.arguments.count == 4 else {
  print("usage: plugin-fuzz SEED FIRST COUNT")
  exit(2)
}
/// The longest that one input may take, in seconds on a processor: nothing here waits, and what
/// else the machine does is not counted.
let patience = 1.0

func processorSeconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

let start = processorSeconds()
var trial = MessageTrial()
var slowest = (input: UInt64(0), seconds: 0.0)
var isSound = true
for input in numbers[1]..<(numbers[1] + numbers[2]) {
  // What takes for ever ends the process by SIGALRM.
  alarm(60)
  if input % 100_000 == 0 {
    print("input \(input)")
    fflush(nil)
  }
  var random = SeededRandom(seed: numbers[0], input: input)
  let line = MessageGenerator.next(&random)
  let begin = processorSeconds()
  trial.check(line, &random)
  let seconds = processorSeconds() - begin
  if seconds > slowest.seconds { slowest = (input, seconds) }
  if seconds > patience || trial.fault != nil {
    isSound = false
    print("input \(input) took \(seconds) s: \(trial.fault ?? "no fault")")
    print(String(decoding: line.prefix(400), as: UTF8.self).debugDescription)
    trial.fault = nil
  }
}
let took = processorSeconds() - start
let counts = trial.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
print(
  "plugin-fuzz, seed \(numbers[0]): \(numbers[2]) inputs in \(Int(took)) s: "
    + "\(counts.joined(separator: ", ")); the slowest, \(slowest.input), took "
    + "\(Int(slowest.seconds * 1000)) ms")
exit(isSound ? 0 : 1)
