// A token bucket without a queue: who finds too little owes, and sleeps until its debt has been paid in.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

namespace sluice {

/** In t seconds at most per_sec * t + burst. */
struct Rate {
  double per_sec = 0;
  double burst = 0;
};

/** Shared by threads. Debts are paid in the order in which they were made, so everybody has a turn. */
class Bucket {
 public:
  static constexpr int64_t kNever = INT64_MAX;
  static constexpr int64_t kMostTokens = 64 * 1024;

  /** Full at first; a changed rate keeps what is there, up to the new burst. */
  void change(const std::optional<Rate>& rate, int64_t now_us);
  bool is_limited() const { return is_limited_.load(std::memory_order_relaxed); }

  struct Stock {
    int64_t tokens;  // whole ones; negative: others wait
    int64_t turn;    // what is worth a wake-up
  };
  Stock stock(int64_t now_us);
  /** Takes in any case; how many us later the tokens may be used. `kNever`: not at this rate. */
  int64_t take(int64_t count, int64_t now_us);
  /** All at once or nothing: for what cannot wait. */
  bool take_now(int64_t count, int64_t now_us);
  void give_back(int64_t count);

  void begin_wait(int64_t now_us);
  void end_wait(int64_t since_us, int64_t now_us);
  int64_t waited_us(int64_t now_us);

 private:
  void refill(int64_t now_us);
  double burst() const;

  std::atomic<bool> is_limited_{false};
  std::mutex mutex_;
  std::optional<Rate> rate_;
  double tokens_ = 0;
  int64_t at_us_ = 0;
  int64_t waiting_ = 0;    // who waits now
  int64_t begun_us_ = 0;   // the sum of when they began
  int64_t waited_us_ = 0;  // of those who wait no longer
};

}  // namespace sluice
