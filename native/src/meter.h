// A gate that traffic passes, shared by threads: rates delay or drop, counts refuse, a spent budget holds
// what lives.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "bucket.h"
#include "reasons.h"

namespace sluice {

enum class Direction : uint8_t { in, out };
inline constexpr size_t index_of(Direction direction) { return static_cast<size_t>(direction); }
inline constexpr Direction opposite(Direction direction) {
  return direction == Direction::in ? Direction::out : Direction::in;
}

struct Limits {
  std::array<std::optional<Rate>, 2> bytes;  // by direction
  std::optional<int64_t> connections;
  std::optional<Rate> new_connections;
  struct {
    Reason connections, new_connections, bytes, budget;
  } refusals;
};

struct Budget {
  int64_t mark;
  int64_t hold_ms;
};

class Meter;

/** Hears, on any thread and with no lock held, what reaches beyond the connection that caused it. */
class MeterListener {
 public:
  virtual ~MeterListener() = default;
  /** Its budget is spent. `epoch` tells this time from later ones. */
  virtual void spent(Meter& meter, uint64_t epoch, int64_t hold_ms) = 0;
  /** Who waits in it should ask again. */
  virtual void changed(Meter& meter) = 0;
};

class Meter : public std::enable_shared_from_this<Meter> {
 public:
  Meter(int id, MeterListener& listener) : id(id), listener_(listener) {}
  const int id;

  void change(const Limits& limits, int64_t now_us);
  void set_budget(const std::optional<Budget>& budget);

  /** The reason of a refusal, or none and it is in. */
  Reason enter(int64_t now_us);
  void leave() { active_.fetch_sub(1, std::memory_order_relaxed); }
  /** It had entered, but another meter refused. */
  void undo_enter();

  Bucket& bytes(Direction direction) { return bytes_[index_of(direction)]; }
  /** Reserves up to `want` of the budget. */
  int64_t claim(int64_t want);
  void unclaim(int64_t count) { claimed_.fetch_sub(count); }
  /** Claimed before. */
  void deliver(Direction direction, int64_t count);
  Reason admit(Direction direction, int64_t count, int64_t now_us);
  void undo_admit(Direction direction, int64_t count);
  /** The mark is reached. */
  bool is_spent() const { return is_spent_.load(); }
  bool is_spent_since(uint64_t epoch);

  struct Count {
    int64_t bytes_in, bytes_out, active;
    double throttled_ms;
  };
  Count count(int64_t now_us);

 private:
  static constexpr int64_t kNoMark = INT64_MAX;
  int64_t total() const { return delivered_[0].load() + delivered_[1].load(); }
  void close_when_spent();
  Reason refusal_for_bytes() const { return reason_[2].load(std::memory_order_relaxed); }
  Reason refusal_for_budget() const { return reason_[3].load(std::memory_order_relaxed); }

  MeterListener& listener_;
  std::array<Bucket, 2> bytes_;
  Bucket arrivals_;
  std::atomic<int64_t> most_{INT64_MAX};  // connections at once
  std::atomic<int64_t> active_{0};
  std::array<std::atomic<Reason>, 4> reason_{};  // connections, new connections, bytes, budget
  std::atomic<int64_t> claimed_{0};              // delivered, or on its way
  std::array<std::atomic<int64_t>, 2> delivered_{};
  std::atomic<int64_t> mark_{kNoMark};
  std::atomic<bool> is_spent_{false};
  std::mutex mutex_;  // of the budget's changes
  int64_t hold_ms_ = 0;
  uint64_t epoch_ = 0;
};

using Meters = std::vector<std::shared_ptr<Meter>>;

/** The way of one connection or flow through the meters of its rule. Not shared by threads. */
class Pass {
 public:
  explicit Pass(const Meters& meters) : meters_(meters) {}
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  ~Pass() { leave(); }

  /** The reason of a refusal, or none and it is in all of them. A refusal takes nothing anywhere. */
  Reason enter(int64_t now_us);
  void leave();
  bool is_rated(Direction direction) const;

  /** A stream asks: how much may be read now, else how long to wait before asking again with the same call.
   */
  struct Leave {
    int64_t bytes;
    int64_t wait_us;  // if none; Bucket::kNever: until a meter changes
  };
  Leave reserve(Direction direction, int64_t want, int64_t now_us);
  /** Of what was reserved. */
  void delivered(Direction direction, int64_t count);
  void returned(Direction direction, int64_t count);
  /** Its debts are from another time: it asks anew. */
  void forget_wait(Direction direction, int64_t now_us);

  /** A datagram, whole: the reason why it is dropped, or none. Then it is delivered, or was not sent: undone.
   */
  Reason admit(Direction direction, int64_t bytes, int64_t now_us);
  void undo_admit(Direction direction, int64_t bytes);

 private:
  Leave claim(int64_t want);
  void take_tokens(Direction direction, int64_t want, int64_t now_us);

  struct Lane {
    int64_t tokens = 0;     // taken from the buckets in `charged`, not used yet
    uint64_t charged = 0;   // bits of meters
    uint64_t delaying = 0;  // bits of meters whose waiting counts
    int64_t ready_us = 0;   // from when on the tokens may be used
    int64_t since_us = 0;
  };
  void end_wait(Direction direction, int64_t now_us);

  const Meters& meters_;
  std::array<Lane, 2> lanes_;
  bool is_in_ = false;
};

}  // namespace sluice
