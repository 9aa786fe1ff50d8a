// What exchanges have come to, over TCP or UDP.
#pragma once
#include <functional>

#include "streams.h"

struct Tally {
  uint64_t done = 0;
  uint64_t failed = 0;
  Spread spread{}; // us there and back
};

/** Of `go_on`, which keeps `tally`: for `options.secs`, once it has warmed up. */
Figures tallied(const Options& options, const StreamsBeside& beside, Tally& tally,
                const std::function<void(double until)>& go_on);
