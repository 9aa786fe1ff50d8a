// Connects to a rule's targets: DNS names, target filters, failover, happy eyeballs (RFC 8305). JavaScript dials those with
// a dialer.
#pragma once

#include <memory>
#include <vector>

#include "endpoint.h"
#include "rule-shard.h"

namespace sluice {

struct ConnectedTarget {
  std::unique_ptr<Endpoint> endpoint;  // null: a probe by a dialer, which needs no connection
  int target;
  Address address;
  bool is_failover;  // an earlier dial of another target failed
  TargetUse use;
  std::shared_ptr<DialedStream> stream;  // of a dialer; null: a TCP socket
};

/** Dials once. Calls its owner exactly once, possibly from within `begin`, unless it is cancelled first. */
class Dialer final : public DeferredDelete,
                     public EndpointOwner,
                     public ResolveRequester,
                     public DialRequester,
                     public Pooled<Dialer> {
 public:
  /** Dials the targets of `divert`; null: those of the rule. `dial_caller` is for dialers, and stays with the owner. */
  Dialer(RuleShard& shard, int port_index, const Address& caller, const std::string* dial_caller, const Divert* divert,
         DialerOwner<ConnectedTarget>& owner)
      : shard_(shard),
        owner_(owner),
        port_index_(port_index),
        dial_caller_(dial_caller),
        targets_(shard.rule->targets_of(divert)),
        chooser_(divert == nullptr ? shard.chooser.get() : nullptr),
        choice_{caller},
        target_(targets_.first - 1) {}
  ~Dialer() override { cancel(); }

  /** Tries the targets in order until one connects. */
  void begin();
  /** Tries one target, whatever its health. */
  void begin_probe(int target);
  void cancel();

 private:
  struct Attempt {
    std::unique_ptr<Endpoint> endpoint;
    Address address;
    int64_t deadline_ms;
  };

  void next_target();
  bool advance();
  void try_target();
  void on_resolved(const ResolveAnswer& answer) override;
  void ask_dialer();
  std::shared_ptr<DialerEnd> on_dialed(int64_t token, const DialAnswer& answer) override;
  std::shared_ptr<DialerEnd> open_stream(int64_t token, const Address& address);
  void dial_literal(const Address& address);
  void dial_addresses(const std::vector<Address>& addresses);
  bool is_allowed(const Address& address);
  void dial_next_address();
  bool may_attempt();
  void give_back_descriptor();
  bool connect(const Address& address);
  void endpoint_ready(Endpoint& endpoint, uint32_t events) override;
  void drop_attempt(size_t index, const char* reason);
  void attempt_connected(size_t index);
  void connected(std::unique_ptr<Endpoint> endpoint, const Address& address, std::shared_ptr<DialedStream> stream);
  void target_failed(const char* reason);
  void fail_over();
  void finish_failed();
  void drop_all_attempts();
  void on_timer();
  void arm();
  Worker& worker() const { return shard_.worker; }
  const Target& target() const { return shard_.rule->targets[target_]; }

  RuleShard& shard_;
  DialerOwner<ConnectedTarget>& owner_;
  const int port_index_;
  const std::string* const dial_caller_;  // null: a probe, or a rule without dialers
  const TargetRange targets_;
  TargetChooser* const chooser_;  // null: the targets are dialed in order
  TargetChooser::Dial choice_;  // of the chooser
  int target_;
  bool is_probe_ = false;
  bool are_all_failed_ = false;
  bool is_done_ = false;
  Reason refusal_ = kNoReason;
  int64_t token_ = 0;  // of a pending resolve; 0: none
  int64_t dial_token_ = 0;  // of a pending answer of a dialer; 0: none
  int64_t deadline_ms_ = 0;
  int64_t dialed_at_ms_ = 0;  // the first address of the target
  int64_t next_attempt_ms_ = 0;  // when to try the next address in parallel with a slow one; 0: never
  TargetAttempt attempt_;
  TargetUse use_;
  std::vector<Address> remaining_;  // in reverse order
  std::vector<Attempt> attempts_;
  int further_attempts_ = 0;  // with a reserved descriptor; the owner of the dial has one for the other attempt
  const char* first_failure_ = nullptr;  // of the target's addresses
  bool is_failover_ = false;
  MethodTimer<Dialer, &Dialer::on_timer> timer_{*this};
};

}  // namespace sluice
