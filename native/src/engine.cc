#include "engine.h"

#include <string.h>

#include <algorithm>
#include <cerrno>

namespace sluice {

namespace {

/** Of a wider range the threads share the sockets, to save descriptors. */
constexpr int kWideRange = 16;

Refusal refusal_of(int error, const std::string& where) {
  const std::string message = where + ": " + strerror(error);
  switch (error) {
    case EADDRINUSE: return {"EADDRINUSE", message};
    case EACCES:
    case EPERM: return {"EACCES", message};
    case EMFILE:
    case ENFILE: return {"EMFILE", message};
    default: return {"EINVAL", message};
  }
}

std::string port_of(const RulePlan& plan) { return "port " + std::to_string(plan.from); }

}  // namespace

Engine::Engine(Options options)
    : shared_(std::move(options.bind), options.may_splice, std::move(options.wake)) {
  for (size_t i = 0; i < options.threads; i++)
    workers_.push_back(std::make_unique<Worker>(shared_, i, options.threads));
}

int Engine::start() {
  for (const auto& worker : workers_)
    if (const int error = worker->loop.open()) return error;
  shared_.descriptors.open();
  const auto run = [](void* loop) -> void* {
    static_cast<Loop*>(loop)->run();
    return nullptr;
  };
  for (const auto& worker : workers_) {  // no std::thread: where there is none left it ends the process
    const int error = pthread_create(&threads_.emplace_back(), nullptr, run, &worker->loop);
    if (error == 0) continue;
    threads_.pop_back();
    return -error;
  }
  return 0;
}

std::optional<Refusal> Engine::check(const RulePlan& plan) const {
  const auto invalid = [](std::string message) { return Refusal{"EINVAL", std::move(message)}; };
  if (plan.from < 1 || plan.to < plan.from)
    return invalid(std::to_string(plan.from) + " to " + std::to_string(plan.to) + " are no ports");
  if (plan.targets.empty()) return invalid(port_of(plan) + " has no target");
  for (const Target& target : plan.targets)
    if (target.port < 1 || target.port + plan.port_count() - 1 > 65'535)
      return invalid("target " + target.host + " has no port for each of " +
                     std::to_string(plan.port_count()));
  const bool is_shared = plan.name || plan.is_fallback;
  if (is_shared &&
      (plan.is_udp || plan.port_count() > 1 || (plan.name && plan.is_fallback) || plan.name == ""))
    return invalid(port_of(plan) +
                   ": only a TCP rule of one port has a name, or is a fallback, and not both");
  return std::nullopt;
}

std::optional<Refusal> Engine::open(RulePlan plan, const std::vector<int>& meters) {
  if (workers_.empty()) return Refusal{"ESTOPPED", port_of(plan) + " is not opened: the engine has stopped"};
  if (rules_.contains(plan.id))
    return Refusal{"EINVAL", "rule " + std::to_string(plan.id) + " is open already"};
  if (auto refusal = check(plan)) return refusal;
  for (const int id : meters) {
    const auto found = meters_.find(id);
    if (found == meters_.end()) return Refusal{"EINVAL", "meter " + std::to_string(id) + " is not there"};
    plan.meters.push_back(found->second);
  }
  if (plan.meters.size() > 64) return Refusal{"EINVAL", port_of(plan) + " has more than 64 meters"};
  Sockets sockets(workers_.size());
  if (auto refusal = open_door(plan, sockets)) return refusal;

  const std::shared_ptr<Rule> rule = make_rule(std::move(plan));
  const auto peeking = doors_.at({rule->is_udp, rule->from}).peeking;
  rules_[rule->id] = rule;
  for (size_t i = 0; i < workers_.size(); i++)
    // Nothing of the sockets stays behind in the task: it may outlive a close that follows at once.
    workers_[i]->loop.post([&worker = *workers_[i], rule, peeking, own = std::move(sockets[i])]() mutable {
      worker.open(rule, std::move(own), peeking);
    });
  return std::nullopt;
}

std::shared_ptr<Rule> Engine::make_rule(RulePlan plan) {
  const int id = plan.id;
  auto tell = [this, id](int target, Health::State from, Health::State to, const std::string& reason) {
    Event event{Event::Kind::target_health, id, target};
    event.from = static_cast<uint8_t>(from);
    event.to = static_cast<uint8_t>(to);
    event.reason = reason;
    shared_.events.must_tell(std::move(event));
  };
  return std::make_shared<Rule>(std::move(plan), workers_.size(), std::move(tell));
}

std::optional<Refusal> Engine::open_door(const RulePlan& plan, Sockets& sockets) {
  const bool is_named = plan.name || plan.is_fallback;
  const std::string key = plan.name.value_or("");
  const auto known = doors_.find({plan.is_udp, plan.from});
  if (known != doors_.end()) {
    Door& door = known->second;
    if (!is_named || !door.is_named || door.rules.contains(key))
      return Refusal{"EADDRINUSE", port_of(plan) + " is taken" + (is_named ? " for '" + key + "'" : "")};
    door.rules[key] = plan.id;
    return std::nullopt;
  }
  const auto ways = static_cast<int64_t>(plan.port_count() > kWideRange ? 1 : workers_.size());
  const int64_t wanted = plan.port_count() * static_cast<int64_t>(shared_.bind.size()) * ways;
  if (!shared_.descriptors.take(wanted))
    return Refusal{"EMFILE", port_of(plan) + ": too few descriptors are left"};
  std::optional<Refusal> refusal;
  for (int port = plan.from; port <= plan.to && !refusal; port++)
    for (size_t i = 0; i < shared_.bind.size() && !refusal; i++)
      refusal = listen(plan, shared_.bind[i].with_port(static_cast<uint16_t>(port)), sockets);
  if (!refusal && sockets[0].empty())
    refusal = Refusal{"EINVAL", port_of(plan) + ": no local address is usable"};
  if (refusal) {
    shared_.descriptors.give(wanted);
    return refusal;
  }
  own_ports(plan.is_udp).join(plan.from, plan.to);
  doors_[{plan.is_udp, plan.from}] = {plan.is_udp,     is_named, plan.from,
                                      plan.to,         wanted,   std::make_shared<std::atomic<int>>(0),
                                      {{key, plan.id}}};
  return std::nullopt;
}

/** The first bind shares nothing: else another process of this user would not be noticed on the port. */
std::optional<Refusal> Engine::listen(const RulePlan& plan, const Address& place, Sockets& sockets) const {
  const auto protocol = plan.is_udp ? sys::Protocol::udp : sys::Protocol::tcp;
  const std::string where = port_of(plan) + " (" + std::to_string(place.port) + ")";
  Fd first;
  const int error = sys::listen_on(protocol, place, sys::Sharing::exclusive, first);
  const bool has_no_ipv6 = error == -EAFNOSUPPORT || error == -EADDRNOTAVAIL;
  if (has_no_ipv6 && place.family == Family::v6 && place.is_unspecified()) return std::nullopt;
  if (error != 0) return refusal_of(-error, where);
  if (workers_.size() == 1 || plan.port_count() > kWideRange) {
    const auto socket = std::make_shared<Fd>(std::move(first));
    for (auto& own : sockets) own.push_back({socket, place, workers_.size() > 1});
    return std::nullopt;
  }
  first.close();
  for (auto& own : sockets) {
    Fd socket;
    if (const int again = sys::listen_on(protocol, place, sys::Sharing::shared, socket))
      return refusal_of(-again, where);
    own.push_back({std::make_shared<Fd>(std::move(socket)), place, false});
  }
  return std::nullopt;
}

void Engine::close(int rule_id, int64_t drain_ms) {
  const auto found = rules_.find(rule_id);
  if (found == rules_.end()) return;
  const std::shared_ptr<Rule> rule = found->second;
  for (const auto& worker : workers_)
    worker->loop.post([&worker = *worker, rule_id, drain_ms] { worker.close(rule_id, drain_ms); });
  for (int left = rule->threads_shut.load(); left > 0; left = rule->threads_shut.load())
    rule->threads_shut.wait(left);
  leave_door(*rule);
}

void Engine::leave_door(const Rule& rule) {
  const auto found = doors_.find({rule.is_udp, rule.from});
  if (found == doors_.end()) return;
  Door& door = found->second;
  const auto own = door.rules.find(rule.name.value_or(""));
  if (own == door.rules.end() || own->second != rule.id) return;  // left before
  door.rules.erase(own);
  if (!door.rules.empty()) return;
  own_ports(door.is_udp).leave(door.from, door.to);
  shared_.descriptors.give(door.descriptors);
  doors_.erase(found);
}

void Engine::filter(int rule_id, std::shared_ptr<const Filters> filters) {
  const auto found = rules_.find(rule_id);
  if (found == rules_.end()) return;
  found->second->replace_filters(std::move(filters));
  for (const auto& worker : workers_)
    worker->loop.post([&worker = *worker, rule_id] { worker.filters_changed(rule_id); });
}

void Engine::meter(int id, const Limits& limits) {
  auto& meter = meters_[id];
  if (!meter) meter = std::make_shared<Meter>(id, *this);
  meter->change(limits, sys::now_us());
}

bool Engine::budget(int meter_id, const std::optional<Budget>& budget) {
  const auto found = meters_.find(meter_id);
  if (found == meters_.end()) return false;
  found->second->set_budget(budget);
  return true;
}

void Engine::spent(Meter& meter, uint64_t epoch, int64_t hold_ms) {
  if (workers_.empty()) return;  // it has stopped, and its listener may be gone
  shared_.events.must_tell(Event{Event::Kind::meter_empty, meter.id});
  for (const auto& worker : workers_)
    worker->loop.post([&worker = *worker, meter = meter.shared_from_this(), epoch, hold_ms] {
      worker.hold(meter, epoch, hold_ms);
    });
}

void Engine::changed(Meter& meter) {
  for (const auto& worker : workers_)
    worker->loop.post(
        [&worker = *worker, meter = meter.shared_from_this()] { worker.meter_changed(*meter); });
}

void Engine::resolved(int64_t token, Answer answer) {
  if (workers_.empty()) return;
  Worker& worker = *workers_[static_cast<size_t>(token) % workers_.size()];
  worker.loop.post([&worker, token, answer = std::move(answer)] { worker.answer(token, answer); });
}

void Engine::stop() {
  if (threads_.empty()) return;
  for (const auto& worker : workers_) worker->loop.post([&worker = *worker] { worker.stop(); });
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
  threads_.clear();
  workers_.clear();  // and with them what descriptors they have
}

void Engine::write_rule(int rule_id, std::vector<double>& out) {
  const auto found = rules_.find(rule_id);
  if (found == rules_.end()) return;
  Rule& rule = *found->second;
  const auto sum = [&](auto&& pick) {
    int64_t total = 0;
    for (const auto& counters : rule.counters) total += pick(*counters).value();
    out.push_back(static_cast<double>(total));
  };
  const auto rejected = rule.rejected();
  for (const size_t head :
       {static_cast<size_t>(rule.id), rule.counters[0]->ports.size(), rule.targets.size(), rejected.size()})
    out.push_back(static_cast<double>(head));
  for (Cell Counters::*cell :
       {&Counters::connections, &Counters::dns_failures, &Counters::failovers, &Counters::overflow})
    sum([&](Counters& counters) -> Cell& { return counters.*cell; });
  for (size_t i = 0; i < rule.counters[0]->ports.size(); i++) {
    out.push_back(static_cast<double>(rule.from + i));
    for (const size_t way : {0, 1})
      sum([&](Counters& counters) -> Cell& { return counters.ports[i].bytes[way]; });
    for (const size_t way : {0, 1})
      sum([&](Counters& counters) -> Cell& { return counters.ports[i].datagrams[way]; });
    sum([&](Counters& counters) -> Cell& { return counters.ports[i].active; });
  }
  for (size_t i = 0; i < rule.targets.size(); i++) {
    for (const size_t way : {0, 1})
      sum([&](Counters& counters) -> Cell& { return counters.targets[i].bytes[way]; });
    sum([&](Counters& counters) -> Cell& { return counters.targets[i].connections; });
    const Health::Row row = rule.health.row(static_cast<int>(i));
    out.push_back(static_cast<double>(row.state));
    for (const int64_t value : {int64_t{row.consecutive_failures}, row.last_failure_at, row.last_success_at})
      out.push_back(static_cast<double>(value));
  }
  for (const auto& [reason, count] : rejected) {
    out.push_back(reason);
    out.push_back(static_cast<double>(count));
  }
}

void Engine::write_sample(std::vector<double>& out) {
  out.push_back(static_cast<double>(rules_.size()));
  for (const auto& [id, rule] : rules_) write_rule(id, out);
  out.push_back(static_cast<double>(meters_.size()));
  const int64_t now_us = sys::now_us();
  for (const auto& [id, meter] : meters_) {
    const Meter::Count count = meter->count(now_us);
    out.push_back(id);
    for (const int64_t value : {count.bytes_in, count.bytes_out, count.active})
      out.push_back(static_cast<double>(value));
    out.push_back(count.throttled_ms);
  }
  for (const auto& count : shared_.peeks.counts) out.push_back(static_cast<double>(count.load()));
  out.push_back(static_cast<double>(shared_.peeks.sum_us.load()) / 1000);
  out.push_back(static_cast<double>(shared_.events.dropped()));
}

}  // namespace sluice
