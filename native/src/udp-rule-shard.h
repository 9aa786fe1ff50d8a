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
  void give_back() override;
  void meter_changed() override {}

  UdpBatch& batch() const { return worker.udp_batch; }
  /** Orders addresses as TCP dials them, but those with a recent ICMP error or without an answer come last. */
  std::vector<Address> dial_order(const std::vector<Address>& addresses, uint16_t port);
  /** Remembers an address with an ICMP error, for `dial_order`. */
  void record_refusal(const Address& address);
  void report_eviction(int target, int error);
  /** Remembers an address that does not answer, for `dial_order`. */
  void record_silence(const Address& address);
  /** Reports that a flow has left a target. At most 8 reports per second, because they are only examples. */
  void record_redial(int from, const Address& from_address, int to, const Address& to_address);
  /** Calls `settle_old` of the flow until it returns false. */
  void settle_later(UdpFlow& flow);
  void remove(UdpFlow& flow);

 private:
  class Listener;
  struct Key {
    SourceAddress source;
    ReplySource local;  // the address that its datagrams were sent to
    int port;           // and their port
    bool operator==(const Key& other) const = default;
  };
  struct Hash {
    uint64_t seed;  // random, because callers choose their ports and must not choose hash buckets
    size_t operator()(const Key& key) const;
  };

  /** The flows of all successive rules of these sockets, so that each datagram finds its flow. */
  using FlowTable = std::unordered_map<Key, UdpFlow*, Hash>;

  Key key_of(const UdpPath& path) const { return {path.source, path.reply_source, rule->from + path.port_index}; }
  /** Returns the flow, or null. Ends a flow that waits in vain for a target of a replaced rule. */
  UdpFlow* find_flow(const UdpPath& path) const;
  /** Stops reading this socket, which the new rule takes over. */
  void hand_over(const BoundSocket& bound);
  /** Receives one batch; returns true if there may be more. */
  bool receive(const Listener& listener);
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
  ReportLimit redial_reports_;
  MethodTimer<UdpRuleShard, &UdpRuleShard::sweep> sweep_{*this};
  std::unordered_set<UdpFlow*> unsettled_;
  MethodTimer<UdpRuleShard, &UdpRuleShard::settle_flows> settling_{*this};
};

}  // namespace sluice
