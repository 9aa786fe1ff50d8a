// Fuzzes Engine with JavaScript's commands in any order, with unknown, used and old ids, while callers on the loopback
// network connect to it. Every command must behave as the contract says, and no descriptor may leak.
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "../src/engine.h"
#include "network.h"
#include "input.h"

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
  struct OpenRule {  // open, or its `closed` event is still queued
    RuleConfig config;
    std::vector<std::pair<int, int>> meters;  // id and serial number
    std::set<int> lost_ports;  // taken over
    bool is_closing = false;
  };
  using Key = std::pair<bool, uint16_t>;  // is UDP, port

  void step();
  void open();
  void listen_in_place_of(int replaced, const RuleConfig& config);
  RuleConfig random_config();
  bool may_take_over(const OpenRule& replaced, const RuleConfig& config, int port) const;
  std::string expected_code(const RuleConfig& config, const std::vector<int>& meters) const;
  void close();
  void set_meter();
  void set_filters();
  void reset();
  void answer_resolve();
  void answer_dial(uint8_t index, uint8_t options);
  void close_stream(uint8_t index, bool is_reset);
  void take_events();
  void rule_closed(int id);
  void check_sample();
  void stop();
  int rule_id() { return 1 + input_.next() % kRules; }
  int meter_id() { return 1 + input_.next() % kMeters; }
  static std::string bound_name(const RuleConfig& config);
  uint16_t port() { return static_cast<uint16_t>(kFirstPort + input_.next() % kPorts); }
  std::string name() { return input_.next() % 2 ? "a.test" : "*.test"; }

  Input input_;
  std::atomic<bool> may_wake_{true};
  bool is_stopped_ = false;
  Network network_;
  std::map<int, OpenRule> rules_;
  std::map<int, int> meters_;  // id to serial number: an id may be used again
  int last_meter_serial_ = 0;
  std::map<Key, std::set<std::string>> bound_names_;             // TLS names; "": a fallback, "-": the whole port
  std::map<std::pair<int, int>, double> bytes_of_closed_rules_;  // by meter
  std::vector<int64_t> tokens_;
  std::vector<int64_t> dial_tokens_;
  std::map<int64_t, Fd> streams_;  // to dialers, by token
  Engine engine_{{{*Address::parse(kEngineHost)}, 1u + input_.next() % 3, input_.next() % 4 != 0, 1'000, [this] {
                    must(may_wake_, "no wake-up follows the stop");
                  }}};
};

void Session::play() {
  must(engine_.start() == 0, "the engine starts");
  while (!input_.has_ended()) step();
  stop();
  must(rules_.empty(), "every rule has been reported as closed");
  check_sample();
}

void Session::step() {
  switch (input_.next() % 16) {
    case 0:
    case 1:
    case 2: return open();
    case 3: return close();
    case 4: return set_meter();
    case 5: {
      const int id = meter_id();
      const uint8_t options = input_.next();
      std::optional<Budget> budget;
      if (options & 1) budget = Budget{int64_t{1} << options / 8, options / 2 % 4};
      return must(engine_.set_budget(id, budget) == meters_.contains(id),
                  "a budget is accepted only for an existing meter");
    }
    case 6: {
      const int id = meter_id();
      meters_.erase(id);
      return engine_.remove_meter(id);
    }
    case 7: return input_.next() % 2 ? set_filters() : reset();
    case 8: return answer_resolve();
    case 9: return check_sample();
    case 10: return take_events();
    case 11: return network_.call(port(), input_.next() % 2 ? client_hello(name()) : std::string(1, 'x'));
    case 12: return network_.send_datagram(port(), size_t{1} << input_.next() % 11);
    case 13: return network_.accept();
    case 14: {
      const uint8_t index = input_.next();
      return network_.act(index, input_.next());
    }
    case 15: return input_.next() == 255 ? stop() : std::this_thread::yield();
  }
}

RuleConfig Session::random_config() {
  RuleConfig config;
  config.id = rule_id();
  if (input_.next() % 2) config.replaces = rule_id();
  config.from = port();
  const uint8_t shape = input_.next();
  config.is_udp = shape & 1;
  config.to = static_cast<uint16_t>(config.from + (shape & 2 ? shape / 64 % kTargetPorts : 0));
  if (shape & 4) config.name = name();
  else config.is_fallback = shape & 8;
  if (shape & 16) config.targets.push_back({"late.test", kTargetPort, std::nullopt});
  if (shape & 32 && !config.is_udp) config.targets.push_back({"far.test", kTargetPort, std::nullopt, "links paris"});
  if (shape % 64 != 0) config.targets.push_back({kTargetHost, kTargetPort, Address::parse(kTargetHost)});
  const uint8_t timing = input_.next();
  config.probe_ms = timing & 1 ? 1 : 0;
  config.idle_ms = config.is_udp || timing & 2 ? 1 + timing / 64 : 0;
  config.flow_cap = 1 + timing / 16 % 4;
  config.report_ends = timing & 4;
  if (timing & 8)
    config.diverts.push_back({.name = "tarpit",
                              .from = {engine_.address_set("slow")},
                              .targets = {{kTargetHost, kTargetPort, Address::parse(kTargetHost)}},
                              .max = 2,
                              .refusal = engine_.reasons().id_of("full")});
  config.filters = std::make_shared<Filters>();
  return config;
}

void Session::open() {
  RuleConfig config = random_config();
  std::vector<int> meters;
  for (int count = input_.next() % 4; count > 0; count--) meters.push_back(meter_id());
  const std::string expected = expected_code(config, meters);
  const auto refusal = engine_.open(config, meters);
  engine_.serve_opened();
  must((refusal ? refusal->code : "") == expected, "opening a rule has the expected result");
  if (refusal) return;
  if (config.replaces != 0) listen_in_place_of(config.replaces, config);
  OpenRule& open_rule = rules_[config.id];
  open_rule.config = config;
  for (const int id : meters) open_rule.meters.push_back({id, meters_.at(id)});
  for (int port = config.from; port <= config.to; port++)
    bound_names_[{config.is_udp, port}].insert(bound_name(config));
}

/** The new rule takes over the ports of the replaced one, or its name; those that only the old one has stay bound. */
void Session::listen_in_place_of(int replaced, const RuleConfig& config) {
  const auto found = rules_.find(replaced);
  if (found == rules_.end() || found->second.is_closing || found->second.config.is_udp != config.is_udp) return;
  const RuleConfig& old = found->second.config;
  for (int port = std::max(old.from, config.from); port <= std::min(old.to, config.to); port++) {
    const auto names = bound_names_.find({config.is_udp, static_cast<uint16_t>(port)});
    names->second.erase(bound_name(old));
    found->second.lost_ports.insert(port);
  }
}

/** A port or name changes hands where the ports are the same, or where the old rule has its ports alone. */
bool Session::may_take_over(const OpenRule& replaced, const RuleConfig& config, int port) const {
  const RuleConfig& old = replaced.config;
  if (port < old.from || port > old.to || replaced.lost_ports.contains(port)) return false;
  if (old.from == config.from && old.to == config.to) return replaced.lost_ports.empty();
  return bound_names_.at({old.is_udp, static_cast<uint16_t>(port)}).size() == 1;
}

std::string Session::bound_name(const RuleConfig& config) {
  return config.is_fallback ? "" : config.name.value_or("-");
}

/** Returns the code with which `Engine::open` should fail, or "". */
std::string Session::expected_code(const RuleConfig& config, const std::vector<int>& meters) const {
  if (is_stopped_) return "ESTOPPED";
  if (rules_.contains(config.id) || config.targets.empty()) return "EINVAL";
  const bool is_shared = config.name || config.is_fallback;
  if (is_shared && (config.is_udp || config.from != config.to)) return "EINVAL";
  for (const int id : meters)
    if (!meters_.contains(id)) return "EINVAL";
  for (int port = config.from; port <= config.to; port++) {
    const auto found = bound_names_.find({config.is_udp, static_cast<uint16_t>(port)});
    if (found == bound_names_.end()) continue;
    auto names = found->second;
    const auto replaced = rules_.find(config.replaces);
    if (replaced != rules_.end() && !replaced->second.is_closing &&
        replaced->second.config.is_udp == config.is_udp && may_take_over(replaced->second, config, port)) {
      names.erase(bound_name(replaced->second.config));
      if (names.empty()) continue;
    }
    if (!is_shared || names.contains("-") || names.contains(config.name.value_or(""))) return "EADDRINUSE";
  }
  return "";
}

void Session::close() {
  const int id = rule_id();
  const int64_t drain_ms = input_.next() % 4 - 1;
  engine_.close(id, drain_ms);
  const auto found = rules_.find(id);
  if (found == rules_.end() || std::exchange(found->second.is_closing, true)) return;
  const RuleConfig& config = found->second.config;
  for (int port = config.from; port <= config.to; port++) {
    if (found->second.lost_ports.contains(port)) continue;
    const auto names = bound_names_.find({config.is_udp, static_cast<uint16_t>(port)});
    names->second.erase(bound_name(config));
    if (!names->second.empty()) continue;
    bound_names_.erase(names);
    if (!config.is_udp)
      must(is_port_closed(static_cast<uint16_t>(port)), "a port does not listen after its rule has closed");
  }
}

void Session::set_meter() {
  const int id = meter_id();
  const uint8_t options = input_.next();
  const auto rate = [&] { return Rate{static_cast<double>(1000 << options / 32), static_cast<double>(options)}; };
  const Reason refusal = engine_.reasons().id_of("limit");  // kNoReason would mean that nothing is refused
  Limits limits{.refusals = {refusal, refusal, refusal, refusal}};
  if (options & 1) limits.bytes[0] = rate();
  if (options & 2) limits.bytes[1] = rate();
  if (options & 4) limits.connections = options / 64;
  if (options & 8) limits.new_connections = rate();
  engine_.set_meter(id, limits);
  if (!meters_.contains(id)) meters_[id] = ++last_meter_serial_;
}

void Session::set_filters() {
  auto filters = std::make_shared<Filters>();
  Filter filter;
  filter.deny.push_back({Prefix::parse("127.0.0.0/8"), std::nullopt, std::nullopt});
  filter.refusal = engine_.reasons().id_of("denied");
  const int id = rule_id();
  const uint8_t options = input_.next();
  if (options % 4 == 1) filters->source = filter;
  if (options % 4 == 2) filters->target = {filter};
  engine_.set_filters(id, filters);
  if (options % 4 != 3) return;
  const std::vector<Prefix> all{*Prefix::parse("127.0.0.0/8")};
  if (options & 4) engine_.change_addresses("slow", all, {});
  else engine_.change_addresses("slow", {}, all);
}

void Session::reset() {
  const int id = rule_id();
  const uint8_t choice = input_.next();
  if (choice % 4 == 0) return engine_.reset(id, {1, choice % 3 == 0 ? 0 : 65'535});
  engine_.reset_targets(id, {choice % 3});
}

/** Answers a resolve event, possibly for the second time, or an unknown token. */
void Session::answer_resolve() {
  const uint8_t index = input_.next();
  const uint8_t options = input_.next();
  ResolveAnswer answer;
  answer.is_ok = options % 4 != 0;
  if (options & 4) answer.addresses.push_back(*Address::parse(kTargetHost));
  if (options & 8)
    answer.addresses.push_back(*Address::parse(kEngineHost));  // possibly one of the engine's own listeners
  answer.reason = "nxdomain";
  engine_.resolved(tokens_.empty() || index == 255 ? index : tokens_[index % tokens_.size()], answer);
  answer_dial(index, options);
}

/** Answers a dial event, possibly for the second time, or an unknown token; or uses or closes a stream. */
void Session::answer_dial(uint8_t index, uint8_t options) {
  if (options & 16) return close_stream(index, options & 32);
  DialAnswer answer;
  answer.is_ok = options % 4 != 0;
  answer.address = *Address::parse(kTargetHost, kTargetPort);
  if (options & 4) answer.refusal = engine_.reasons().id_of("link_down");
  answer.failure = "timeout";
  engine_.dialed(dial_tokens_.empty() || index == 255 ? index : dial_tokens_[index % dial_tokens_.size()], answer);
}

void Session::close_stream(uint8_t index, bool is_reset) {
  if (streams_.empty()) return;
  auto stream = std::next(streams_.begin(), index % streams_.size());
  if (index & 128) {
    char bytes[64]{};
    sys::receive(stream->second.get(), bytes, sizeof bytes);
    sys::transmit(stream->second.get(), bytes, index);
    return;
  }
  if (is_reset) engine_.reset_stream(stream->first);
  const int64_t token = stream->first;
  streams_.erase(stream);
  engine_.is_stream_reset(token);
  engine_.release_stream(token);
}

void Session::take_events() {
  for (const EngineEvent& event : engine_.take_events()) {
    if (event.kind == EngineEvent::Kind::resolve) tokens_.push_back(event.value);
    if (event.kind == EngineEvent::Kind::dial) dial_tokens_.push_back(event.value);
    if (event.dialer_end) {
      must(event.kind == EngineEvent::Kind::dialed && !streams_.contains(event.value), "a dial has one stream");
      streams_[event.value] = Fd(engine_.take_socket(event.dialer_end));
    }
    if (event.kind == EngineEvent::Kind::closed) rule_closed(event.id);
    for (const EndedConnection& ended : event.ended) {
      const auto found = rules_.find(ended.rule);
      must(found != rules_.end(), "records of a rule come before it is reported as closed");
      must(found->second.config.report_ends, "only a rule that asks for it has records");
    }
  }
}

void Session::rule_closed(int id) {
  const auto found = rules_.find(id);
  must(found != rules_.end(), "a rule is reported as closed once");
  must(found->second.is_closing || is_stopped_, "a rule ends only when it is closed");
  std::vector<double> row;
  engine_.write_rule(id, row);
  constexpr size_t kRuleHeader = 9, kPortValues = 6;
  const auto ports = static_cast<size_t>(row.at(1));
  double bytes = 0;
  for (size_t at = kRuleHeader; at < kRuleHeader + ports * kPortValues; at += kPortValues) {
    bytes += row.at(at + 1) + row.at(at + 2);
    must(row.at(at + 5) == 0, "a closed rule has no active connection");
  }
  for (const auto& meter : found->second.meters) bytes_of_closed_rules_[meter] += bytes;
  engine_.forget(id);
  rules_.erase(found);
}

/** A sample has every rule and meter; after the stop, meters have counted the bytes of their rules. */
void Session::check_sample() {
  std::vector<double> row;
  engine_.write_sample(row);
  must(row.at(0) == static_cast<double>(rules_.size()), "a sample has every rule");
  if (!is_stopped_ || !rules_.empty()) return;
  must(row.at(1) == static_cast<double>(meters_.size()), "a sample has every meter");
  for (size_t at = 2; at < 2 + 5 * meters_.size(); at += 5) {
    const int id = static_cast<int>(row.at(at));
    must(row.at(at + 1) + row.at(at + 2) == bytes_of_closed_rules_[{id, meters_.at(id)}],
         "a meter counts the bytes of its rules");
    must(row.at(at + 3) == 0, "a meter has no active connection");
  }
}

void Session::stop() {
  engine_.stop();
  may_wake_ = false;
  is_stopped_ = true;
  bound_names_.clear();
  take_events();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const int64_t before = sys::descriptors_in_use();
  { Session(bytes, size).play(); }
  must(sys::descriptors_in_use() == before, "every descriptor is closed");
  return 0;
}
