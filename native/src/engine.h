// The engine as its one controlling thread sees it: which rules, ports and meters there are, and the threads
// at work.
#pragma once

#include <pthread.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rule.h"
#include "shared.h"
#include "worker.h"

namespace sluice {

/** What was refused: the contract's code, and words. */
struct Refusal {
  std::string code;
  std::string message;
};

class Engine final : public MeterListener {
 public:
  struct Options {
    std::vector<Address> bind;
    size_t threads;
    bool may_splice;
    std::function<void()> wake;  // events wait to be taken; called on any thread
  };

  explicit Engine(Options options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() override { stop(); }
  /** 0, or why it cannot be. */
  int start();

  std::optional<Refusal> open(RulePlan plan, const std::vector<int>& meters);
  /** The port is shut when it returns. */
  void close(int rule_id, int64_t drain_ms);
  void filter(int rule_id, std::shared_ptr<const Filters> filters);
  void meter(int id, const Limits& limits);
  bool budget(int meter_id, const std::optional<Budget>& budget);
  void unmeter(int id) { meters_.erase(id); }
  void resolved(int64_t token, Answer answer);
  /** Cuts everything, joins the threads. */
  void stop();

  Reasons& reasons() { return shared_.reasons; }
  std::vector<Event> take_events() { return shared_.events.take(); }
  /** A rule, a meter, the peeks, dropped events: one after the other as numbers. `native/sample.ts` reads them. */
  void write_rule(int rule_id, std::vector<double>& out);
  void write_sample(std::vector<double>& out);
  /** What `closed` was told of. */
  void forget(int rule_id) { rules_.erase(rule_id); }

 private:
  /** A port, or range, that is listened on: by one rule, or by several with names. */
  struct Door {
    bool is_udp;
    bool is_named;
    uint16_t from;
    uint16_t to;
    int64_t descriptors;
    std::shared_ptr<std::atomic<int>> peeking;
    std::map<std::string, int> rules;  // by name; "" has none
  };
  using Sockets = std::vector<std::vector<Bound>>;  // by thread

  void spent(Meter& meter, uint64_t epoch, int64_t hold_ms) override;
  void changed(Meter& meter) override;
  std::optional<Refusal> check(const RulePlan& plan) const;
  std::optional<Refusal> open_door(const RulePlan& plan, Sockets& sockets);
  std::optional<Refusal> listen(const RulePlan& plan, const Address& place, Sockets& sockets) const;
  void leave_door(const Rule& rule);
  std::shared_ptr<Rule> make_rule(RulePlan plan);
  OwnPorts& own_ports(bool is_udp) { return is_udp ? shared_.udp_ports : shared_.tcp_ports; }

  Shared shared_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<pthread_t> threads_;
  std::map<int, std::shared_ptr<Meter>> meters_;
  std::map<int, std::shared_ptr<Rule>> rules_;       // open and draining
  std::map<std::pair<bool, uint16_t>, Door> doors_;  // by protocol and first port
};

}  // namespace sluice
