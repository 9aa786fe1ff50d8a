// A thread's listeners of a TCP port or range, and the rules that share them by name.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "connection.h"
#include "stream-gate.h"

namespace sluice {

class Place final : public Mortal {
 public:
  Place(Worker& worker, std::vector<Bound> sockets, std::shared_ptr<std::atomic<int>> peeking);
  ~Place() override;

  void join(StreamGate& gate);
  void leave(StreamGate& gate);
  bool is_empty() const { return gates_.empty(); }
  /** Nobody comes in any more. */
  void shut();

 private:
  class Listener;
  class Peek;

  void meet(Fd socket, const Address& caller, uint16_t port);
  void peek_at(Fd socket, const Address& caller);
  /** Its name is known, or will never be; without a gate nobody wants it. */
  void named(Peek& peek, StreamGate* gate, Reason reason);
  void part(Peek& peek);
  /** By exact name, then by wildcard, then the nameless rule; or none. */
  StreamGate* find(const std::string& name) const;
  /** Whom a caller is counted on that no rule wants. */
  Rule& blamed() const;

  Worker& worker_;
  const std::shared_ptr<std::atomic<int>> peeking_;  // in flight, on all threads
  std::vector<StreamGate*> gates_;                   // longest open first
  std::map<std::string, StreamGate*> names_;
  StreamGate* nameless_ = nullptr;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::unique_ptr<Peek>> peeks_;
};

}  // namespace sluice
