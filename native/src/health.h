// Which targets of a rule are worth a try, by how the last tries went. Shared by threads.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

class Health {
 public:
  enum class State : uint8_t { unknown, healthy, failed };
  using Tell = std::function<void(int target, State from, State to, const std::string& reason)>;

  Health(size_t targets, Tell tell);

  bool are_all_failed();
  /** All targets, the one that failed longest ago first. */
  std::vector<int> longest_failed_first();
  /** A failed one is tried by one at a time, and some time after its last failure. True: the try has begun.
   */
  bool begin_if_worth(int target, int64_t now_ms);
  void begin(int target);
  void succeeded(int target);
  void failed(int target, const std::string& reason, int64_t now_ms);
  /** It ended for reasons that say nothing about the target. */
  void abandoned(int target);

  struct Row {
    State state = State::unknown;
    int consecutive_failures = 0;
    int64_t last_failure_at = -1;  // ms since 1970; -1: never
    int64_t last_success_at = -1;
  };
  Row row(int target);

 private:
  struct Target : Row {
    std::deque<int64_t> failures_ms;  // the last few in a row
    int successes = 0;                // in a row, of a failed one
    int64_t failed_as = 0;            // its last failure's number: several may fall into one millisecond
    int64_t retry_ms = 0;
    int tries = 0;  // under way
  };
  /** The change to tell, when the lock is free again. */
  State become(Target& target, State state);

  const Tell tell_;
  std::mutex mutex_;
  std::vector<Target> targets_;
  int64_t failures_ = 0;  // of all, ever
};

/** One try; says exactly once how it went. */
class Try {
 public:
  Try() = default;
  Try(Health& health, int target) : health_(&health), target_(target) {}
  Try(Try&& other) noexcept : health_(std::exchange(other.health_, nullptr)), target_(other.target_) {}
  Try& operator=(Try&& other) noexcept {
    abandon();
    health_ = std::exchange(other.health_, nullptr);
    target_ = other.target_;
    return *this;
  }
  ~Try() { abandon(); }

  int target() const { return target_; }
  void succeed();
  void fail(const std::string& reason, int64_t now_ms);
  void abandon();

 private:
  Health* health_ = nullptr;
  int target_ = -1;
};

}  // namespace sluice
