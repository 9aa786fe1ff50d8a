#include "target-chooser.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sys.h"

namespace sluice {

namespace {

/** Returns all items with the least value, in order. */
template <class ValueOf>
std::vector<int> least(const std::vector<int>& items, ValueOf&& value_of) {
  std::vector<int> found;
  double lowest = INFINITY;
  for (const int item : items) {
    const double value = value_of(item);
    if (value < lowest) found.clear();
    if (value <= lowest) found.push_back(item);
    lowest = std::min(lowest, value);
  }
  return found;
}

/** FNV-1a, then the finalizer of MurmurHash3, 32 bits. */
uint32_t hash(const std::string& text) {
  uint32_t bits = 0x811c9dc5;
  for (const char byte : text) bits = (bits ^ static_cast<uint8_t>(byte)) * 0x01000193;
  bits = (bits ^ bits >> 16) * 0x85ebca6b;
  bits = (bits ^ bits >> 13) * 0xc2b2ae35;
  return bits ^ bits >> 16;
}

}  // namespace

TargetChooser::TargetChooser(Rule& rule)
    : rule_(rule),
      targets_(rule.own_targets.end),
      credits_(targets_),
      random_(sys::random_value<uint32_t>()) {}

int TargetChooser::next(Dial& dial, int64_t now_ms) {
  weights_ = rule_.current_weights();
  dial.tried.resize(targets_);
  std::vector<int> left;
  for (const auto& [is_last_resort, ignores_health] : {std::pair(false, false), {true, false}, {true, true}}) {
    is_last_resort_ = is_last_resort;
    dial.ignores_health = ignores_health;
    left = candidates(dial, now_ms);
    if (!left.empty()) break;
  }
  if (left.empty()) return -1;
  const int target = left.size() == 1 ? left[0] : choose(left, dial.source);
  dial.tried[target] = true;
  return target;
}

std::vector<int> TargetChooser::candidates(const Dial& dial, int64_t now_ms) const {
  std::vector<int> found;
  for (int target = 0; target < targets_; target++)
    if (!dial.tried[target] && weight(target) > 0 &&
        (dial.ignores_health || rule_.health.is_due(target, now_ms)))
      found.push_back(target);
  return least(found, [&](int target) { return static_cast<double>(rule_.balance->tiers[target]); });
}

int TargetChooser::choose(const std::vector<int>& candidates, const Address& source) {
  switch (rule_.balance->by) {
    case Balance::By::round_robin: return choose_in_turn(candidates);
    case Balance::By::least_connections:
      return choose_in_turn(least(candidates, [&](int target) { return load(target); }));
    case Balance::By::random_two: return choose_of_two(candidates);
    case Balance::By::source_hash: break;
  }
  const bool is_shortened = source.family == Family::v6 && rule_.balance->ipv6_prefix < 128;
  const std::string text = (is_shortened ? source.network(rule_.balance->ipv6_prefix) : source).text();
  return least(candidates, [&](int target) { return distance(target, text); })[0];
}

/** Smooth weighted round robin: every target earns its weight; the richest is chosen and pays the sum. */
int TargetChooser::choose_in_turn(const std::vector<int>& candidates) {
  double earned = 0;
  for (const int target : candidates) {
    credits_[target] += weight(target);
    earned += weight(target);
  }
  const int chosen = least(candidates, [&](int target) { return -credits_[target]; })[0];
  credits_[chosen] -= earned;
  return chosen;
}

int TargetChooser::choose_of_two(std::vector<int> candidates) {
  const int one = choose_at_random(candidates);
  std::erase(candidates, one);
  return least({one, choose_at_random(candidates)}, [&](int target) { return load(target); })[0];
}

int TargetChooser::choose_at_random(const std::vector<int>& candidates) {
  const double all = std::accumulate(candidates.begin(), candidates.end(), 0.0,
                                     [&](double sum, int target) { return sum + weight(target); });
  double rest = std::uniform_real_distribution<double>(0, all)(random_);
  const auto found = std::ranges::find_if(candidates, [&](int target) { return (rest -= weight(target)) < 0; });
  return found != candidates.end() ? *found : candidates.back();
}

/** Returns the load with one more connection, in proportion to the target's weight. */
double TargetChooser::load(int target) const {
  int64_t active = 1;
  for (const auto& counters : rule_.counters) active += counters->targets[target].active.value();
  return static_cast<double>(active) / weight(target);
}

/** Weighted rendezvous hashing: the nearest target of an address is the same with and without the others. */
double TargetChooser::distance(int target, const std::string& source) const {
  const Target& one = rule_.targets[target];
  std::string key = source + ' ' + one.host + ' ' + std::to_string(one.port);
  if (!one.dialer.empty()) key += ' ' + one.dialer;
  const uint32_t bits = hash(key);
  return -std::log((bits + 0.5) / 4294967296.0) / weight(target);
}

}  // namespace sluice
