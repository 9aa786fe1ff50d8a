#include "quantum.h"

#include <algorithm>

namespace sluice {

namespace {
constexpr int64_t kWindowUs = 10'000;
constexpr int64_t kLeastUs = 80;
constexpr int64_t kMostUs = 5'000;
constexpr int64_t kPauseUs = 200;
constexpr int64_t kBytesPerUs = 3 << 10;
}  // namespace

void Quantum::saw_small(int64_t now_us) {
  begin_window(now_us);
  small_reads_++;
  small_us_ = now_us;
}

int64_t Quantum::us(int64_t now_us) {
  begin_window(now_us);
  const int64_t gap_us = kWindowUs / (1 + std::max(small_reads_, small_reads_before_));
  return std::clamp(gap_us / 2, kLeastUs, kMostUs);
}

size_t Quantum::bytes(int64_t now_us) { return static_cast<size_t>(us(now_us) * kBytesPerUs); }

int64_t Quantum::pause_us(int64_t now_us) const {
  return now_us - small_us_ < kPauseUs ? std::max<int64_t>(0, ended_us_ + kPauseUs - now_us) : 0;
}

void Quantum::begin_window(int64_t now_us) {
  const int64_t age_us = now_us - window_us_;
  if (age_us < kWindowUs) return;
  small_reads_before_ = age_us < 2 * kWindowUs ? small_reads_ : 0;
  small_reads_ = 0;
  window_us_ = now_us;
}

}  // namespace sluice
