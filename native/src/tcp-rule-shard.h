// One thread's part of a TCP rule: its connections and probes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rule-shard.h"

namespace sluice {

class Connection;
struct Caller;

class TcpRuleShard final : public RuleShard {
 public:
  static constexpr int64_t kDescriptors = 2;  // of a connection: its caller's and its target's

  TcpRuleShard(Worker& worker, std::shared_ptr<Rule> rule);
  ~TcpRuleShard() override;

  /** Starts a connection. The caller has passed the source filter, and its descriptors are reserved. */
  void start_connection(Caller caller);
  /** Counts a refused caller, and reports it if the rule has `report_ends`. */
  void refuse(int socket, const Address& caller, Reason refusal, std::string server_name = {});
  /** Reports a caller without a connection if the rule has `report_ends`. */
  void report(int socket, const Address& caller, ConnectionEnd why, Reason refusal = kNoReason,
              std::string server_name = {});
  void reset_all(ConnectionEnd why) override;
  void reset(PortRange keep) override;
  void collect(OpenConnections& found) const override;
  int64_t end_selected(const ConnectionSelection& selection) override;
  void give_back() override;
  void meter_changed() override;
  void remove(Connection& connection);

 private:
  class Probe;
  void recheck_filters() override;
  void end_reset() override;
  bool is_empty() const override;
  /** Returns a copy, because a connection leaves the list when it ends. */
  std::vector<Connection*> all_connections() const;

  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Probe>> probes_;
};

}  // namespace sluice
