#include "meter.h"

#include <algorithm>

#include "sys.h"

namespace sluice {

void Meter::change(const Limits& limits, int64_t now_us) {
  for (const Direction direction : {Direction::in, Direction::out})
    bytes(direction).change(limits.bytes[index_of(direction)], now_us);
  arrivals_.change(limits.new_connections, now_us);
  most_.store(limits.connections.value_or(INT64_MAX));
  const auto& [connections, arrivals, bytes, budget] = limits.refusals;
  reason_[0].store(connections);
  reason_[1].store(arrivals);
  reason_[2].store(bytes);
  reason_[3].store(budget);
  listener_.changed(*this);
}

void Meter::set_budget(const std::optional<Budget>& budget) {
  {
    const std::lock_guard lock(mutex_);
    mark_.store(budget ? budget->mark : kNoMark);
    hold_ms_ = budget ? budget->hold_ms : 0;
    if (is_spent_.load() && total() < mark_.load()) {
      is_spent_.store(false);
      epoch_++;
    }
  }
  close_when_spent();
  listener_.changed(*this);
}

void Meter::close_when_spent() {
  uint64_t epoch = 0;
  int64_t hold_ms = 0;
  {
    const std::lock_guard lock(mutex_);
    if (is_spent_.load() || total() < mark_.load()) return;
    is_spent_.store(true);
    epoch = ++epoch_;
    hold_ms = hold_ms_;
  }
  listener_.spent(*this, epoch, hold_ms);
}

bool Meter::is_spent_since(uint64_t epoch) {
  const std::lock_guard lock(mutex_);
  return is_spent_.load() && epoch_ == epoch;
}

Reason Meter::enter(int64_t now_us) {
  if (is_spent()) return refusal_for_budget();
  if (active_.fetch_add(1) >= most_.load()) {
    leave();
    return reason_[0].load();
  }
  if (arrivals_.is_limited() && !arrivals_.take_now(1, now_us)) {
    leave();
    return reason_[1].load();
  }
  return kNoReason;
}

void Meter::undo_enter() {
  leave();
  if (arrivals_.is_limited()) arrivals_.give_back(1);
}

int64_t Meter::claim(int64_t want) {
  int64_t claimed = claimed_.load();
  for (;;) {
    const int64_t most = std::min(want, std::max<int64_t>(mark_.load() - claimed, 0));
    if (most == 0) return 0;
    if (claimed_.compare_exchange_weak(claimed, claimed + most)) return most;
  }
}

/** A datagram that crosses the mark passes whole: else large ones would stop short of it for ever. */
Reason Meter::admit(Direction direction, int64_t count, int64_t now_us) {
  if (claimed_.load() >= mark_.load()) return refusal_for_budget();
  Bucket& bucket = bytes(direction);
  if (bucket.is_limited() && !bucket.take_now(count, now_us)) return refusal_for_bytes();
  claimed_.fetch_add(count);
  return kNoReason;
}

void Meter::undo_admit(Direction direction, int64_t count) {
  unclaim(count);
  bytes(direction).give_back(count);
}

void Meter::deliver(Direction direction, int64_t count) {
  delivered_[index_of(direction)].fetch_add(count);
  if (mark_.load() != kNoMark && total() >= mark_.load()) close_when_spent();
}

Meter::Count Meter::count(int64_t now_us) {
  const int64_t waited_us = bytes_[0].waited_us(now_us) + bytes_[1].waited_us(now_us);
  return {delivered_[0].load(), delivered_[1].load(), active_.load(), static_cast<double>(waited_us) / 1000};
}

Reason Pass::enter(int64_t now_us) {
  for (size_t i = 0; i < meters_.size(); i++) {
    const Reason refusal = meters_[i]->enter(now_us);
    if (refusal == kNoReason) continue;
    while (i-- > 0) meters_[i]->undo_enter();
    return refusal;
  }
  is_in_ = true;
  return kNoReason;
}

void Pass::leave() {
  if (!is_in_) return;
  is_in_ = false;
  const int64_t now_us = sys::now_us();
  for (const Direction direction : {Direction::in, Direction::out}) forget_wait(direction, now_us);
  for (const auto& meter : meters_) meter->leave();
}

bool Pass::is_rated(Direction direction) const {
  return std::any_of(meters_.begin(), meters_.end(),
                     [&](const auto& meter) { return meter->bytes(direction).is_limited(); });
}

Pass::Leave Pass::reserve(Direction direction, int64_t want, int64_t now_us) {
  Lane& lane = lanes_[index_of(direction)];
  if (lane.tokens == 0) {
    lane.charged = 0;
    if (!is_rated(direction)) return claim(want);
    take_tokens(direction, want, now_us);
  }
  if (lane.ready_us == Bucket::kNever) return {0, Bucket::kNever};
  if (now_us < lane.ready_us) return {0, lane.ready_us - now_us};
  end_wait(direction, now_us);
  const Leave leave = claim(std::min(want, lane.tokens));
  if (leave.bytes == 0) {
    forget_wait(direction, now_us);
    return leave;
  }
  // What was charged stays charged for these bytes; the rest of the tokens goes back.
  const int64_t rest = lane.tokens - leave.bytes;
  for (size_t i = 0; rest > 0 && i < meters_.size(); i++)
    if (lane.charged >> i & 1) meters_[i]->bytes(direction).give_back(rest);
  lane.tokens = 0;
  return leave;
}

/** They may be used from `ready_us` on. */
void Pass::take_tokens(Direction direction, int64_t want, int64_t now_us) {
  Lane& lane = lanes_[index_of(direction)];
  int64_t least = std::min(want, Bucket::kMostTokens);
  int64_t most = least;
  for (size_t i = 0; i < meters_.size(); i++) {
    Bucket& bucket = meters_[i]->bytes(direction);
    if (!bucket.is_limited()) continue;
    const auto [tokens, turn] = bucket.stock(now_us);
    least = std::min(least, turn);
    most = std::min(most, tokens);
    lane.charged |= uint64_t{1} << i;
  }
  lane.tokens = std::max(least, most);
  lane.ready_us = now_us;
  lane.since_us = now_us;
  for (size_t i = 0; i < meters_.size(); i++) {
    if (!(lane.charged >> i & 1)) continue;
    Bucket& bucket = meters_[i]->bytes(direction);
    const int64_t wait_us = bucket.take(lane.tokens, now_us);
    if (wait_us == 0) continue;
    lane.delaying |= uint64_t{1} << i;
    bucket.begin_wait(now_us);
    const int64_t ready_us = wait_us == Bucket::kNever ? Bucket::kNever : now_us + wait_us;
    lane.ready_us = std::max(lane.ready_us, ready_us);
  }
}

Pass::Leave Pass::claim(int64_t want) {
  constexpr int64_t retry_us = 10'000;  // reservations of others end soon, one way or the other
  int64_t most = want;
  for (size_t i = 0; i < meters_.size(); i++) {
    const int64_t claimed = meters_[i]->claim(most);
    for (size_t earlier = 0; claimed < most && earlier < i; earlier++)
      meters_[earlier]->unclaim(most - claimed);
    most = claimed;
    if (most == 0) return {0, meters_[i]->is_spent() ? Bucket::kNever : retry_us};
  }
  return {most, 0};
}

void Pass::delivered(Direction direction, int64_t count) {
  for (const auto& meter : meters_) meter->deliver(direction, count);
}

void Pass::returned(Direction direction, int64_t count) {
  const uint64_t charged = lanes_[index_of(direction)].charged;
  for (size_t i = 0; i < meters_.size(); i++) {
    meters_[i]->unclaim(count);
    if (charged >> i & 1) meters_[i]->bytes(direction).give_back(count);
  }
}

void Pass::end_wait(Direction direction, int64_t now_us) {
  Lane& lane = lanes_[index_of(direction)];
  for (size_t i = 0; lane.delaying != 0 && i < meters_.size(); i++)
    if (lane.delaying >> i & 1) meters_[i]->bytes(direction).end_wait(lane.since_us, now_us);
  lane.delaying = 0;
}

void Pass::forget_wait(Direction direction, int64_t now_us) {
  end_wait(direction, now_us);
  Lane& lane = lanes_[index_of(direction)];
  for (size_t i = 0; lane.tokens > 0 && i < meters_.size(); i++)
    if (lane.charged >> i & 1) meters_[i]->bytes(direction).give_back(lane.tokens);
  lane.tokens = 0;
  lane.charged = 0;
}

Reason Pass::admit(Direction direction, int64_t bytes, int64_t now_us) {
  for (size_t i = 0; i < meters_.size(); i++) {
    Meter& meter = *meters_[i];
    const Reason refusal = meter.admit(direction, bytes, now_us);
    if (refusal == kNoReason) continue;
    while (i-- > 0) meters_[i]->undo_admit(direction, bytes);
    return refusal;
  }
  return kNoReason;
}

void Pass::undo_admit(Direction direction, int64_t bytes) {
  for (const auto& meter : meters_) meter->undo_admit(direction, bytes);
}

}  // namespace sluice
