// A token bucket without a queue: a taker may make a debt, and then waits until it is repaid.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

namespace sluice {

/** Limits traffic to per_sec * t + burst in any t seconds. */
struct Rate {
  double per_sec = 0;
  double burst = 0;
};

/** A bucket shared by threads. Fair: debts are repaid in the order they were made. */
class TokenBucket {
 public:
  static constexpr int64_t kNever = INT64_MAX;
  static constexpr int64_t kMaxTokens = 64 * 1024;

  /** Sets or lifts the rate. A new bucket is full; a changed one keeps its tokens, up to the new burst. */
  void set_rate(const std::optional<Rate>& rate, int64_t now_us);
  bool is_limited() const { return is_limited_.load(std::memory_order_relaxed); }

  struct Available {
    int64_t tokens;     // whole tokens; negative: the bucket has debts
    int64_t min_grant;  // fewer tokens are not worth a wake-up
  };
  Available available(int64_t now_us);
  /** Takes the tokens, if necessary as a debt. Returns how long to wait for them in us, or `kNever`. */
  int64_t take(int64_t count, int64_t now_us);
  /** Takes all of the tokens or none: for traffic that cannot wait. */
  bool try_take(int64_t count, int64_t now_us);
  void give_back(int64_t count);

  void begin_wait(int64_t now_us);
  void end_wait(int64_t since_us, int64_t now_us);
  /** Returns the total waiting time of all takers, including current waits. */
  int64_t waited_us(int64_t now_us);

 private:
  void refill(int64_t now_us);
  double burst() const;

  std::atomic<bool> is_limited_{false};
  std::mutex mutex_;
  std::optional<Rate> rate_;
  double tokens_ = 0;
  int64_t refilled_at_us_ = 0;
  int64_t waiting_count_ = 0;        // takers that wait now
  int64_t wait_started_sum_us_ = 0;  // sum of the times at which they began
  int64_t waited_us_ = 0;            // of waits that have ended
};

}  // namespace sluice
