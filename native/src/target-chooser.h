// Chooses the target of a connection or flow by the balance of its rule (agent/balance.ts). One per shard.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "rule.h"

namespace sluice {

class TargetChooser {
 public:
  explicit TargetChooser(Rule& rule);

  /** The progress of one dial. */
  struct Dial {
    Address source;
    std::vector<bool> tried{};  // by target
    bool ignores_health = false;
  };
  /** Returns the next target for a dial, or -1. Failed targets that are not due are left out, unless all are. */
  int next(Dial& dial, int64_t now_ms);

 private:
  std::vector<int> candidates(const Dial& dial, int64_t now_ms);
  int choose(const std::vector<int>& candidates, const Address& source);
  int choose_in_turn(const std::vector<int>& candidates);
  int choose_of_two(std::vector<int> candidates);
  int choose_at_random(const std::vector<int>& candidates);
  double load(int target) const;
  double distance(int target, const std::string& source) const;
  double weight(int target) const { return (*weights_)[target]; }

  Rule& rule_;
  std::shared_ptr<const std::vector<double>> weights_;
  std::vector<double> credits_;  // by target: of the smooth weighted round robin
  std::minstd_rand random_;
};

}  // namespace sluice
