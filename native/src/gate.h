// A thread's part of an open rule, of either protocol, until the last of its connections or flows has ended.
#pragma once

#include <memory>

#include "worker.h"

namespace sluice {

class Gate : public Mortal {
 public:
  Gate(Worker& worker, std::shared_ptr<Rule> rule);

  /** The port is shut. What lives is cut after `drain_ms`, or earlier when another call says so. */
  void close(int64_t drain_ms);
  /** Filters have been replaced: who is no longer allowed is reset. */
  virtual void judge_all() = 0;
  bool is_shut() const { return is_shut_; }
  bool passes(const Meter& meter) const;

  /** UDP: its sockets are closed. A TCP rule's belong to its place. */
  virtual void leave_port() {}
  /** Everything that lives is cut, now. */
  virtual void cut() = 0;
  /** A meter has changed: who waits asks again. */
  virtual void wake() = 0;

  /** Why a caller may not come in, or an address not be dialled; or none. */
  Reason judge_source(const Address& caller) { return filters().judge_source(caller); }
  Reason judge_target(const Address& address, const std::string& host);
  void dns_failed(const std::string& host, const std::string& reason);
  /** Tells once a rule. */
  void tell_splice_selected();
  void tell_splice_unsupported(int error);

  Worker& worker;
  const std::shared_ptr<Rule> rule;
  Counters& counters;

 protected:
  virtual bool is_empty() const = 0;
  /** To be called whenever something has ended. */
  void end_when_empty();

 private:
  void cut_now() { cut(); }
  const Filters& filters();

  std::shared_ptr<const Filters> filters_;
  uint32_t filters_age_;
  bool is_shut_ = false;
  bool has_ended_ = false;
  TimerOf<Gate, &Gate::cut_now> drain_{*this};
};

}  // namespace sluice
