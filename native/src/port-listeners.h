// One thread's listeners of a TCP port or range, and the rules that share them by TLS name.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "connection.h"
#include "tcp-rule-shard.h"

namespace sluice {

class PortListeners final : public DeferredDelete {
 public:
  PortListeners(Worker& worker, BoundSockets sockets, PeekCount active_peeks);
  ~PortListeners() override;

  void add(TcpRuleShard& shard);
  void remove(TcpRuleShard& shard);
  bool is_empty() const { return shards_.empty(); }
  /** Closes the listeners: no more connections are accepted. */
  void close();

 private:
  class Listener;
  class SniPeek;

  void on_accepted(Fd socket, const Address& caller, uint16_t port);
  void start_peek(Fd socket, const Address& caller);
  /** Hands the caller to `shard`. Without a shard, resets the caller and counts `reason`, if any. */
  void finish_peek(SniPeek& peek, TcpRuleShard* shard, Reason reason);
  void remove_peek(SniPeek& peek);
  /** Finds the rule by exact name, then by wildcard, then the default one; null if there is none. */
  TcpRuleShard* find_shard(const std::string& name) const;
  /** The rule that counts callers which match no rule: the default, else the oldest on the port. */
  Rule& refusal_rule() const;

  Worker& worker_;
  const PeekCount active_peeks_;       // on all threads
  std::vector<TcpRuleShard*> shards_;  // oldest first
  std::map<std::string, TcpRuleShard*> shards_by_name_;
  TcpRuleShard* default_shard_ = nullptr;  // of the rule without a name
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::unique_ptr<SniPeek>> peeks_;
};

}  // namespace sluice
