// The engine as JavaScript's thread sees it: its rules, bound ports and meters, and the worker threads.
#pragma once

#include <pthread.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "engine-context.h"
#include "rule.h"
#include "worker.h"

namespace sluice {

/** The reason why a call was refused: a code of the contract (`EngineFault`) and a message. */
struct EngineError {
  std::string code;
  std::string message;
};

class Engine final : public MeterListener {
 public:
  struct Options {
    std::vector<Address> bind;
    size_t threads;
    bool may_splice;
    int64_t dead_peer_ms;  // 0: never
    std::function<void()> wake;  // called on any thread when events wait to be taken
  };

  explicit Engine(Options options);
  ~Engine() override {
    stop();
    context_.events.take();  // their descriptors belong to shares of the context
  }
  /** Starts the threads. Returns 0 or a negative errno. */
  int start();

  /**
   * Binds the ports of a rule, which accepts no caller before `serve_opened`. The rule `config.replaces` hands over the
   * ports and the name that both rules have, with the callers that wait there.
   */
  std::optional<EngineError> open(RuleConfig config, const std::vector<int>& meters);
  /** Starts to accept callers on all opened rules; each thread starts them in one task, so at the same moment. */
  void serve_opened();
  /**
   * Closes a rule. It accepts no callers after this returns; the threads do the rest. Live connections are reset after
   * `drain_ms`; below 0: never.
   */
  void close(int rule_id, int64_t drain_ms);
  void set_filters(int rule_id, std::shared_ptr<const Filters> filters);
  /** Returns the set of this name, shared with the guards of all rules that name it. */
  std::shared_ptr<AddressSet> address_set(const std::string& name);
  /** Changes a set, and ends connections and flows that guards no longer allow. */
  void change_addresses(const std::string& name, const std::vector<Prefix>& add, const std::vector<Prefix>& remove);
  /** Returns the reason of the guard that refuses a new caller with this address. */
  Reason guard_refusal(int rule_id, const Address& source) const;
  /** Returns the name of the divert of a new caller with this address; empty: none. */
  std::string divert_of(int rule_id, const Address& source) const;
  /** Connects the limit to the counts that all limits of its name share. */
  void join_counts(SourceLimit& limit);
  /** Resets the connections and flows to these targets of the rule. */
  void reset_targets(int rule_id, std::vector<int> targets);
  /** Resets the connections and flows of the rule, except those on the ports in `keep`. */
  void reset(int rule_id, PortRange keep);
  /** Returns false unless `weights` has one valid number for each target. */
  bool set_weights(int rule_id, std::vector<double> weights);
  /** Like `set_weights`. */
  bool set_shares(int rule_id, std::vector<double> shares);
  /** Returns a page of open connections and flows, and how many match. Waits for the threads. */
  ConnectionPage connections(const ConnectionQuery& query);
  /** Resets the connections and flows that match, and returns their number. Waits for the threads. */
  int64_t end_connections(const ConnectionSelection& selection);
  /** Reserves one for a dial of the agent, within the part of an owner with rules. Returns its number; 0: none is left. */
  uint32_t reserve_descriptor(const std::string& owner);
  void release_descriptor(uint32_t reservation);
  void set_meter(int id, const Limits& limits);
  /** Returns false when there is no such meter. */
  bool set_budget(int meter_id, const std::optional<Budget>& budget);
  void remove_meter(int id) { meters_.erase(id); }
  /** Passes the answer to the lookup that asked for it with a `resolve` event. */
  void resolved(int64_t token, ResolveAnswer answer);
  /** Passes the answer to the dial that asked for it with a `dial` event. */
  void dialed(int64_t token, DialAnswer answer);
  /** Returns JavaScript's socket of a `dialed` event, which it owns. Call `release_stream` when it is closed. */
  int take_socket(std::shared_ptr<DialerEnd> end);
  /** JavaScript closes its socket next, and the engine is to find a reset. */
  void reset_stream(int64_t token);
  /** Returns true if the engine has reset the stream: an end of its bytes is then no end. */
  bool is_stream_reset(int64_t token) const;
  void release_stream(int64_t token) { streams_.erase(token); }
  /** Resets all connections and joins the threads. */
  void stop();

  Reasons& reasons() { return context_.reasons; }
  std::vector<EngineEvent> take_events() { return context_.events.take(); }
  /** Appends counters as a row of numbers, in the order that `native/sample.ts` reads. */
  void write_rule(int rule_id, std::vector<double>& out);
  void write_sample(std::vector<double>& out);
  /** Frees a rule after its `closed` event has been delivered. */
  void forget(int rule_id) { rules_.erase(rule_id); }

 private:
  using Sockets = std::vector<BoundSockets>;  // by thread
  /** A bound port or range: of one rule, or of several rules with TLS names. */
  struct PortBinding {
    bool is_named;
    int64_t descriptors;
    std::shared_ptr<WaitingCallers> waiting;
    Sockets sockets;  // without those that another binding took over
    bool is_whole;    // no socket was taken over
    std::map<std::string, int> rules;  // id by name; "" is the rule without a name
  };
  using PortKey = std::tuple<bool, uint16_t, uint16_t>;  // is UDP, first port, last port
  static PortKey key_of(const RuleConfig& config) { return {config.is_udp, config.from, config.to}; }
  struct OpenedRule {
    std::shared_ptr<Rule> rule;
    Sockets sockets;
    std::shared_ptr<WaitingCallers> waiting;
  };

  /** Runs the work on each thread, and waits until all have done it. */
  void on_all(const std::function<void(Worker&)>& work);
  bool change_weights(int rule_id, std::vector<double> TargetWeights::*which, std::vector<double> values, double max);
  void budget_exhausted(Meter& meter, uint64_t version, int64_t hold_ms) override;
  void meter_changed(Meter& meter) override;
  /** Ends connections of an owner that holds descriptors of others' shares. */
  void take_back(std::shared_ptr<DescriptorShare> share);
  std::optional<EngineError> validate(const RuleConfig& config) const;
  std::optional<EngineError> bind_ports(const RuleConfig& config);
  std::optional<EngineError> join_ports(const RuleConfig& config, PortBinding& binding) const;
  std::optional<EngineError> listen(const RuleConfig& config, const Address& address, Sockets& sockets) const;
  static bool copy_sockets(const PortBinding& from, uint16_t port, Sockets& to);
  /** Returns the binding that only `config.replaces` uses, if any. */
  PortBinding* replaced_binding(const RuleConfig& config);
  void release_ports(const Rule& rule);
  std::shared_ptr<Rule> make_rule(RuleConfig config);
  OwnPorts& own_ports(bool is_udp) { return is_udp ? context_.udp_ports : context_.tcp_ports; }

  EngineContext context_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<pthread_t> threads_;
  std::map<int, std::shared_ptr<Meter>> meters_;
  std::map<int, std::shared_ptr<Rule>> rules_;                 // open and draining
  std::map<std::string, std::shared_ptr<AddressSet>> address_sets_;
  std::map<std::string, std::pair<uint64_t, std::weak_ptr<OpenBySource>>> counts_;  // of limits, by name
  size_t counts_kept_ = 0;  // beyond this size, counts without a rule are removed
  uint64_t last_counts_ = 0;
  std::vector<OpenedRule> opened_;                             // not served yet
  std::map<PortKey, PortBinding> bindings_;
  std::map<int64_t, std::shared_ptr<DialerEnd>> streams_;      // whose sockets JavaScript has, by token
  std::map<uint32_t, std::shared_ptr<DescriptorShare>> agent_dials_;  // a share outlives the rules of its owner
  uint32_t last_agent_dial_ = 0;
};

}  // namespace sluice
