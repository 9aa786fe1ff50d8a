#include "bulk-scheduler.h"

#include <algorithm>

namespace sluice {

namespace {
constexpr int64_t kWindowUs = 10'000;
constexpr int64_t kMinSliceUs = 80;
constexpr int64_t kMaxSliceUs = 5'000;
constexpr int64_t kPauseUs = 200;
constexpr int64_t kBytesPerUs = 3 << 10;
}  // namespace

void BulkScheduler::record_small_read(int64_t now_us) {
  begin_window(now_us);
  small_reads_++;
  last_small_us_ = now_us;
}

int64_t BulkScheduler::slice_us(int64_t now_us) {
  begin_window(now_us);
  const int64_t gap_us = kWindowUs / (1 + std::max(small_reads_, previous_small_reads_));
  return std::clamp(gap_us / 2, kMinSliceUs, kMaxSliceUs);
}

size_t BulkScheduler::slice_bytes(int64_t now_us) {
  return static_cast<size_t>(slice_us(now_us) * kBytesPerUs);
}

int64_t BulkScheduler::pause_us(int64_t now_us) const {
  return now_us - last_small_us_ < kPauseUs ? std::max<int64_t>(0, slice_ended_us_ + kPauseUs - now_us) : 0;
}

void BulkScheduler::begin_window(int64_t now_us) {
  const int64_t age_us = now_us - window_start_us_;
  if (age_us < kWindowUs) return;
  previous_small_reads_ = age_us < 2 * kWindowUs ? small_reads_ : 0;
  small_reads_ = 0;
  window_start_us_ = now_us;
}

}  // namespace sluice
