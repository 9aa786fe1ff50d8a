// A thread's part of an open UDP rule: its sockets and its flows.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "gate.h"
#include "udp-batch.h"
#include "udp-flow.h"

namespace sluice {

class UdpGate final : public Gate {
 public:
  UdpGate(Worker& worker, std::shared_ptr<Rule> rule, std::vector<Bound> sockets);
  ~UdpGate() override;

  void open();
  /** Flows have no end of their own to wait for: they are cut with the port. */
  void leave_port() override;
  void cut() override {}
  void wake() override {}

  UdpBatch& batch() const { return worker.udp_batch; }
  /** As TCP would dial them; but who has just refused comes last, since only a datagram finds that out. */
  std::vector<Address> in_order(const std::vector<Address>& addresses, uint16_t port);
  void evicted(int target, const Address& address, int error);
  /** It is over. */
  void drop(UdpFlow& flow);

 private:
  class Listener;
  struct Key {
    UdpCaller caller;
    int port_index;
    bool operator==(const Key& other) const = default;
  };
  struct Hash {
    uint64_t seed;  // callers choose their ports: they shall not choose their buckets
    size_t operator()(const Key& key) const;
  };
  struct Refused {
    Address address;
    int64_t at_ms;
  };

  /** True: there is more. */
  bool take(int listener, int port_index);
  void take_run(int listener, int port_index, Span run);
  /** A refusal is counted by the datagram. */
  UdpFlow* admit(const UdpWay& way, int datagrams);
  Reason enter(UdpFlow& flow);
  UdpFlow* refuse(Reason reason, int datagrams);
  void judge_all() override;
  bool is_empty() const override { return flows_.empty(); }
  void sweep();
  void arm_sweep();
  std::vector<UdpFlow*> all() const;

  std::vector<Bound> sockets_;  // not opened yet
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::unordered_map<Key, std::unique_ptr<UdpFlow>, Hash> flows_;
  std::vector<Refused> refused_;
  TimerOf<UdpGate, &UdpGate::sweep> sweep_{*this};
};

}  // namespace sluice
