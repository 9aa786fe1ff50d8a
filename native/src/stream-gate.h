// A thread's part of a TCP rule.
#pragma once

#include <memory>
#include <vector>

#include "gate.h"

namespace sluice {

class Connection;
struct Caller;

class StreamGate final : public Gate {
 public:
  static constexpr int64_t kDescriptors = 2;  // a connection's: its caller's and its target's

  StreamGate(Worker& worker, std::shared_ptr<Rule> rule);
  ~StreamGate() override;

  /** Its two descriptors are taken; the source filter has allowed it. */
  void welcome(Caller caller);
  void cut() override;
  void wake() override;
  /** Its story is over. */
  void part(Connection& connection);

 private:
  class Probe;
  void judge_all() override;
  bool is_empty() const override;
  std::vector<Connection*> everybody() const;

  std::vector<std::unique_ptr<Connection>> live_;
  std::vector<std::unique_ptr<Probe>> probes_;
};

}  // namespace sluice
