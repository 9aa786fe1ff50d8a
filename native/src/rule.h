// An open rule: its configuration, and the state and counters that its threads share.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "admission.h"
#include "avoided-addresses.h"
#include "counters.h"
#include "descriptors.h"
#include "filters.h"
#include "first-read.h"
#include "preamble.h"
#include "reply-cap.h"
#include "target-health.h"

namespace sluice {

struct Target {
  std::string host;
  uint16_t port;
  std::optional<Address> literal;  // set when the host is an address
};

/** By target. Replaced as a whole while connections are dialed. */
struct TargetWeights {
  std::vector<double> weights;
  std::vector<double> shares;  // current fraction of each weight; 0: ejected
};

/** How connections are spread over the targets; `tiers` are by target. */
struct Balance {
  enum class By : uint8_t { round_robin, least_connections, source_hash, random_two };
  By by;
  unsigned ipv6_prefix = 128;  // of `source_hash`
  std::vector<int64_t> tiers;
  std::shared_ptr<const TargetWeights> weights;
};

/** The local addresses for dials; the system chooses if there is none. */
struct DialFrom {
  std::optional<Address> ipv4;
  std::optional<Address> ipv6;

  const Address* for_target(const Address& target) const {
    const auto& own = target.family == Family::v6 ? ipv6 : ipv4;
    return own ? &*own : nullptr;
  }
};

struct RuleConfig {
  int id = 0;
  int replaces = 0;  // id of the rule that hands over its ports and name; 0: none
  bool is_udp = false;
  uint16_t from = 0;
  uint16_t to = 0;
  std::optional<std::string> name;  // the TLS name
  std::string owner;                // rules of one owner share its descriptors
  bool is_fallback = false;
  std::vector<Target> targets;
  std::optional<Balance> balance;  // absent: the targets are dialed in order
  bool prefer_ipv6 = false;
  DialFrom dial_from;
  int64_t probe_ms = 0;
  MeterChain meters;
  int64_t idle_ms = 0;
  int64_t unanswered_ms = 0;  // see EngineRule.unansweredMs
  int64_t flow_cap = 0;
  bool report_ends = false;
  std::shared_ptr<const FirstRead> first_read;  // may be null
  std::shared_ptr<const Preamble> preamble;  // may be null
  std::optional<ReplyCap> reply_cap;
  std::shared_ptr<const Filters> filters;

  int port_count() const { return to - from + 1; }
};

struct PortRange {
  int from;
  int to;  // below `from`: no port
  bool includes(int port) const { return from <= port && port <= to; }
  auto operator<=>(const PortRange&) const = default;
};

struct Rule : RuleConfig {
  Rule(RuleConfig config, size_t threads, TargetHealth::OnChange on_health_change,
       std::shared_ptr<DescriptorShare> descriptors)
      : RuleConfig(std::move(config)),
        descriptors(std::move(descriptors)),
        health(targets.size(), std::move(on_health_change)),
        threads_active(static_cast<int>(threads)) {
    for (size_t i = 0; i < threads; i++)
      counters.push_back(std::make_unique<RuleCounters>(port_count(), targets.size()));
    threads_listening = static_cast<int>(threads);
  }

  const std::shared_ptr<DescriptorShare> descriptors;
  TargetHealth health;
  AvoidedAddresses avoided;
  std::vector<std::unique_ptr<RuleCounters>> counters;  // by thread
  std::atomic<int> threads_listening;                   // `Engine::close` waits until it is 0
  std::atomic<int> threads_active;                      // threads with a live shard
  std::atomic<uint32_t> filters_version{0};             // counts replacements of the filters
  /** UDP flows on all threads, limited by `flow_cap`; includes flows of replaced rules. */
  std::shared_ptr<std::atomic<int64_t>> flows = std::make_shared<std::atomic<int64_t>>(0);
  std::atomic<bool> splice_reported{false};
  std::atomic<bool> splice_unsupported_reported{false};

  /** True if a UDP target has sent a datagram at or after this time of the event loop. */
  bool has_replied_since(int target, int64_t since_ms) const {
    return std::ranges::any_of(counters, [&](const auto& row) { return row->targets[target].replied_ms.value() >= since_ms; });
  }
  void reject(Reason reason, int64_t count = 1) {
    const std::lock_guard lock(mutex_);
    rejected_[reason] += count;
  }
  std::shared_ptr<const Filters> current_filters() {
    const std::lock_guard lock(mutex_);
    return filters;
  }
  void replace_filters(std::shared_ptr<const Filters> next) {
    const std::lock_guard lock(mutex_);
    filters = std::move(next);
    filters_version.fetch_add(1, std::memory_order_release);
  }
  /** The weights of a rule with `balance`. */
  std::shared_ptr<const TargetWeights> current_weights() {
    const std::lock_guard lock(mutex_);
    return balance->weights;
  }
  void replace_weights(TargetWeights next) {
    auto shared = std::make_shared<const TargetWeights>(std::move(next));
    const std::lock_guard lock(mutex_);
    balance->weights = std::move(shared);
  }
  std::map<Reason, int64_t> rejected() {
    const std::lock_guard lock(mutex_);
    return rejected_;
  }

 private:
  std::mutex mutex_;  // guards `filters`, `balance->weights` and `rejected_`
  std::map<Reason, int64_t> rejected_;
};

}  // namespace sluice
