// One thread's part of an open rule, TCP or UDP. It exists until its last connection or flow has ended.
#pragma once

#include <memory>

#include "target-chooser.h"
#include "worker.h"

namespace sluice {

/** Receives the result of a dial: a connected stream or datagram socket, or a failure. */
template <class Connected>
class DialerOwner {
 public:
  virtual void dial_succeeded(Connected connected) = 0;
  /** `refusal`: why addresses were refused, or `kNoReason`. */
  virtual void dial_failed(Reason refusal) = 0;

 protected:
  ~DialerOwner() = default;
};

/** Limits the events of a kind that JavaScript only logs: 8 per second, one per target of a rule. */
class ReportLimit {
 public:
  bool admit(int64_t now_ms) {
    if (now_ms - since_ms_ >= 1'000) {
      since_ms_ = now_ms;
      count_ = 0;
    }
    return ++count_ <= 8;
  }

 private:
  int64_t since_ms_ = 0;
  int count_ = 0;  // since then
};

class RuleShard : public DeferredDelete {
 public:
  RuleShard(Worker& worker, std::shared_ptr<Rule> rule);

  /** Closes the rule on this thread; resets live connections after `drain_ms`, below 0 never. An earlier deadline wins. */
  void close(int64_t drain_ms);
  /** Ends connections and flows that the new filters do not allow. */
  virtual void recheck_filters() = 0;
  bool is_closed() const { return is_closed_; }
  bool uses_meter(const Meter& meter) const;

  /** Closes the sockets of a UDP rule. Those of a TCP rule belong to its `PortListeners`. */
  virtual void stop_listening() {}
  virtual void reset_all(ConnectionEnd why) = 0;
  /** Ends the connections and flows of ports that are not in `keep`. */
  virtual void reset(PortRange keep) = 0;
  /** Ends connections and flows to these targets; pending dials end once connected. */
  void reset_targets(const std::vector<int>& targets);
  /** Adds the rows that match the query. */
  virtual void collect(OpenConnections& found) const = 0;
  /** Resets all that match; returns how many. */
  virtual int64_t end_selected(const ConnectionSelection& selection) = 0;
  /** Refuses connections and flows while the owner owes descriptors. */
  virtual void give_back() = 0;
  /** Lets connections that wait for a meter retry. */
  virtual void meter_changed() = 0;

  /** Return the reason of a refusal, or `kNoReason`. */
  Reason check_source(const Address& caller) { return filters().check_source(caller); }
  Reason recheck_source(const Address& caller) { return filters().recheck_source(caller); }
  Reason check_target(const Address& address, const std::string& host);
  /** Counts a caller for its source until `uses` is released. Returns the reason of a refusal. */
  Reason enter_source(const Address& caller, SourceUses& uses);
  /** Chooses the targets of a caller. Counts it for its divert until `use` is released, or returns the refusal. */
  Reason enter_divert(const Address& caller, const Divert*& divert, DivertUse& use) const {
    if (rule->diverts.empty()) return kNoReason;
    divert = rule->divert_of(caller);
    return divert != nullptr ? use.enter(*divert) : kNoReason;
  }
  /** Returns the index of a target among those of the divert, or of the rule; -1: none. */
  int index_in_group(int target, const Divert* divert) const {
    return target < 0 ? target : target - rule->targets_of(divert).first;
  }
  static std::string name_of(const Divert* divert) { return divert != nullptr ? divert->name : std::string(); }
  /** Counts a failed handshake of a caller. */
  void handshake_failed(const Address& caller);
  bool is_reset(int target) const { return target >= 0 && !reset_targets_.empty() && reset_targets_[target]; }
  /** Counts the failure. Reports 8 per second at most, because JavaScript only logs them. */
  void dns_failed(const std::string& host, const std::string& reason);
  /** Report once per rule. */
  void report_splice_selected();
  void report_splice_unsupported(int error);

  Worker& worker;
  const std::shared_ptr<Rule> rule;
  RuleCounters& counters;
  const std::unique_ptr<TargetChooser> chooser;  // null: targets are dialed in order

 protected:
  virtual bool is_empty() const = 0;
  /** Ends connections and flows to targets marked in `is_reset`. */
  virtual void end_reset() = 0;
  /** Ends a closed shard. Called whenever a connection or flow has ended. */
  void end_when_empty();

 private:
  /** Takes a token from the source's bucket of the limit; returns the reason of a refusal. */
  Reason take_from(const SourceLimit& limit, const Source& source);
  bool is_trusted_sender(const Address& caller) const {
    return rule->first_read != nullptr && rule->first_read->trusts(caller);
  }
  const Filters& filters();
  void on_drained() { reset_all(ConnectionEnd::rule_closed); }

  std::shared_ptr<const Filters> filters_;
  uint32_t filters_version_;
  std::vector<bool> reset_targets_;  // by target; empty: none
  bool is_closed_ = false;
  bool has_ended_ = false;
  ReportLimit dns_reports_;
  MethodTimer<RuleShard, &RuleShard::on_drained> drain_timer_{*this};
};

}  // namespace sluice
