// An open rule: what was asked for, and what all threads know and count of it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "counters.h"
#include "filter.h"
#include "health.h"
#include "meter.h"

namespace sluice {

struct Target {
  std::string host;
  uint16_t port;
  std::optional<Address> literal;  // when the host is an address
};

struct RulePlan {
  int id = 0;
  bool is_udp = false;
  uint16_t from = 0;
  uint16_t to = 0;
  std::optional<std::string> name;
  bool is_fallback = false;
  std::vector<Target> targets;
  bool prefer_ipv6 = false;
  int64_t probe_ms = 0;
  Meters meters;
  int64_t idle_ms = 0;
  int64_t flow_cap = 0;
  std::shared_ptr<const Filters> filters;

  int port_count() const { return to - from + 1; }
};

struct Rule : RulePlan {
  Rule(RulePlan plan, size_t threads, Health::Tell tell)
      : RulePlan(std::move(plan)),
        health(targets.size(), std::move(tell)),
        threads_open(static_cast<int>(threads)) {
    for (size_t i = 0; i < threads; i++)
      counters.push_back(std::make_unique<Counters>(port_count(), targets.size()));
    threads_shut = static_cast<int>(threads);
  }

  Health health;
  std::vector<std::unique_ptr<Counters>> counters;  // one a thread
  std::atomic<int> threads_shut;                    // how many have yet to shut the port; waited for
  std::atomic<int> threads_open;                    // how many have yet to end their last connection
  std::atomic<uint32_t> filters_age{0};             // how often they were replaced
  std::atomic<int64_t> flows{0};                    // UDP, on all threads, against the cap
  std::atomic<bool> splice_was_told{false};
  std::atomic<bool> no_splice_was_told{false};

  void reject(Reason reason, int64_t count = 1) {
    const std::lock_guard lock(mutex_);
    rejected_[reason] += count;
  }
  /** The ones that hold now. */
  std::shared_ptr<const Filters> current_filters() {
    const std::lock_guard lock(mutex_);
    return filters;
  }
  void replace_filters(std::shared_ptr<const Filters> next) {
    const std::lock_guard lock(mutex_);
    filters = std::move(next);
    filters_age.fetch_add(1, std::memory_order_release);
  }
  std::map<Reason, int64_t> rejected() {
    const std::lock_guard lock(mutex_);
    return rejected_;
  }

 private:
  std::mutex mutex_;
  std::map<Reason, int64_t> rejected_;
};

}  // namespace sluice
