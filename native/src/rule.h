// An open rule: its configuration, and the state and counters that its threads share.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
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
  std::string dialer{};            // who dials it, and on which path; empty: the engine

  bool operator==(const Target& other) const {
    return host == other.host && port == other.port && dialer == other.dialer;
  }
};

/** Consecutive indices in the targets of a rule. */
struct TargetRange {
  int first;
  int end;
  int size() const { return end - first; }
};

/** Other targets for the callers of some sources; see agent/engine/divert.ts. */
struct Divert {
  std::string name;
  AddressGuard::Sets from;
  std::vector<Target> targets;
  int64_t max = INT64_MAX;  // connections and flows at once
  Reason refusal = kNoReason;  // beyond it
  TargetRange range{};  // of its targets among all of the rule
  /** Connections and flows of all threads, those of replaced rules included. */
  std::shared_ptr<std::atomic<int64_t>> active = std::make_shared<std::atomic<int64_t>>(0);

  /** Like a guard's deny list, an address matches if it or the IPv4 address that it leads to is in a set. */
  bool matches(const Address& source) const;
};

/** Counts a connection or flow as one of a divert until it is destroyed or released. */
class DivertUse {
 public:
  DivertUse() = default;
  DivertUse(const DivertUse&) = delete;
  DivertUse& operator=(const DivertUse&) = delete;
  ~DivertUse() { release(); }
  /** Returns the reason of the refusal if the divert is full. */
  Reason enter(const Divert& divert) {
    if (divert.active->fetch_add(1) >= divert.max) {
      divert.active->fetch_sub(1);
      return divert.refusal;
    }
    active_ = divert.active.get();
    return kNoReason;
  }
  void release() {
    if (auto* active = std::exchange(active_, nullptr)) active->fetch_sub(1);
  }

 private:
  std::atomic<int64_t>* active_ = nullptr;  // lives as long as the rule
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
  std::vector<Target> targets;  // of an open rule, those of its diverts follow
  std::vector<Divert> diverts;  // the first that matches a caller counts
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
  bool has_dialer() const {
    return std::ranges::any_of(targets, [](const Target& target) { return !target.dialer.empty(); });
  }
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
      : RuleConfig(with_all_targets(std::move(config))),
        own_targets{0, diverts.empty() ? static_cast<int>(targets.size()) : diverts.front().range.first},
        descriptors(std::move(descriptors)),
        health(targets.size(), std::move(on_health_change)),
        threads_active(static_cast<int>(threads)) {
    for (size_t i = 0; i < threads; i++)
      counters.push_back(std::make_unique<RuleCounters>(port_count(), targets.size()));
    threads_listening = static_cast<int>(threads);
  }

  const TargetRange own_targets;
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

  /** Returns the divert of a new caller; null: the rule's own targets. */
  const Divert* divert_of(const Address& source) const {
    for (const Divert& divert : diverts)
      if (divert.matches(source)) return &divert;
    return nullptr;
  }
  TargetRange targets_of(const Divert* divert) const { return divert != nullptr ? divert->range : own_targets; }
  /** Returns the divert of this rule with the name of another rule's; null: there is none. */
  const Divert* same_divert(const Divert& other) const {
    const auto found = std::ranges::find(diverts, other.name, &Divert::name);
    return found != diverts.end() ? &*found : nullptr;
  }
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
  static RuleConfig with_all_targets(RuleConfig config) {
    for (Divert& divert : config.diverts) {
      const auto first = static_cast<int>(config.targets.size());
      config.targets.insert(config.targets.end(), divert.targets.begin(), divert.targets.end());
      divert.range = {first, static_cast<int>(config.targets.size())};
    }
    return config;
  }

  std::mutex mutex_;  // guards `filters`, `balance->weights` and `rejected_`
  std::map<Reason, int64_t> rejected_;
};

}  // namespace sluice
