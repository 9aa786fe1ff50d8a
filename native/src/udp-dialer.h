// Connects datagram sockets to a rule's targets: DNS names, target filters, failover.
#pragma once

#include <vector>

#include "rule-shard.h"

namespace sluice {

class UdpRuleShard;

struct ConnectedUdpTarget {
  Fd socket;
  Address address;
  TargetAttempt attempt;     // succeeds with the target's first reply
  bool is_failover = false;  // a dial of another target failed before
  TargetUse use;
};

/** Dials once. Calls its owner exactly once, possibly from within `begin`, unless it is cancelled before. */
class UdpDialer final : private ResolveRequester {
 public:
  UdpDialer(UdpRuleShard& shard, int port_index, const Address& caller, DialerOwner<ConnectedUdpTarget>& owner)
      : shard_(shard), owner_(owner), port_index_(port_index), choice_{caller} {}
  ~UdpDialer() { cancel(); }

  void begin();
  void cancel();

 private:
  /** Tries target after target until one is connected or a DNS name must be resolved. */
  void try_next();
  bool begin_next_target();
  void begin_attempt();
  void on_resolved(const ResolveAnswer& answer) override;
  bool connect(const std::vector<Address>& addresses);
  int connect_to(const Address& address, Fd& socket);
  const Target& target() const;
  TargetChooser* chooser() const;

  UdpRuleShard& shard_;
  DialerOwner<ConnectedUdpTarget>& owner_;
  const int port_index_;
  TargetChooser::Dial choice_;  // for a rule with a balance
  int target_ = -1;
  /** The dial order if all targets have failed. A flow cannot fail over later: ICMP errors come too late. */
  std::vector<int> failed_targets_;
  size_t next_failed_ = 0;
  bool is_failover_ = false;
  Reason refusal_ = kNoReason;
  int64_t token_ = 0;  // of a pending resolve; 0: none
  TargetAttempt attempt_;
  TargetUse use_;
};

}  // namespace sluice
