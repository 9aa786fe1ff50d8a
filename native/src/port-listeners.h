// One thread's listeners of a TCP port or range, the rules that share them by TLS name, and callers
// without a rule yet.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "connection.h"
#include "tcp-rule-shard.h"

namespace sluice {

class PortListeners final : public DeferredDelete {
 public:
  PortListeners(Worker& worker, BoundSockets sockets, std::shared_ptr<WaitingCallers> waiting);
  ~PortListeners() override;

  void add(TcpRuleShard& shard);
  void remove(TcpRuleShard& shard);
  bool is_empty() const { return shards_.empty(); }
  /** Accepts callers that wait in the listen queues, which a close would reset. */
  void accept_waiting();
  /** Closes the listeners: no more connections are accepted. */
  void close();
  /** Stops accepting from these sockets; they keep listening for the rule that takes them over. */
  void hand_over(const BoundSockets& sockets);

 private:
  class Listener;
  class Arrival;

  void on_accepted(Fd socket, const Address& caller, uint16_t port);
  void start_arrival(Fd socket, const Address& sender, uint16_t port);
  /** Hands the caller to `shard`. Without a shard, resets the caller and counts and reports `reason`, if any. */
  void finish_arrival(Arrival& arrival, TcpRuleShard* shard, Reason reason);
  void remove_arrival(Arrival& arrival);
  /** Resets a caller that has no rule yet; counts and reports it. */
  void refuse(int socket, const Address& sender, Reason reason);
  /** The first read of the port; equal for every rule on it. */
  /** The share of the owner of all rules here; null if there are several owners. */
  std::shared_ptr<DescriptorShare> common_share() const;
  const std::shared_ptr<const FirstRead>& first_read() const { return shards_.front()->rule->first_read; }
  /** Finds the rule by exact name, then by wildcard, then the default one; null if there is none. */
  TcpRuleShard* find_shard(const std::string& name) const;
  /** Returns the rule that counts callers without a matching rule: the default, else the oldest on the port. */
  TcpRuleShard& refusal_shard() const;
  /** True if every rule of the port denies this source. */
  bool is_denied(const Address& source) const;

  Worker& worker_;
  const std::shared_ptr<WaitingCallers> waiting_;  // of the port, on all threads
  std::vector<TcpRuleShard*> shards_;  // oldest first
  std::map<std::string, TcpRuleShard*> shards_by_name_;
  TcpRuleShard* default_shard_ = nullptr;  // of the rule without a name
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::unique_ptr<Arrival>> arrivals_;
};

}  // namespace sluice
