// Connects datagram sockets to a rule's targets: DNS names, target filters, failover.
#pragma once

#include <memory>
#include <optional>
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

  /** Dials the targets of `divert`; null: those of the rule. */
  void begin(const Divert* divert);
  /**
   * Dials for a flow without an answer from its target: an address that its name has got since, else the next target, else
   * another address of the name. Fails without a socket if there is none of them.
   */
  void begin_again(int silent_target, const Address& silent_address);
  void cancel();

 private:
  /** Tries target after target until one is connected or a DNS name must be resolved. */
  void try_next();
  bool begin_next_target();
  int choose(int64_t now_ms);
  void begin_attempt();
  std::shared_ptr<const ResolveAnswer> resolve();
  void on_resolved(const ResolveAnswer& answer) override;
  void own_name_resolved(const ResolveAnswer& answer);
  bool connect_again(const std::vector<Address>& order);
  std::vector<Address> dial_order(const std::vector<Address>& addresses) const;
  bool connect(const std::vector<Address>& order);
  int connect_to(const Address& address, Fd& socket);
  const Target& target() const;

  UdpRuleShard& shard_;
  DialerOwner<ConnectedUdpTarget>& owner_;
  const int port_index_;
  TargetChooser::Dial choice_;  // of the chooser
  TargetRange targets_{};
  TargetChooser* chooser_ = nullptr;  // null: the targets are dialed in order
  int target_ = -1;
  int first_target_ = 0;
  int offset_ = -1;  // from it
  /** The target and address that a flow is to leave. */
  struct Silent {
    int target;
    Address address;
  };
  std::optional<Silent> silent_;
  bool is_own_name_ = false;        // the name of the silent target is being resolved
  bool has_started_over_ = false;   // all targets had been tried
  std::vector<Address> spare_;      // the other addresses of its name
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
