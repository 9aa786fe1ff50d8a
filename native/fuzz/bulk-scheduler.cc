// Fuzzes BulkScheduler with small reads and slices at any time, against a plain list of the reads.
#include "../src/bulk-scheduler.h"

#include <algorithm>
#include <vector>

#include "input.h"

using sluice::BulkScheduler;
using sluice::fake::must;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  int64_t now_us = 1'000'000;
  int64_t slice_ended_us = 0;
  BulkScheduler scheduler;
  std::vector<int64_t> small_reads;
  auto since = [&](int64_t us) {
    return std::count_if(small_reads.begin(), small_reads.end(), [&](int64_t at) { return at > now_us - us; });
  };
  for (; size >= 2; data += 2, size -= 2) {
    now_us += int64_t{data[1]} << (data[0] >> 4);
    if (data[0] % 4 == 0) {
      scheduler.record_small_read(now_us);
      small_reads.push_back(now_us);
    } else if (data[0] % 4 == 1 && scheduler.pause_us(now_us) == 0) {
      now_us += scheduler.slice_us(now_us);
      scheduler.slice_ended(slice_ended_us = now_us);
    }
    const int64_t us = scheduler.slice_us(now_us);
    must(us >= 80 && us <= 5'000, "a slice is 80 us to 5 ms");
    must(scheduler.slice_bytes(now_us) == static_cast<size_t>(us) * 3072, "slice_bytes matches slice_us");
    // One of the two windows that cover the last 10 ms has at least half of its reads.
    must(us <= std::max<int64_t>(80, 5'000 / (1 + (since(10'000) + 1) / 2)), "small reads shorten a slice");
    if (since(30'000) == 0) must(us == 5'000, "a slice is long without small reads");
    const int64_t pause_us = scheduler.pause_us(now_us);
    must(pause_us >= 0 && now_us + pause_us <= std::max(now_us, slice_ended_us + 200), "a pause is 200 us at most");
    if (since(200) == 0) must(pause_us == 0, "there is no pause without small reads");
    else must(now_us + pause_us >= slice_ended_us + 200, "a pause is 200 us");
  }
  return 0;
}
