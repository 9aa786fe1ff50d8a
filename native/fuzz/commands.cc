// JavaScript's commands in any order, with ids that are unknown, taken or gone, to an engine at work: its threads, its
// sockets and those who call are real. Each is answered as the contract says, and nothing is left behind.
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "../src/engine.h"
#include "callers.h"
#include "script.h"

namespace {

using namespace sluice;
using namespace sluice::fake;

constexpr uint16_t kFirstPort = 20'000;
constexpr int kPorts = 6;
constexpr int kMeters = 4;
constexpr int kRules = 8;

class Session {
 public:
  Session(const uint8_t* bytes, size_t size) : input_(bytes, size) {}
  void play();

 private:
  struct Known {  // a rule that is open, or whose end has not been heard
    RuleConfig config;
    std::vector<std::pair<int, int>> meters;  // id, and which of that id
    bool is_closing = false;
  };
  using Key = std::pair<bool, uint16_t>;  // is UDP, port

  void step();
  void open();
  RuleConfig draw();
  std::string expected(const RuleConfig& config, const std::vector<int>& meters) const;
  void close();
  void meter();
  void filter();
  void answer();
  void hear();
  void heard_closed(int id);
  void look();
  void stop();
  int rule_id() { return 1 + input_.next() % kRules; }
  int meter_id() { return 1 + input_.next() % kMeters; }
  uint16_t port() { return static_cast<uint16_t>(kFirstPort + input_.next() % kPorts); }
  std::string name() { return input_.next() % 2 ? "a.test" : "*.test"; }

  Input input_;
  std::atomic<bool> may_wake_{true};
  bool is_stopped_ = false;
  Crowd crowd_;
  std::map<int, Known> rules_;
  std::map<int, int> meters_;  // id, which of that id
  int last_meter_ = 0;
  std::map<Key, std::set<std::string>> taken_;  // by what names; "" is a fallback, "-" the whole port
  std::map<std::pair<int, int>, double> passed_;  // by closed rules, in bytes
  std::vector<int64_t> tokens_;
  Engine engine_{{{*Address::parse(kEngineHost)}, 1u + input_.next() % 3, input_.next() % 4 != 0, [this] {
                    must(may_wake_, "nobody is woken after the stop");
                  }}};
};

void Session::play() {
  must(engine_.start() == 0, "it starts");
  while (!input_.has_ended()) step();
  stop();
  must(rules_.empty(), "every rule's end is told");
  look();
}

void Session::step() {
  switch (input_.next() % 16) {
    case 0:
    case 1:
    case 2: return open();
    case 3: return close();
    case 4: return meter();
    case 5: {
      const int id = meter_id();
      const uint8_t how = input_.next();
      std::optional<Budget> budget;
      if (how & 1) budget = Budget{int64_t{1} << how / 8, how / 2 % 4};
      return must(engine_.budget(id, budget) == meters_.contains(id), "only a meter has a budget");
    }
    case 6: {
      const int id = meter_id();
      meters_.erase(id);
      return engine_.unmeter(id);
    }
    case 7: return filter();
    case 8: return answer();
    case 9: return look();
    case 10: return hear();
    case 11: return crowd_.call(port(), input_.next() % 2 ? hello_of(name()) : std::string(1, 'x'));
    case 12: return crowd_.say_to(port(), size_t{1} << input_.next() % 11);
    case 13: return crowd_.accept();
    case 14: {
      const uint8_t who = input_.next();
      return crowd_.act(who, input_.next());
    }
    case 15: return input_.next() == 255 ? stop() : std::this_thread::yield();
  }
}

RuleConfig Session::draw() {
  RuleConfig config;
  config.id = rule_id();
  config.from = port();
  const uint8_t shape = input_.next();
  config.is_udp = shape & 1;
  config.to = static_cast<uint16_t>(config.from + (shape & 2 ? shape / 64 % kTargetPorts : 0));
  if (shape & 4) config.name = name();
  else config.is_fallback = shape & 8;
  if (shape & 16) config.targets.push_back({"late.test", kTargetPort, std::nullopt});
  if (shape % 64 != 0) config.targets.push_back({kTargetHost, kTargetPort, Address::parse(kTargetHost)});
  const uint8_t times = input_.next();
  config.probe_ms = times & 1 ? 1 : 0;
  config.idle_ms = config.is_udp || times & 2 ? 1 + times / 64 : 0;
  config.flow_cap = 1 + times / 16 % 4;
  config.filters = std::make_shared<Filters>();
  return config;
}

void Session::open() {
  RuleConfig config = draw();
  std::vector<int> meters;
  for (int count = input_.next() % 4; count > 0; count--) meters.push_back(meter_id());
  const std::string wanted = expected(config, meters);
  const auto refusal = engine_.open(config, meters);
  must((refusal ? refusal->code : "") == wanted, "a rule is opened, or refused as it should be");
  if (refusal) return;
  Known& known = rules_[config.id];
  known.config = config;
  for (const int id : meters) known.meters.push_back({id, meters_.at(id)});
  for (int port = config.from; port <= config.to; port++)
    taken_[{config.is_udp, port}].insert(config.is_fallback ? "" : config.name.value_or("-"));
}

std::string Session::expected(const RuleConfig& config, const std::vector<int>& meters) const {
  if (is_stopped_) return "ESTOPPED";
  if (rules_.contains(config.id) || config.targets.empty()) return "EINVAL";
  const bool is_shared = config.name || config.is_fallback;
  if (is_shared && (config.is_udp || config.from != config.to)) return "EINVAL";
  for (const int id : meters)
    if (!meters_.contains(id)) return "EINVAL";
  for (int port = config.from; port <= config.to; port++) {
    const auto found = taken_.find({config.is_udp, static_cast<uint16_t>(port)});
    if (found == taken_.end()) continue;
    const auto& names = found->second;
    if (!is_shared || names.contains("-") || names.contains(config.name.value_or(""))) return "EADDRINUSE";
  }
  return "";
}

void Session::close() {
  const int id = rule_id();
  const int64_t drain_ms = input_.next() % 4;
  engine_.close(id, drain_ms);
  const auto found = rules_.find(id);
  if (found == rules_.end() || std::exchange(found->second.is_closing, true)) return;
  const RuleConfig& config = found->second.config;
  for (int port = config.from; port <= config.to; port++) {
    const auto place = taken_.find({config.is_udp, static_cast<uint16_t>(port)});
    place->second.erase(config.is_fallback ? "" : config.name.value_or("-"));
    if (!place->second.empty()) continue;
    taken_.erase(place);
    if (!config.is_udp) must(is_shut(static_cast<uint16_t>(port)), "a port is shut when its rule has closed");
  }
}

void Session::meter() {
  const int id = meter_id();
  const uint8_t how = input_.next();
  const auto rate = [&] { return Rate{static_cast<double>(1000 << how / 32), static_cast<double>(how)}; };
  const Reason refusal = engine_.reasons().id_of("limit");  // without one nothing were refused
  Limits limits{.refusals = {refusal, refusal, refusal, refusal}};
  if (how & 1) limits.bytes[0] = rate();
  if (how & 2) limits.bytes[1] = rate();
  if (how & 4) limits.connections = how / 64;
  if (how & 8) limits.new_connections = rate();
  engine_.meter(id, limits);
  if (!meters_.contains(id)) meters_[id] = ++last_meter_;
}

void Session::filter() {
  auto filters = std::make_shared<Filters>();
  Filter one;
  one.deny.push_back({Prefix::parse("127.0.0.0/8"), std::nullopt, std::nullopt});
  one.refusal = engine_.reasons().id_of("denied");
  const int id = rule_id();
  const uint8_t how = input_.next();
  if (how % 4 == 1) filters->source = one;
  if (how % 4 == 2) filters->target = {one};
  engine_.filter(id, filters);
}

/** To a question, maybe for the second time; or to none. */
void Session::answer() {
  const uint8_t which = input_.next();
  const uint8_t how = input_.next();
  ResolveAnswer answer;
  answer.is_ok = how % 4 != 0;
  if (how & 4) answer.addresses.push_back(*Address::parse(kTargetHost));
  if (how & 8) answer.addresses.push_back(*Address::parse(kEngineHost));  // maybe its own listener
  answer.reason = "nxdomain";
  engine_.resolved(tokens_.empty() || which == 255 ? which : tokens_[which % tokens_.size()], answer);
}

void Session::hear() {
  for (const EngineEvent& event : engine_.take_events()) {
    if (event.kind == EngineEvent::Kind::resolve) tokens_.push_back(event.value);
    if (event.kind == EngineEvent::Kind::closed) heard_closed(event.id);
  }
}

void Session::heard_closed(int id) {
  const auto found = rules_.find(id);
  must(found != rules_.end(), "the end of a rule is told once");
  must(found->second.is_closing || is_stopped_, "a rule ends when it is closed");
  std::vector<double> row;
  engine_.write_rule(id, row);
  constexpr size_t kHead = 8, kPortCells = 6;
  const auto ports = static_cast<size_t>(row.at(1));
  double bytes = 0;
  for (size_t at = kHead; at < kHead + ports * kPortCells; at += kPortCells) {
    bytes += row.at(at + 1) + row.at(at + 2);
    must(row.at(at + 5) == 0, "nobody is left in a rule that has ended");
  }
  for (const auto& meter : found->second.meters) passed_[meter] += bytes;
  engine_.forget(id);
  rules_.erase(found);
}

/** A sample has what there is; of meters that rest, what has passed them. */
void Session::look() {
  std::vector<double> row;
  engine_.write_sample(row);
  must(row.at(0) == static_cast<double>(rules_.size()), "a sample has every rule");
  if (!is_stopped_ || !rules_.empty()) return;
  must(row.at(1) == static_cast<double>(meters_.size()), "a sample has every meter");
  for (size_t at = 2; at < 2 + 5 * meters_.size(); at += 5) {
    const int id = static_cast<int>(row.at(at));
    must(row.at(at + 1) + row.at(at + 2) == passed_[{id, meters_.at(id)}], "a meter counts what its rules do");
    must(row.at(at + 3) == 0, "nobody is left in a meter");
  }
}

void Session::stop() {
  engine_.stop();
  may_wake_ = false;
  is_stopped_ = true;
  taken_.clear();
  hear();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const int64_t before = sys::descriptors_in_use();
  { Session(bytes, size).play(); }
  must(sys::descriptors_in_use() == before, "every descriptor is closed");
  return 0;
}
