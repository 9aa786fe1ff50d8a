// Counts and limits traffic: rates delay or drop, counts refuse, an exhausted budget holds connections.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "reasons.h"
#include "token-bucket.h"

namespace sluice {

/** Traffic direction: `in` is towards the target, `out` towards the caller. */
enum class Direction : uint8_t { in, out };
inline constexpr size_t index_of(Direction direction) { return static_cast<size_t>(direction); }
inline constexpr Direction opposite(Direction direction) {
  return direction == Direction::in ? Direction::out : Direction::in;
}

struct Limits {
  std::array<std::optional<Rate>, 2> bytes;  // by direction
  std::optional<int64_t> connections;        // at once
  std::optional<Rate> new_connections;
  struct {
    Reason connections, new_connections, bytes, budget;
  } refusals;
};

struct Budget {
  int64_t mark;  // bytes in and out that the meter may deliver in total
  int64_t hold_ms;
};

class Meter;

/** Receives changes that concern all connections in a meter; called on any thread without a lock. */
class MeterListener {
 public:
  virtual ~MeterListener() = default;
  /** The budget is exhausted. `version` is for `Meter::is_exhausted_since`. */
  virtual void budget_exhausted(Meter& meter, uint64_t version, int64_t hold_ms) = 0;
  /** Limits or budget have changed: connections that wait in the meter should retry. */
  virtual void meter_changed(Meter& meter) = 0;
};

/** One meter, shared by threads. */
class Meter : public std::enable_shared_from_this<Meter> {
 public:
  Meter(int id, MeterListener& listener) : id(id), listener_(listener) {}
  const int id;

  void set_limits(const Limits& limits, int64_t now_us);
  void set_budget(const std::optional<Budget>& budget);

  /** Admits a connection or flow, or returns the reason of the refusal. */
  Reason enter(int64_t now_us);
  void leave() { active_.fetch_sub(1, std::memory_order_relaxed); }
  /** Reverts `enter` after another meter has refused the connection. */
  void undo_enter();

  TokenBucket& bytes(Direction direction) { return bytes_[index_of(direction)]; }
  /** True while neither a rate nor a budget limits this direction. */
  bool is_free(Direction direction) {
    return mark_.load(std::memory_order_relaxed) == kNoMark && !bytes(direction).is_limited();
  }
  /** Reserves up to `want` bytes of the budget; returns how many. */
  int64_t reserve(int64_t want);
  void release(int64_t count) { reserved_.fetch_sub(count); }
  /** Reserves bytes that are in flight already. */
  void adopt(int64_t count) { reserved_.fetch_add(count); }
  /** Counts reserved bytes as delivered. */
  void deliver(Direction direction, int64_t count);
  /**
   * Counts bytes as delivered that were moved without a reservation while the meter was free. A mark set during the move
   * may be exceeded by one such move per thread, as by a reservation made before the mark.
   */
  void pass(Direction direction, int64_t count) {
    passed_[index_of(direction)].fetch_add(count);
    if (mark_.load() != kNoMark) update_exhausted();
  }
  Reason admit_datagram(Direction direction, int64_t count, int64_t now_us);
  void undo_datagram(Direction direction, int64_t count);
  /** True when the delivered total has reached the mark. */
  bool is_exhausted() const { return is_exhausted_.load(); }
  /** True if the meter has stayed exhausted since `version`. */
  bool is_exhausted_since(uint64_t version);

  struct Counters {
    int64_t bytes_in, bytes_out, active;
    double throttled_ms;
  };
  Counters counters(int64_t now_us);

 private:
  static constexpr int64_t kNoMark = INT64_MAX;
  int64_t passed() const { return passed_[0].load() + passed_[1].load(); }
  int64_t total() const { return delivered_[0].load() + delivered_[1].load() + passed(); }
  /** Returns the bytes left before the mark, given the bytes delivered or in flight. */
  int64_t left(int64_t reserved) const { return std::max<int64_t>(mark_.load() - reserved - passed(), 0); }
  void update_exhausted();
  Reason refusal_for_bytes() const { return refusals_[2].load(std::memory_order_relaxed); }
  Reason refusal_for_budget() const { return refusals_[3].load(std::memory_order_relaxed); }

  MeterListener& listener_;
  std::array<TokenBucket, 2> bytes_;
  TokenBucket new_connections_;
  std::atomic<int64_t> max_connections_{INT64_MAX};
  std::atomic<int64_t> active_{0};
  std::array<std::atomic<Reason>, 4> refusals_{};  // connections, new connections, bytes, budget
  std::atomic<int64_t> reserved_{0};               // bytes delivered or in flight, except passed ones
  std::array<std::atomic<int64_t>, 2> delivered_{};  // after a reservation
  std::array<std::atomic<int64_t>, 2> passed_{};     // delivered without a reservation
  std::atomic<int64_t> mark_{kNoMark};
  std::atomic<bool> is_exhausted_{false};
  std::mutex mutex_;  // guards changes of the budget
  int64_t hold_ms_ = 0;
  uint64_t version_ = 0;  // counts changes of `is_exhausted_`
};

}  // namespace sluice
