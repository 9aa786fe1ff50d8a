#include "meter.h"

namespace sluice {

void Meter::set_limits(const Limits& limits, int64_t now_us) {
  for (const Direction direction : {Direction::in, Direction::out})
    bytes(direction).set_rate(limits.bytes[index_of(direction)], now_us);
  new_connections_.set_rate(limits.new_connections, now_us);
  max_connections_.store(limits.connections.value_or(INT64_MAX));
  const auto& [connections, new_connections, bytes, budget] = limits.refusals;
  refusals_[0].store(connections);
  refusals_[1].store(new_connections);
  refusals_[2].store(bytes);
  refusals_[3].store(budget);
  listener_.meter_changed(*this);
}

void Meter::set_budget(const std::optional<Budget>& budget) {
  {
    const std::lock_guard lock(mutex_);
    mark_.store(budget ? budget->mark : kNoMark);
    hold_ms_ = budget ? budget->hold_ms : 0;
    if (is_exhausted_.load() && total() < mark_.load()) {
      is_exhausted_.store(false);
      version_++;
    }
  }
  update_exhausted();
  listener_.meter_changed(*this);
}

void Meter::update_exhausted() {
  uint64_t version = 0;
  int64_t hold_ms = 0;
  {
    const std::lock_guard lock(mutex_);
    if (is_exhausted_.load() || total() < mark_.load()) return;
    is_exhausted_.store(true);
    version = ++version_;
    hold_ms = hold_ms_;
  }
  listener_.budget_exhausted(*this, version, hold_ms);
}

bool Meter::is_exhausted_since(uint64_t version) {
  const std::lock_guard lock(mutex_);
  return is_exhausted_.load() && version_ == version;
}

Reason Meter::enter(int64_t now_us) {
  if (is_exhausted()) return refusal_for_budget();
  if (active_.fetch_add(1) >= max_connections_.load()) {
    leave();
    return refusals_[0].load();
  }
  if (new_connections_.is_limited() && !new_connections_.try_take(1, now_us)) {
    leave();
    return refusals_[1].load();
  }
  return kNoReason;
}

void Meter::undo_enter() {
  leave();
  if (new_connections_.is_limited()) new_connections_.give_back(1);
}

int64_t Meter::reserve(int64_t want) {
  int64_t reserved = reserved_.load();
  for (;;) {
    const int64_t granted = std::min(want, left(reserved));
    if (granted == 0) return 0;
    if (reserved_.compare_exchange_weak(reserved, reserved + granted)) return granted;
  }
}

/** Admits even the datagram that crosses the mark: otherwise large ones might never exhaust the budget. */
Reason Meter::admit_datagram(Direction direction, int64_t count, int64_t now_us) {
  if (left(reserved_.load()) == 0) return refusal_for_budget();
  TokenBucket& bucket = bytes(direction);
  if (bucket.is_limited() && !bucket.try_take(count, now_us)) return refusal_for_bytes();
  reserved_.fetch_add(count);
  return kNoReason;
}

void Meter::undo_datagram(Direction direction, int64_t count) {
  release(count);
  bytes(direction).give_back(count);
}

void Meter::deliver(Direction direction, int64_t count) {
  delivered_[index_of(direction)].fetch_add(count);
  if (mark_.load() != kNoMark && total() >= mark_.load()) update_exhausted();
}

Meter::Counters Meter::counters(int64_t now_us) {
  const int64_t waited_us = bytes_[0].waited_us(now_us) + bytes_[1].waited_us(now_us);
  const auto delivered = [&](size_t direction) { return delivered_[direction].load() + passed_[direction].load(); };
  return {delivered(0), delivered(1), active_.load(), static_cast<double>(waited_us) / 1000};
}

}  // namespace sluice
