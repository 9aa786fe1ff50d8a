// The counters that one thread keeps for a rule. One writer, any number of readers, no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace sluice {

class Counter {
 public:
  /** Adds, but not atomically: only the owning thread writes. */
  void add(int64_t count) { value_.store(value() + count, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

struct PortCounters {
  Counter bytes[2];  // by direction
  Counter datagrams[2];
  Counter active;
};

struct TargetCounters {
  Counter bytes[2];  // by direction
  Counter connections;
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
