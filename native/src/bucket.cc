#include "bucket.h"

#include <algorithm>
#include <cmath>

namespace sluice {

namespace {
constexpr double kTurnS = 0.01;
constexpr double kUs = 1e6;
}  // namespace

/** A bucket that holds less than one token would let nothing through, ever. */
double Bucket::burst() const { return std::max(1.0, rate_->burst); }

void Bucket::refill(int64_t now_us) {
  // Threads read the clock once a wake: it may lie a little behind another's.
  const int64_t passed_us = std::max<int64_t>(now_us - at_us_, 0);
  if (rate_) tokens_ = std::min(burst(), tokens_ + static_cast<double>(passed_us) * rate_->per_sec / kUs);
  at_us_ = std::max(at_us_, now_us);
}

void Bucket::change(const std::optional<Rate>& rate, int64_t now_us) {
  const std::lock_guard lock(mutex_);
  refill(now_us);
  const bool was_limited = rate_.has_value();
  rate_ = rate;
  if (rate_) tokens_ = was_limited ? std::min(tokens_, burst()) : burst();
  is_limited_.store(rate_.has_value(), std::memory_order_relaxed);
}

Bucket::Stock Bucket::stock(int64_t now_us) {
  const std::lock_guard lock(mutex_);
  refill(now_us);
  if (!rate_) return {kMostTokens, kMostTokens};
  // Half a burst at most, so that the bucket does not run over before a late wake-up.
  const double turn = std::min(std::floor(burst() / 2), std::ceil(rate_->per_sec * kTurnS));
  return {static_cast<int64_t>(std::clamp(std::floor(tokens_), -1.0, static_cast<double>(kMostTokens))),
          std::clamp<int64_t>(static_cast<int64_t>(turn), 1, kMostTokens)};
}

int64_t Bucket::take(int64_t count, int64_t now_us) {
  const std::lock_guard lock(mutex_);
  refill(now_us);
  if (!rate_) return 0;
  tokens_ -= static_cast<double>(count);
  if (tokens_ >= 0) return 0;
  if (rate_->per_sec <= 0) return kNever;
  const double wait_us = std::ceil(-tokens_ * kUs / rate_->per_sec);
  return wait_us < 9e15 ? static_cast<int64_t>(wait_us) : kNever;
}

bool Bucket::take_now(int64_t count, int64_t now_us) {
  const std::lock_guard lock(mutex_);
  refill(now_us);
  if (!rate_) return true;
  if (tokens_ < static_cast<double>(count)) return false;
  tokens_ -= static_cast<double>(count);
  return true;
}

void Bucket::give_back(int64_t count) {
  const std::lock_guard lock(mutex_);
  if (rate_) tokens_ = std::min(burst(), tokens_ + static_cast<double>(count));
}

void Bucket::begin_wait(int64_t now_us) {
  const std::lock_guard lock(mutex_);
  waiting_++;
  begun_us_ += now_us;
}

void Bucket::end_wait(int64_t since_us, int64_t now_us) {
  const std::lock_guard lock(mutex_);
  waiting_--;
  begun_us_ -= since_us;
  waited_us_ += now_us - since_us;
}

int64_t Bucket::waited_us(int64_t now_us) {
  const std::lock_guard lock(mutex_);
  return waited_us_ + waiting_ * now_us - begun_us_;
}

}  // namespace sluice
