// One thread's part of a UDP rule: its listeners and its flows.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rule-shard.h"
#include "udp-batch.h"
#include "udp-flow.h"

namespace sluice {

class UdpRuleShard final : public RuleShard {
 public:
  UdpRuleShard(Worker& worker, std::shared_ptr<Rule> rule);
  ~UdpRuleShard() override;

  /** Listens. A replaced rule hands over sockets that both rules have; its flows continue. */
  void open(const BoundSockets& sockets, UdpRuleShard* replaced);
  /** Closes the listeners and ends their flows: UDP has no end of stream to wait for. */
  void stop_listening() override;
  void reset_all(ConnectionEnd why) override;
  void reset(PortRange keep) override;
  void collect(OpenConnections& found) const override;
  int64_t end_selected(const ConnectionSelection& selection) override;
  void meter_changed() override {}

  UdpBatch& batch() const { return worker.udp_batch; }
  /** Orders addresses as TCP dials them, but those with a recent ICMP error come last. */
  std::vector<Address> dial_order(const std::vector<Address>& addresses, uint16_t port);
  void record_eviction(int target, const Address& address, int error);
  /** Calls `settle_old` of the flow until it returns false. */
  void settle_later(UdpFlow& flow);
  void remove(UdpFlow& flow);

 private:
  class Listener;
  struct Key {
    SourceAddress source;
    int port;  // destination of its datagrams
    bool operator==(const Key& other) const = default;
  };
  struct Hash {
    uint64_t seed;  // random, because callers choose their ports and must not choose hash buckets
    size_t operator()(const Key& key) const;
  };
  struct Refused {
    Address address;
    int64_t at_ms;
  };

  /** The flows of all successive rules of these sockets, so that each datagram finds its flow. */
  using FlowTable = std::unordered_map<Key, UdpFlow*, Hash>;

  Key key_of(const UdpPath& path) const { return {path.source, rule->from + path.port_index}; }
  UdpFlow* find_flow(const UdpPath& path) const;
  /** Stops reading this socket, which the new rule takes over. */
  void hand_over(const BoundSocket& bound);
  /** Receives one batch; returns true if there may be more. */
  bool receive(int listener, int port_index);
  void dispatch_run(int listener, int port_index, SlotRange run);
  void dispatch_behind_header(const UdpPath& path, int slot);
  /** Returns null when the flow is refused, and counts its datagrams; also when its dial fails at once. */
  UdpFlow* create_flow(const UdpPath& path, const NamedCaller& caller, int datagrams);
  Reason enter(UdpFlow& flow);
  void recheck_filters() override;
  void end_reset() override;
  bool is_empty() const override { return flows_.empty(); }
  void sweep();
  void arm_sweep();
  void settle_flows();
  std::vector<UdpFlow*> all_flows() const;

  std::vector<std::unique_ptr<Listener>> listeners_;
  std::shared_ptr<FlowTable> table_;
  std::vector<std::unique_ptr<UdpFlow>> flows_;  // of this rule
  std::vector<Refused> refused_;
  MethodTimer<UdpRuleShard, &UdpRuleShard::sweep> sweep_{*this};
  std::unordered_set<UdpFlow*> unsettled_;
  MethodTimer<UdpRuleShard, &UdpRuleShard::settle_flows> settling_{*this};
};

}  // namespace sluice
