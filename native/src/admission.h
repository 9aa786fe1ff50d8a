// The admission of one connection or flow to all meters of its rule.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "meter.h"

namespace sluice {

/** The meters of a rule, in the order that traffic passes them. */
using MeterChain = std::vector<std::shared_ptr<Meter>>;

/** Not thread-safe. The destructor leaves the meters. */
class Admission {
 public:
  explicit Admission(const MeterChain& meters) : meters_(meters) {}
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;
  ~Admission() { leave(); }

  /** Enters all meters, or none; returns the reason of the refusal. */
  Reason enter(int64_t now_us);
  void leave();
  bool is_rate_limited(Direction direction) const;
  /** True while no meter limits this direction: a stream may then move bytes and call `passed`. */
  bool is_free(Direction direction) const {
    for (const auto& meter : meters_)
      if (!meter->is_free(direction)) return false;
    return true;
  }
  /** Counts bytes as delivered that were moved without a reservation. */
  void passed(Direction direction, int64_t count) {
    for (const auto& meter : meters_) meter->pass(direction, count);
  }
  /** Returns the id of the meter that blocks traffic now, or -1. */
  int held_by(Direction direction) const;

  struct Reservation {
    int64_t bytes;
    int64_t wait_us;  // until the next call, if `bytes` is 0; TokenBucket::kNever: until a meter has changed
  };
  /** Reserves bytes that a stream may read now, from the rates and budgets of all meters. */
  Reservation reserve(Direction direction, int64_t want, int64_t now_us);
  /** Reserves bytes that were read without a reservation and are not delivered yet. */
  void adopt(Direction direction, int64_t count) {
    if (rated_ != nullptr) rated(direction).charged_meters = 0;
    for (const auto& meter : meters_) meter->adopt(count);
  }
  /** Counts reserved bytes as delivered. */
  void delivered(Direction direction, int64_t count);
  /** Returns reserved bytes that were not delivered. */
  void release(Direction direction, int64_t count);
  /** Ends a wait and returns its unused tokens, for example after the rates changed. */
  void cancel_wait(Direction direction, int64_t now_us);

  /** Reserves a whole datagram, or returns the reason to drop it. Then call `delivered` or `undo_datagrams`. */
  Reason admit_datagram(Direction direction, int64_t bytes, int64_t now_us);
  /** Gives back the budget and the tokens of datagrams that were not delivered. */
  void undo_datagrams(Direction direction, int64_t bytes);

 private:
  struct Rated {
    int64_t tokens = 0;            // taken from the buckets of `charged_meters`, not used yet
    uint64_t charged_meters = 0;   // bit set by index in the chain
    uint64_t delaying_meters = 0;  // bit set of the meters that count this wait
    int64_t ready_us = 0;          // when the tokens may be used
    int64_t since_us = 0;          // when the wait began

    bool is_waiting() const { return tokens > 0 || delaying_meters != 0; }
  };

  Rated& rated(Direction direction) { return (*rated_)[index_of(direction)]; }
  Reservation reserve_budget(int64_t want);
  void take_tokens(Direction direction, int64_t want, int64_t now_us);
  void give_back_tokens(Direction direction, int64_t count);
  void end_wait(Direction direction, int64_t now_us);

  const MeterChain& meters_;
  std::unique_ptr<std::array<Rated, 2>> rated_;  // by direction; made for the first bytes that a rate limits
  bool is_admitted_ = false;
};

}  // namespace sluice
