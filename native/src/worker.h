// One thread of the engine: its event loop and its part of each rule. Other threads only call `loop.post`.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ended-connections.h"
#include "engine-context.h"
#include "event-loop.h"
#include "local-addresses.h"
#include "names.h"
#include "open-connections.h"
#include "pipe-pool.h"
#include "rule.h"
#include "target-dials.h"
#include "udp-batch.h"
#include "waiting-callers.h"

namespace sluice {

class RuleShard;
class PortListeners;

/** A bound socket. The threads share the sockets of a wide port range. */
struct BoundSocket {
  std::shared_ptr<Fd> socket;
  Address address;
  bool is_shared = false;
};
using BoundSockets = std::vector<BoundSocket>;

class Worker {
 public:
  Worker(EngineContext& context, size_t index, size_t count);
  ~Worker();

  void open(std::shared_ptr<Rule> rule, BoundSockets sockets, std::shared_ptr<WaitingCallers> waiting);
  void close(int rule_id, int64_t drain_ms);
  void reset_targets(int rule_id, const std::vector<int>& targets);
  void reset(int rule_id, PortRange keep);
  void filters_changed(int rule_id);
  void collect(OpenConnections& found);
  /** Resets the selected connections and flows; returns how many. */
  int64_t end_selected(const ConnectionSelection& selection);
  void meter_changed(Meter& meter);
  /** Ends as many connections and flows of the owner as it owes. */
  void give_back(DescriptorShare& share);
  /** Resets the connections of an exhausted meter after `hold_ms`, unless its budget is raised before. */
  void start_hold(std::shared_ptr<Meter> meter, uint64_t version, int64_t hold_ms);
  void stop();

  /** Returns an id for a connection or flow, unique in the engine. */
  int64_t new_id() { return ++ids_ * static_cast<int64_t>(count_) + static_cast<int64_t>(index); }
  /** True on the one thread that does work needed once per rule, such as probes. */
  bool is_primary_for(int rule_id) const { return static_cast<size_t>(rule_id) % count_ == index; }
  /** Builds the preamble of this caller; only for a rule with a preamble. */
  std::string write_preamble(const Rule& rule, const Address& source, const Address& listen,
                             std::string_view server_name);
  /**
   * True when a dialed socket is connected to itself: the system may give a dial to a free port of this host the same
   * port (simultaneous open, RFC 9293 section 3.5).
   */
  bool is_self_connected(int socket, const Address& target);
  /** Deletes a closed shard without connections or flows; the last thread reports the rule as closed. */
  void remove_shard(RuleShard& shard);

  EngineContext& context;
  const size_t index;
  EventLoop loop;
  Names names;
  TargetDials target_dials;
  LocalAddresses local_addresses{loop};
  PipePool pipes;
  std::array<char, 16 * 1024> buffer;  // for copying; no bytes stay in it
  UdpBatch udp_batch;
  EndedConnections ended{loop, context.events};

 private:
  class BudgetHold;

  static PortRange ports_of(const Rule& rule) { return {rule.from, rule.to}; }
  void stop_listening(RuleShard& shard);
  void open_udp(std::shared_ptr<Rule> rule, BoundSockets sockets, RuleShard* replaced);
  void open_tcp(std::shared_ptr<Rule> rule, BoundSockets sockets, std::shared_ptr<WaitingCallers> waiting, RuleShard* replaced);

  const size_t count_;
  std::array<char, 16> connection_id_;  // of the last preamble; random at first, then counts up
  int64_t ids_ = 0;
  std::unordered_map<int, std::unique_ptr<RuleShard>> shards_;              // by rule
  std::map<PortRange, std::unique_ptr<PortListeners>> listeners_;           // TCP
  std::unordered_map<int, std::unique_ptr<BudgetHold>> holds_;              // by meter
};

}  // namespace sluice
