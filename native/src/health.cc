#include "health.h"

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

Health::Health(size_t targets, Tell tell) : tell_(std::move(tell)), targets_(targets) {}

bool Health::are_all_failed() {
  const std::lock_guard lock(mutex_);
  return std::all_of(targets_.begin(), targets_.end(),
                     [](const Target& target) { return target.state == State::failed; });
}

std::vector<int> Health::longest_failed_first() {
  const std::lock_guard lock(mutex_);
  std::vector<int> order(targets_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [this](int a, int b) {
    return targets_[a].failed_as < targets_[b].failed_as;
  });
  return order;
}

bool Health::begin_if_worth(int index, int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  Target& target = targets_[index];
  if (target.state == State::failed && (target.tries > 0 || now_ms < target.retry_ms)) return false;
  target.tries++;
  return true;
}

void Health::begin(int index) {
  const std::lock_guard lock(mutex_);
  targets_[index].tries++;
}

Health::State Health::become(Target& target, State state) { return std::exchange(target.state, state); }

void Health::succeeded(int index) {
  State from = State::healthy;
  {
    const std::lock_guard lock(mutex_);
    Target& target = targets_[index];
    target.tries--;
    target.last_success_at = sys::unix_ms();
    target.consecutive_failures = 0;
    target.failures_ms.clear();
    target.retry_ms = 0;
    if (target.state == State::failed && ++target.successes < kSuccessesToHeal) return;
    from = become(target, State::healthy);
  }
  if (from != State::healthy) tell_(index, from, State::healthy, "connected");
}

void Health::failed(int index, const std::string& reason, int64_t now_ms) {
  State from = State::failed;
  {
    const std::lock_guard lock(mutex_);
    Target& target = targets_[index];
    target.tries--;
    target.last_failure_at = sys::unix_ms();
    target.failed_as = ++failures_;
    target.consecutive_failures++;
    target.successes = 0;
    target.retry_ms = now_ms + kRetryMs;
    target.failures_ms.push_back(now_ms);
    if (target.failures_ms.size() > kFailuresToFail) target.failures_ms.pop_front();
    const bool is_row = target.failures_ms.size() == kFailuresToFail;
    if (!is_row || now_ms - target.failures_ms.front() > kFailuresWithinMs) return;
    from = become(target, State::failed);
  }
  if (from != State::failed) tell_(index, from, State::failed, reason);
}

void Health::abandoned(int index) {
  const std::lock_guard lock(mutex_);
  targets_[index].tries--;
}

Health::Row Health::row(int index) {
  const std::lock_guard lock(mutex_);
  return targets_[index];
}

void Try::succeed() {
  if (Health* health = std::exchange(health_, nullptr)) health->succeeded(target_);
}
void Try::fail(const std::string& reason, int64_t now_ms) {
  if (Health* health = std::exchange(health_, nullptr)) health->failed(target_, reason, now_ms);
}
void Try::abandon() {
  if (Health* health = std::exchange(health_, nullptr)) health->abandoned(target_);
}

}  // namespace sluice
