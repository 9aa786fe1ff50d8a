#include "target-health.h"

#include <algorithm>
#include <numeric>

#include "sys.h"

namespace sluice {

namespace {
constexpr size_t kFailuresToFail = 3;
constexpr int64_t kFailuresWithinMs = 30'000;
constexpr int64_t kRetryMs = 10'000;
constexpr int kSuccessesToHeal = 2;
}  // namespace

TargetHealth::TargetHealth(size_t targets, OnChange on_change)
    : on_change_(std::move(on_change)), targets_(targets) {}

void TargetHealth::continue_from(int target, TargetHealth& other, int target_there) {
  const std::scoped_lock lock(mutex_, other.mutex_);
  targets_[target] = other.targets_[target_there];
  targets_[target].attempts = 0;
  failure_count_ = std::max(failure_count_, other.failure_count_);
}

bool TargetHealth::are_all_failed(int first, int end) {
  const std::lock_guard lock(mutex_);
  return std::all_of(targets_.begin() + first, targets_.begin() + end,
                     [](const Target& target) { return target.state == State::failed; });
}

std::vector<int> TargetHealth::longest_failed_first(int first, int end) {
  const std::lock_guard lock(mutex_);
  std::vector<int> order(end - first);
  std::iota(order.begin(), order.end(), first);
  std::stable_sort(order.begin(), order.end(),
                   [this](int a, int b) { return targets_[a].failure_number < targets_[b].failure_number; });
  return order;
}

bool TargetHealth::is_due(int index, int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  return targets_[index].is_due(now_ms);
}

bool TargetHealth::begin_if_due(int index, int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  Target& target = targets_[index];
  if (!target.is_due(now_ms)) return false;
  target.attempts++;
  return true;
}

void TargetHealth::begin(int index) {
  const std::lock_guard lock(mutex_);
  targets_[index].attempts++;
}

void TargetHealth::succeeded(int index, Source source) {
  State from = State::healthy;
  {
    const std::lock_guard lock(mutex_);
    Target& target = targets_[index];
    target.attempts--;
    target.last_success_at = sys::unix_ms();
    target.last_source = source;
    target.consecutive_failures = 0;
    target.failures_ms.clear();
    target.retry_ms = 0;
    if (target.state == State::failed && ++target.successes < kSuccessesToHeal) return;
    from = std::exchange(target.state, State::healthy);
  }
  if (from != State::healthy) on_change_(index, from, State::healthy, "connected");
}

void TargetHealth::failed(int index, Source source, const std::string& reason, int64_t now_ms) {
  record_failure(index, source, reason, reason, now_ms);
}

void TargetHealth::lookup_failed(int index, Source source, const std::string& reason, int64_t now_ms) {
  record_failure(index, source, reason, "dns_" + reason, now_ms);
}

void TargetHealth::record_failure(int index, Source source, const std::string& reason, std::string shown,
                                  int64_t now_ms) {
  State from = State::failed;
  {
    const std::lock_guard lock(mutex_);
    Target& target = targets_[index];
    target.attempts--;
    target.last_failure_at = sys::unix_ms();
    target.last_failure = std::move(shown);
    target.last_source = source;
    target.failure_number = ++failure_count_;
    target.consecutive_failures++;
    target.failures++;
    target.successes = 0;
    target.retry_ms = now_ms + kRetryMs;
    target.failures_ms.push_back(now_ms);
    if (target.failures_ms.size() > kFailuresToFail) target.failures_ms.pop_front();
    const bool has_enough = target.failures_ms.size() == kFailuresToFail;
    if (!has_enough || now_ms - target.failures_ms.front() > kFailuresWithinMs) return;
    from = std::exchange(target.state, State::failed);
  }
  if (from != State::failed) on_change_(index, from, State::failed, reason);
}

void TargetHealth::abandoned(int index) {
  const std::lock_guard lock(mutex_);
  targets_[index].attempts--;
}

TargetHealth::Status TargetHealth::status(int index) {
  const std::lock_guard lock(mutex_);
  return targets_[index];
}

}  // namespace sluice
