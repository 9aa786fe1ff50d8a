// The health of a rule's targets, from the results of the last attempts to connect. Shared by threads.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

class TargetHealth {
 public:
  enum class State : uint8_t { unknown, healthy, failed };
  /** The cause of an attempt: a caller or a health check. */
  enum class Source : uint8_t { traffic, probe };
  using OnChange = std::function<void(int target, State from, State to, const std::string& reason)>;

  TargetHealth(size_t targets, OnChange on_change);
  /** Begins with what another rule knows of the same target. Called before the first attempt. */
  void continue_from(int target, TargetHealth& other, int target_there);

  /** Judges the targets from `first` to before `end`. */
  bool are_all_failed(int first, int end);
  std::vector<int> longest_failed_first(int first, int end);
  /** False: the failed target is being tried already, or failed a short time ago. */
  bool is_due(int target, int64_t now_ms);
  /** Begins an attempt. False: the failed target is being tried already, or failed a short time ago. */
  bool begin_if_due(int target, int64_t now_ms);
  void begin(int target);
  void succeeded(int target, Source source);
  void failed(int target, Source source, const std::string& reason, int64_t now_ms);
  /** The name of the target was not resolved: like `failed`, but `last_failure` gets the prefix 'dns_'. */
  void lookup_failed(int target, Source source, const std::string& reason, int64_t now_ms);
  /** Ends an attempt that says nothing about the target. */
  void abandoned(int target);

  struct Status {
    State state = State::unknown;
    int consecutive_failures = 0;
    int64_t failures = 0;
    int64_t last_failure_at = -1;  // ms since 1970; -1: never
    int64_t last_success_at = -1;
    std::string last_failure;  // its reason; empty: none
    Source last_source = Source::traffic;  // of the last attempt that succeeded or failed
  };
  Status status(int target);

 private:
  struct Target : Status {
    std::deque<int64_t> failures_ms;  // times of the last consecutive failures
    int successes = 0;                // consecutive, of a failed target
    int64_t failure_number = 0;       // of its last failure: orders failures within one millisecond
    int64_t retry_ms = 0;
    int attempts = 0;  // in progress

    bool is_due(int64_t now_ms) const { return state != State::failed || (attempts == 0 && now_ms >= retry_ms); }
  };

  void record_failure(int target, Source source, const std::string& reason, std::string shown, int64_t now_ms);

  const OnChange on_change_;  // called without the lock
  std::mutex mutex_;
  std::vector<Target> targets_;
  int64_t failure_count_ = 0;  // of all targets
};

/** One attempt to connect to a target. Reports exactly one result; destruction abandons it. */
class TargetAttempt {
 public:
  TargetAttempt() = default;
  TargetAttempt(TargetHealth& health, int target, TargetHealth::Source source = TargetHealth::Source::traffic)
      : health_(&health), target_(target), source_(source) {}
  TargetAttempt(TargetAttempt&& other) noexcept
      : health_(std::exchange(other.health_, nullptr)), target_(other.target_), source_(other.source_) {}
  TargetAttempt& operator=(TargetAttempt&& other) noexcept {
    abandon();
    health_ = std::exchange(other.health_, nullptr);
    target_ = other.target_;
    source_ = other.source_;
    return *this;
  }
  ~TargetAttempt() { abandon(); }

  int target() const { return target_; }
  bool is_open() const { return health_ != nullptr; }
  void succeed() {
    if (TargetHealth* health = take()) health->succeeded(target_, source_);
  }
  void fail(const std::string& reason, int64_t now_ms) {
    if (TargetHealth* health = take()) health->failed(target_, source_, reason, now_ms);
  }
  void fail_lookup(const std::string& reason, int64_t now_ms) {
    if (TargetHealth* health = take()) health->lookup_failed(target_, source_, reason, now_ms);
  }
  void abandon() {
    if (TargetHealth* health = take()) health->abandoned(target_);
  }

 private:
  TargetHealth* take() { return std::exchange(health_, nullptr); }

  TargetHealth* health_ = nullptr;
  int target_ = -1;
  TargetHealth::Source source_ = TargetHealth::Source::traffic;
};

}  // namespace sluice
