#include "token-bucket.h"

#include <algorithm>
#include <cmath>

namespace sluice {

namespace {
constexpr double kMinGrantS = 0.01;
constexpr double kUsPerSec = 1e6;
}  // namespace

/** Returns at least one token, because with less no traffic would pass. */
double TokenBucket::burst() const { return std::max(1.0, rate_->burst); }

void TokenBucket::refill(int64_t now_us) {
  // Threads cache the time, so `now` may be earlier than another thread's.
  const int64_t passed_us = std::max<int64_t>(now_us - refilled_at_us_, 0);
  if (rate_)
    tokens_ = std::min(burst(), tokens_ + static_cast<double>(passed_us) * rate_->per_sec / kUsPerSec);
  refilled_at_us_ = std::max(refilled_at_us_, now_us);
}

void TokenBucket::set_rate(const std::optional<Rate>& rate, int64_t now_us) {
  const std::lock_guard lock(mutex_);
  refill(now_us);
  const bool was_limited = rate_.has_value();
  rate_ = rate;
  if (rate_) tokens_ = was_limited ? std::min(tokens_, burst()) : burst();
  is_limited_.store(rate_.has_value(), std::memory_order_relaxed);
}

TokenBucket::Available TokenBucket::available(int64_t now_us) {
  const std::lock_guard lock(mutex_);
  refill(now_us);
  if (!rate_) return {kMaxTokens, kMaxTokens};
  // At most half a burst, so that the bucket does not overflow before a late wake-up.
  const double min_grant = std::min(std::floor(burst() / 2), std::ceil(rate_->per_sec * kMinGrantS));
  constexpr auto max = static_cast<double>(kMaxTokens);  // larger values do not fit into int64_t
  return {static_cast<int64_t>(std::clamp(std::floor(tokens_), -1.0, max)),
          static_cast<int64_t>(std::clamp(min_grant, 1.0, max))};
}

int64_t TokenBucket::take(int64_t count, int64_t now_us) {
  const std::lock_guard lock(mutex_);
  refill(now_us);
  if (!rate_) return 0;
  tokens_ -= static_cast<double>(count);
  if (tokens_ >= 0) return 0;
  if (rate_->per_sec <= 0) return kNever;
  const double wait_us = std::ceil(-tokens_ * kUsPerSec / rate_->per_sec);
  return wait_us < 9e15 ? static_cast<int64_t>(wait_us) : kNever;
}

bool TokenBucket::try_take(int64_t count, int64_t now_us) {
  const std::lock_guard lock(mutex_);
  refill(now_us);
  if (!rate_) return true;
  if (tokens_ < static_cast<double>(count)) return false;
  tokens_ -= static_cast<double>(count);
  return true;
}

void TokenBucket::give_back(int64_t count) {
  const std::lock_guard lock(mutex_);
  if (rate_) tokens_ = std::min(burst(), tokens_ + static_cast<double>(count));
}

void TokenBucket::begin_wait(int64_t now_us) {
  const std::lock_guard lock(mutex_);
  waiting_count_++;
  wait_started_sum_us_ += now_us;
}

void TokenBucket::end_wait(int64_t since_us, int64_t now_us) {
  const std::lock_guard lock(mutex_);
  waiting_count_--;
  wait_started_sum_us_ -= since_us;
  waited_us_ += now_us - since_us;
}

int64_t TokenBucket::waited_us(int64_t now_us) {
  const std::lock_guard lock(mutex_);
  return waited_us_ + waiting_count_ * now_us - wait_started_sum_us_;
}

}  // namespace sluice
