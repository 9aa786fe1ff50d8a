// The counters that one thread keeps for a rule. One writer, any number of readers, no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice {

class Counter {
 public:
  /** Adds, but not atomically: only the owning thread writes. */
  void add(int64_t count) { value_.store(value() + count, std::memory_order_relaxed); }
  void set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// Cache-line aligned, so that rows of two threads never share a line.
struct alignas(64) PortCounters {
  Counter bytes[2];  // by direction
  Counter datagrams[2];
  Counter active;
};

struct alignas(64) TargetCounters {
  Counter bytes[2];  // by direction
  Counter connections;
  Counter active;  // includes connections being dialed
  Counter connects;  // dials and probes that connected
  Counter connect_ms;
  Counter replied_ms;  // UDP: time of the last reply, by the event loop's clock
};

/** Counts a connection or flow as one of its target's until `release`. */
class TargetUse {
 public:
  TargetUse() = default;
  explicit TargetUse(TargetCounters& target) : active_(&target.active) { active_->add(1); }
  TargetUse(TargetUse&& other) noexcept : active_(std::exchange(other.active_, nullptr)) {}
  TargetUse& operator=(TargetUse&& other) noexcept {
    release();
    active_ = std::exchange(other.active_, nullptr);
    return *this;
  }
  ~TargetUse() { release(); }
  void release() {
    if (Counter* active = std::exchange(active_, nullptr)) active->add(-1);
  }

 private:
  Counter* active_ = nullptr;
};

struct alignas(64) RuleCounters {
  RuleCounters(size_t port_count, size_t target_count) : ports(port_count), targets(target_count) {}
  std::vector<PortCounters> ports;
  std::vector<TargetCounters> targets;
  Counter connections;
  Counter dns_failures;
  Counter failovers;
  Counter overflow;  // datagrams dropped at the flow cap
};

}  // namespace sluice
