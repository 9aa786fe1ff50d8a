// The results of exchanges over TCP or UDP.
#pragma once
#include <functional>

#include "streams.h"

struct ExchangeStats {
  uint64_t done = 0;
  uint64_t failed = 0;
  LatencyHistogram latency{}; // round trip, us
};

/** Measures `run_until`, which updates `stats`, for `options.secs` after a warm-up. */
Result measure_exchanges(const Options& options, const BackgroundStreams& beside, ExchangeStats& stats,
                         const std::function<void(double until)>& run_until);
