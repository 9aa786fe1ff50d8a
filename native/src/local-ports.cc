#include "local-ports.h"

#include <algorithm>

namespace sluice {

namespace {
constexpr int64_t kRestMs = 1'000;
constexpr size_t kMaxResting = 1024;
}  // namespace

bool LocalPorts::are_used_up(const Address& target, const Address* from, int64_t now_ms) {
  if (!is_any_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(mutex_);
  std::erase_if(resting_, [&](const Resting& one) { return now_ms >= one.until_ms; });
  is_any_ = !resting_.empty();
  const Address own = from != nullptr ? *from : Address{};
  return std::ranges::any_of(resting_,
                             [&](const Resting& one) { return one.target == target && one.from == own; });
}

void LocalPorts::used_up(const Address& target, const Address* from, int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  if (resting_.size() >= kMaxResting) return;
  resting_.push_back({target, from != nullptr ? *from : Address{}, now_ms + kRestMs});
  is_any_ = true;
}

}  // namespace sluice
