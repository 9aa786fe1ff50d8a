// What a thread counts for a rule. One writer, any reader; nobody waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "meter.h"

namespace sluice {

class Cell {
 public:
  void add(int64_t count) { value_.store(value() + count, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

struct PortRow {
  Cell bytes[2];  // by direction
  Cell datagrams[2];
  Cell active;
};

struct TargetRow {
  Cell bytes[2];
  Cell connections;
};

struct alignas(64) Counters {
  Counters(size_t port_count, size_t target_count) : ports(port_count), targets(target_count) {}
  std::vector<PortRow> ports;
  std::vector<TargetRow> targets;
  Cell connections;
  Cell dns_failures;
  Cell failovers;
  Cell overflow;
};

}  // namespace sluice
