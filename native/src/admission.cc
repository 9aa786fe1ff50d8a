#include "admission.h"

#include <algorithm>

#include "sys.h"

namespace sluice {

Reason Admission::enter(int64_t now_us) {
  for (size_t i = 0; i < meters_.size(); i++) {
    const Reason refusal = meters_[i]->enter(now_us);
    if (refusal == kNoReason) continue;
    while (i-- > 0) meters_[i]->undo_enter();
    return refusal;
  }
  is_admitted_ = true;
  return kNoReason;
}

void Admission::leave() {
  if (!is_admitted_) return;
  is_admitted_ = false;
  for (const Direction direction : {Direction::in, Direction::out})
    if (rated_ != nullptr && rated(direction).is_waiting()) cancel_wait(direction, sys::now_us());
  for (const auto& meter : meters_) meter->leave();
}

bool Admission::is_rate_limited(Direction direction) const {
  return std::ranges::any_of(meters_,
                             [&](const auto& meter) { return meter->bytes(direction).is_limited(); });
}

int Admission::held_by(Direction direction) const {
  const uint64_t delaying = rated_ != nullptr ? (*rated_)[index_of(direction)].delaying_meters : 0;
  for (size_t i = 0; i < meters_.size(); i++)
    if ((delaying >> i & 1) != 0 || meters_[i]->is_exhausted()) return meters_[i]->id;
  return -1;
}

Admission::Reservation Admission::reserve(Direction direction, int64_t want, int64_t now_us) {
  if (rated_ == nullptr) {
    if (!is_rate_limited(direction)) return reserve_budget(want);
    rated_ = std::make_unique<std::array<Rated, 2>>();
  }
  Rated& state = rated(direction);
  if (state.tokens == 0) {
    state.charged_meters = 0;
    if (!is_rate_limited(direction)) return reserve_budget(want);
    take_tokens(direction, want, now_us);
  }
  if (state.ready_us == TokenBucket::kNever) return {0, TokenBucket::kNever};
  if (now_us < state.ready_us) return {0, state.ready_us - now_us};
  end_wait(direction, now_us);
  const Reservation reservation = reserve_budget(std::min(want, state.tokens));
  if (reservation.bytes == 0) {
    cancel_wait(direction, now_us);
    return reservation;
  }
  // The buckets stay charged for the granted bytes; unused tokens go back.
  const int64_t unused = state.tokens - reservation.bytes;
  if (unused > 0) give_back_tokens(direction, unused);
  state.tokens = 0;
  return reservation;
}

/** Takes tokens from every limited bucket: what all of them have, at least the smallest grant. */
void Admission::take_tokens(Direction direction, int64_t want, int64_t now_us) {
  Rated& state = rated(direction);
  int64_t min_tokens = std::min(want, TokenBucket::kMaxTokens);
  int64_t max_tokens = min_tokens;
  for (size_t i = 0; i < meters_.size(); i++) {
    TokenBucket& bucket = meters_[i]->bytes(direction);
    if (!bucket.is_limited()) continue;
    const auto [tokens, min_grant] = bucket.available(now_us);
    min_tokens = std::min(min_tokens, min_grant);
    max_tokens = std::min(max_tokens, tokens);
    state.charged_meters |= uint64_t{1} << i;
  }
  state.tokens = std::max(min_tokens, max_tokens);
  state.ready_us = now_us;
  state.since_us = now_us;
  for (size_t i = 0; i < meters_.size(); i++) {
    if (!(state.charged_meters >> i & 1)) continue;
    TokenBucket& bucket = meters_[i]->bytes(direction);
    const int64_t wait_us = bucket.take(state.tokens, now_us);
    if (wait_us == 0) continue;
    state.delaying_meters |= uint64_t{1} << i;
    bucket.begin_wait(now_us);
    const int64_t ready_us = wait_us == TokenBucket::kNever ? TokenBucket::kNever : now_us + wait_us;
    state.ready_us = std::max(state.ready_us, ready_us);
  }
}

Admission::Reservation Admission::reserve_budget(int64_t want) {
  constexpr int64_t retry_us = 10'000;  // other reservations are delivered or released soon
  int64_t granted = want;
  for (size_t i = 0; i < meters_.size(); i++) {
    const int64_t reserved = meters_[i]->reserve(granted);
    for (size_t earlier = 0; reserved < granted && earlier < i; earlier++)
      meters_[earlier]->release(granted - reserved);
    granted = reserved;
    if (granted == 0) return {0, meters_[i]->is_exhausted() ? TokenBucket::kNever : retry_us};
  }
  return {granted, 0};
}

void Admission::delivered(Direction direction, int64_t count) {
  for (const auto& meter : meters_) meter->deliver(direction, count);
}

void Admission::release(Direction direction, int64_t count) {
  for (const auto& meter : meters_) meter->release(count);
  give_back_tokens(direction, count);
}

void Admission::give_back_tokens(Direction direction, int64_t count) {
  const uint64_t charged = rated_ != nullptr ? rated(direction).charged_meters : 0;
  for (size_t i = 0; charged != 0 && i < meters_.size(); i++)
    if (charged >> i & 1) meters_[i]->bytes(direction).give_back(count);
}

void Admission::end_wait(Direction direction, int64_t now_us) {
  Rated& state = rated(direction);
  for (size_t i = 0; state.delaying_meters != 0 && i < meters_.size(); i++)
    if (state.delaying_meters >> i & 1) meters_[i]->bytes(direction).end_wait(state.since_us, now_us);
  state.delaying_meters = 0;
}

void Admission::cancel_wait(Direction direction, int64_t now_us) {
  if (rated_ == nullptr) return;
  end_wait(direction, now_us);
  Rated& state = rated(direction);
  if (state.tokens > 0) give_back_tokens(direction, state.tokens);
  state.tokens = 0;
  state.charged_meters = 0;
}

Reason Admission::admit_datagram(Direction direction, int64_t bytes, int64_t now_us) {
  for (size_t i = 0; i < meters_.size(); i++) {
    Meter& meter = *meters_[i];
    const Reason refusal = meter.admit_datagram(direction, bytes, now_us);
    if (refusal == kNoReason) continue;
    while (i-- > 0) meters_[i]->undo_datagram(direction, bytes);
    return refusal;
  }
  return kNoReason;
}

void Admission::undo_datagrams(Direction direction, int64_t bytes) {
  for (const auto& meter : meters_) meter->undo_datagram(direction, bytes);
}

}  // namespace sluice
