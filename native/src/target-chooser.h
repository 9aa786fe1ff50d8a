// Chooses the target of a connection or flow by the balance of its rule (agent/engine/balance.ts). One per shard.
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
    bool ignores_health = false;  // of the target that was chosen last
  };
  /**
   * Returns the next target for a dial, or -1: first of those that are in service, then of those that are ejected and have
   * not failed, then of all.
   */
  int next(Dial& dial, int64_t now_ms);

 private:
  std::vector<int> candidates(const Dial& dial, int64_t now_ms) const;
  int choose(const std::vector<int>& candidates, const Address& source);
  int choose_in_turn(const std::vector<int>& candidates);
  int choose_of_two(std::vector<int> candidates);
  int choose_at_random(const std::vector<int>& candidates);
  double load(int target) const;
  double distance(int target, const std::string& source) const;
  /** The last resort has no shares: an ejected target has none. */
  double weight(int target) const {
    return weights_->weights[target] * (is_last_resort_ ? 1 : weights_->shares[target]);
  }

  Rule& rule_;
  const int targets_;  // of the rule itself
  std::shared_ptr<const TargetWeights> weights_;
  bool is_last_resort_ = false;  // of the present choice
  std::vector<double> credits_;  // by target: of the smooth weighted round robin
  std::minstd_rand random_;
};

}  // namespace sluice
