# Functions that turn the rounds printed by `alternate` into measures.

def pairs(one; other): [.[one] // [], .[other] // []] | transpose | map(select(all(. != null)));

# How many times as fast the first is as the second, for each round that both ran.
def timesAsFast(one; other): pairs(one; other) | map(.[1].seconds / .[0].seconds);

def timesAsLong(one; other): pairs(one; other) | map(.[0].seconds / .[1].seconds);

def timesTheProcessor(one; other):
  pairs(one; other) | map((.[0].user + .[0].system) / (.[1].user + .[1].system));

def processor(one): .[one] // [] | map(.user + .system);

def median: sort | if length % 2 == 1 then .[(length - 1) / 2]
  else (.[length / 2 - 1] + .[length / 2]) / 2 end;

def short: . * 10000 | round / 10000;

def spread: { median: (median | short), least: (min | short), most: (max | short),
  rounds: map(short) };

# Each measure with its text, its bounds and whether they are met. A measure without values, because
# the other program is not installed, is omitted here; that program is listed instead.
def judged($measures):
  with_entries(select(.value | length > 0) | .key as $name
    | ($measures[$name] // error("\($name) is not in measures.json")) as $about
    | (.value | spread) as $spread
    | .value = $about + $spread + { met: (
        def within($bound): if $about.better == "less" then $spread.median <= $bound
          else $spread.median >= $bound end;
        if $about.aim and within($about.aim) then "aim"
        elif $about.atLeast == null then null
        elif within($about.atLeast) then "at least"
        else "no" end) });
