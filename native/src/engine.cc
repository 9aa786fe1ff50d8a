#include "engine.h"

#include <string.h>

#include <algorithm>
#include <cerrno>
#include <latch>

namespace sluice {

namespace {

/** The threads share the sockets of a wider port range, to save descriptors. */
constexpr int kMaxUnsharedPorts = 16;
constexpr size_t kMinCounts = 64;  // names, before unused ones are searched
constexpr double kMaxWeight = 1'000'000;

EngineError error_from_errno(int error, const std::string& where) {
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

std::string port_label(const RuleConfig& config) { return "port " + std::to_string(config.from); }

bool are_read_alike(const RuleConfig& one, const RuleConfig& other) {
  if (!one.first_read || !other.first_read) return one.first_read == other.first_read;
  return *one.first_read == *other.first_read;
}

/** Targets that both ranges have keep their health. */
void continue_health(Rule& rule, TargetRange range, Rule& replaced, TargetRange old_range) {
  for (int own = range.first; own < range.end; own++)
    for (int old = old_range.first; old < old_range.end; old++)
      if (rule.targets[own] == replaced.targets[old]) rule.health.continue_from(own, replaced.health, old);
}

}  // namespace

Engine::Engine(Options options)
    : context_(std::move(options.bind), options.may_splice, options.dead_peer_ms, std::move(options.wake),
               [this](std::shared_ptr<DescriptorShare> share) { take_back(std::move(share)); }) {
  for (size_t i = 0; i < options.threads; i++)
    workers_.push_back(std::make_unique<Worker>(context_, i, options.threads));
}

int Engine::start() {
  for (const auto& worker : workers_)
    if (const int error = worker->loop.open()) return error;
  context_.descriptors.init();
  const auto run = [](void* loop) -> void* {
    static_cast<EventLoop*>(loop)->run();
    return nullptr;
  };
  // Not std::thread: without exceptions it would end the process when no thread can be created.
  for (const auto& worker : workers_) {
    const int error = pthread_create(&threads_.emplace_back(), nullptr, run, &worker->loop);
    if (error == 0) continue;
    threads_.pop_back();
    return -error;
  }
  return 0;
}

std::optional<EngineError> Engine::validate(const RuleConfig& config) const {
  const auto invalid = [](std::string message) { return EngineError{"EINVAL", std::move(message)}; };
  if (config.from < 1 || config.to < config.from)
    return invalid(std::to_string(config.from) + " to " + std::to_string(config.to) + " is not a port range");
  if (config.targets.empty()) return invalid(port_label(config) + " has no target");
  const auto lacks_port = [&](const Target& target) {
    return target.port < 1 || target.port + config.port_count() - 1 > 65'535;
  };
  const auto check_ports = [&](const std::vector<Target>& targets) -> std::optional<EngineError> {
    const auto found = std::ranges::find_if(targets, lacks_port);
    if (found == targets.end()) return std::nullopt;
    return invalid("target " + found->host + " has no port for each of " + std::to_string(config.port_count()));
  };
  if (auto error = check_ports(config.targets)) return error;
  for (const Divert& divert : config.diverts) {
    if (divert.targets.empty()) return invalid("divert " + divert.name + " has no target");
    if (auto error = check_ports(divert.targets)) return error;
  }
  const bool is_named = config.name || config.is_fallback;
  if (is_named &&
      (config.is_udp || config.port_count() > 1 || (config.name && config.is_fallback) || config.name == ""))
    return invalid(port_label(config) +
                   ": only a TCP rule with a single port can have a name or be the fallback, not both");
  return std::nullopt;
}

std::optional<EngineError> Engine::open(RuleConfig config, const std::vector<int>& meters) {
  if (workers_.empty())
    return EngineError{"ESTOPPED", port_label(config) + " is not opened: the engine has stopped"};
  if (rules_.contains(config.id))
    return EngineError{"EINVAL", "rule " + std::to_string(config.id) + " is already open"};
  if (auto error = validate(config)) return error;
  for (const int id : meters) {
    const auto found = meters_.find(id);
    if (found == meters_.end())
      return EngineError{"EINVAL", "meter " + std::to_string(id) + " does not exist"};
    config.meters.push_back(found->second);
  }
  if (config.meters.size() > 64)
    return EngineError{"EINVAL", port_label(config) + " has more than 64 meters"};
  if (auto error = bind_ports(config)) return error;

  const std::shared_ptr<Rule> rule = make_rule(std::move(config));
  const PortBinding& binding = bindings_.at(key_of(*rule));
  rules_[rule->id] = rule;
  opened_.push_back({rule, binding.sockets, binding.waiting});
  return std::nullopt;
}

void Engine::serve_opened() {
  for (size_t i = 0; i < workers_.size() && !opened_.empty(); i++) {
    std::vector<std::tuple<std::shared_ptr<Rule>, BoundSockets, std::shared_ptr<WaitingCallers>>> own;
    for (auto& [rule, sockets, waiting] : opened_)
      own.emplace_back(rule, std::move(sockets[i]), waiting);
    // The task moves its sockets out, since it may be destroyed only after the task of a `close` has run.
    workers_[i]->loop.post([&worker = *workers_[i], own = std::move(own)]() mutable {
      for (auto& [rule, sockets, waiting] : own) worker.open(rule, std::move(sockets), waiting);
    });
  }
  opened_.clear();
}

std::shared_ptr<Rule> Engine::make_rule(RuleConfig config) {
  const int id = config.id;
  const std::string owner = config.owner;
  const auto own_targets = static_cast<int>(config.targets.size());
  auto on_health_change = [this, id, own_targets](int target, auto from, auto to, const std::string& reason) {
    if (target >= own_targets) return;  // of a divert
    context_.events.push({.kind = EngineEvent::Kind::target_health,
                          .id = id,
                          .target = target,
                          .reason = reason,
                          .from = from,
                          .to = to});
  };
  const auto rule = std::make_shared<Rule>(std::move(config), workers_.size(), std::move(on_health_change),
                                           context_.descriptors.share_of(owner));
  const auto replaced = rules_.find(rule->replaces);
  if (replaced == rules_.end() || replaced->second->is_udp != rule->is_udp) return rule;
  rule->flows = replaced->second->flows;
  continue_health(*rule, rule->own_targets, *replaced->second, replaced->second->own_targets);
  for (Divert& divert : rule->diverts)
    if (const Divert* old = replaced->second->same_divert(divert)) {
      divert.active = old->active;
      continue_health(*rule, divert.range, *replaced->second, old->range);
    }
  return rule;
}

Engine::PortBinding* Engine::replaced_binding(const RuleConfig& config) {
  const auto replaced = rules_.find(config.replaces);
  if (replaced == rules_.end() || replaced->second->is_udp != config.is_udp) return nullptr;
  const auto bound = bindings_.find(key_of(*replaced->second));
  if (bound == bindings_.end()) return nullptr;
  const auto& rules = bound->second.rules;
  return rules.size() == 1 && rules.begin()->second == config.replaces ? &bound->second : nullptr;
}

std::optional<EngineError> Engine::bind_ports(const RuleConfig& config) {
  if (const auto bound = bindings_.find(key_of(config)); bound != bindings_.end())
    return join_ports(config, bound->second);
  const auto sockets_per_port =
      static_cast<int64_t>(config.port_count() > kMaxUnsharedPorts ? 1 : workers_.size());
  const int64_t descriptors =
      config.port_count() * static_cast<int64_t>(context_.bind.size()) * sockets_per_port;
  if (!context_.descriptors.reserve(descriptors))
    return EngineError{"EMFILE", port_label(config) + ": not enough file descriptors are left"};
  PortBinding* replaced = replaced_binding(config);
  Sockets sockets(workers_.size());
  std::optional<EngineError> error;
  for (int port = config.from; port <= config.to && !error; port++) {
    const bool is_taken_over = replaced != nullptr && copy_sockets(*replaced, static_cast<uint16_t>(port), sockets);
    for (size_t i = 0; i < context_.bind.size() && !error && !is_taken_over; i++)
      error = listen(config, context_.bind[i].with_port(static_cast<uint16_t>(port)), sockets);
  }
  if (!error && sockets[0].empty())
    error = EngineError{"EINVAL", port_label(config) + ": no local address is usable"};
  if (error) {
    context_.descriptors.release(descriptors);
    return error;
  }
  if (replaced != nullptr)
    for (BoundSockets& of_thread : replaced->sockets)
      if (std::erase_if(of_thread, [&](const BoundSocket& bound) {
            return bound.address.port >= config.from && bound.address.port <= config.to;
          }) > 0)
        replaced->is_whole = false;
  own_ports(config.is_udp).add(config.from, config.to);
  bindings_[key_of(config)] = {config.name || config.is_fallback,
                               descriptors,
                               std::make_shared<WaitingCallers>(),
                               std::move(sockets),
                               true,
                               {{config.name.value_or(""), config.id}}};
  return std::nullopt;
}

/** Copies the sockets of a port. Returns false when there are none. */
bool Engine::copy_sockets(const PortBinding& from, uint16_t port, Sockets& to) {
  bool has_copied = false;
  for (size_t thread = 0; thread < to.size(); thread++)
    for (const BoundSocket& bound : from.sockets[thread]) {
      if (bound.address.port != port) continue;
      to[thread].push_back(bound);
      has_copied = true;
    }
  return has_copied;
}

/** Lets the rule share a bound port by name, or take it over from the rule that it replaces. */
std::optional<EngineError> Engine::join_ports(const RuleConfig& config, PortBinding& binding) const {
  const bool is_named = config.name || config.is_fallback;
  const std::string key = config.name.value_or("");
  const auto replaced = std::ranges::find(binding.rules, config.replaces, [](const auto& one) { return one.second; });
  const bool is_replacing = replaced != binding.rules.end();
  const bool is_alone = is_replacing && binding.rules.size() == 1;
  const auto holder = binding.rules.find(key);
  const bool is_name_taken = holder != binding.rules.end() && holder->second != config.replaces;
  if (!binding.is_whole || (!is_alone && (!is_named || !binding.is_named || is_name_taken)))
    return EngineError{"EADDRINUSE",
                       port_label(config) + " is taken" + (is_named ? " for '" + key + "'" : "")};
  for (const auto& [name, id] : binding.rules)
    if (id != config.replaces && !are_read_alike(config, *rules_.at(id)))
      return EngineError{"EINVAL", port_label(config) + " is shared: all its rules need the same proxies in front " +
                                       "(proxy_in, firstRead), and those that it has have others"};
  if (is_replacing) binding.rules.erase(replaced);
  binding.rules[key] = config.id;
  binding.is_named = is_named;
  return std::nullopt;
}

/** Binds without SO_REUSEPORT first: with it, a socket of another process of this user would go unnoticed. */
std::optional<EngineError> Engine::listen(const RuleConfig& config, const Address& address,
                                          Sockets& sockets) const {
  const auto protocol = config.is_udp ? sys::Protocol::udp : sys::Protocol::tcp;
  const std::string where = address.text() + " port " + std::to_string(address.port);
  Fd first;
  const int error = sys::listen_on(protocol, address, sys::Sharing::exclusive, first);
  const bool has_no_ipv6 = error == -EAFNOSUPPORT || error == -EADDRNOTAVAIL;
  if (has_no_ipv6 && address.family == Family::v6 && address.is_unspecified()) return std::nullopt;
  if (error != 0) return error_from_errno(-error, where);
  if (workers_.size() == 1 || config.port_count() > kMaxUnsharedPorts) {
    const auto socket = std::make_shared<Fd>(std::move(first));
    for (auto& of_thread : sockets) of_thread.push_back({socket, address, workers_.size() > 1});
    return std::nullopt;
  }
  first.close();
  for (auto& of_thread : sockets) {
    Fd socket;
    if (const int shared_error = sys::listen_on(protocol, address, sys::Sharing::shared, socket))
      return error_from_errno(-shared_error, where);
    of_thread.push_back({std::make_shared<Fd>(std::move(socket)), address, false});
  }
  return std::nullopt;
}

void Engine::close(int rule_id, int64_t drain_ms) {
  const auto found = rules_.find(rule_id);
  if (found == rules_.end()) return;
  const std::shared_ptr<Rule> rule = found->second;
  serve_opened();
  for (const auto& worker : workers_)
    worker->loop.post([&worker = *worker, rule_id, drain_ms] { worker.close(rule_id, drain_ms); });
  for (int left = rule->threads_listening.load(); left > 0; left = rule->threads_listening.load())
    rule->threads_listening.wait(left);
  release_ports(*rule);
}

void Engine::release_ports(const Rule& rule) {
  const auto found = bindings_.find(key_of(rule));
  if (found == bindings_.end()) return;
  PortBinding& binding = found->second;
  const auto own = binding.rules.find(rule.name.value_or(""));
  if (own == binding.rules.end() || own->second != rule.id) return;  // released by an earlier close, or taken over
  binding.rules.erase(own);
  if (!binding.rules.empty()) return;
  own_ports(rule.is_udp).remove(rule.from, rule.to);
  context_.descriptors.release(binding.descriptors);
  bindings_.erase(found);
}

void Engine::set_filters(int rule_id, std::shared_ptr<const Filters> filters) {
  const auto found = rules_.find(rule_id);
  if (found == rules_.end()) return;
  found->second->replace_filters(std::move(filters));
  for (const auto& worker : workers_)
    worker->loop.post([&worker = *worker, rule_id] { worker.filters_changed(rule_id); });
}

std::shared_ptr<AddressSet> Engine::address_set(const std::string& name) {
  auto& set = address_sets_[name];
  if (!set) set = std::make_shared<AddressSet>();
  return set;
}

void Engine::change_addresses(const std::string& name, const std::vector<Prefix>& add,
                              const std::vector<Prefix>& remove) {
  std::erase_if(address_sets_, [](const auto& one) { return one.second.use_count() == 1 && one.second->is_empty(); });
  const auto set = address_set(name);
  set->change(add, remove);
  for (const auto& [id, rule] : rules_) {
    const auto filters = rule->current_filters();
    if (std::ranges::any_of(filters->address_guards,
                            [&](const AddressGuard& guard) { return !guard.keeps_live && guard.uses(*set); }))
      for (const auto& worker : workers_)
        worker->loop.post([&worker = *worker, rule_id = id] { worker.filters_changed(rule_id); });
  }
}

Reason Engine::guard_refusal(int rule_id, const Address& source) const {
  const auto found = rules_.find(rule_id);
  return found != rules_.end() ? found->second->current_filters()->check_guards(source) : kNoReason;
}

std::string Engine::divert_of(int rule_id, const Address& source) const {
  const auto found = rules_.find(rule_id);
  const Divert* divert = found != rules_.end() ? found->second->divert_of(source) : nullptr;
  return divert != nullptr ? divert->name : std::string();
}

void Engine::join_counts(SourceLimit& limit) {
  if (counts_.size() >= counts_kept_) {
    std::erase_if(counts_, [](const auto& one) { return one.second.second.expired(); });
    counts_kept_ = 2 * counts_.size() + kMinCounts;
  }
  auto& [id, counts] = counts_[limit.name];
  if (id == 0) id = ++last_counts_;
  limit.id = id;
  limit.open = counts.lock();
  if (limit.open) return;
  limit.open = std::make_shared<OpenBySource>();
  counts = limit.open;
}

void Engine::reset_targets(int rule_id, std::vector<int> targets) {
  if (!rules_.contains(rule_id)) return;
  serve_opened();
  for (const auto& worker : workers_)
    worker->loop.post([&worker = *worker, rule_id, targets] { worker.reset_targets(rule_id, targets); });
}

void Engine::reset(int rule_id, PortRange keep) {
  if (!rules_.contains(rule_id)) return;
  serve_opened();
  for (const auto& worker : workers_)
    worker->loop.post([&worker = *worker, rule_id, keep] { worker.reset(rule_id, keep); });
}

void Engine::on_all(const std::function<void(Worker&)>& work) {
  std::latch left(static_cast<std::ptrdiff_t>(workers_.size()));
  for (const auto& worker : workers_)
    worker->loop.post([&worker = *worker, &work, &left] {
      work(worker);
      left.count_down();
    });
  left.wait();
}

ConnectionPage Engine::connections(const ConnectionQuery& query) {
  std::vector<OpenConnections> parts(workers_.size(), OpenConnections(query));
  on_all([&](Worker& worker) { worker.collect(parts[worker.index]); });
  ConnectionPage all;
  for (const OpenConnections& part : parts) {
    all.rows.insert(all.rows.end(), part.page.rows.begin(), part.page.rows.end());
    all.matched += part.page.matched;
    for (size_t direction = 0; direction < 2; direction++) all.bytes[direction] += part.page.bytes[direction];
  }
  all.keep_first(query.limit);
  return all;
}

uint32_t Engine::reserve_descriptor(const std::string& owner) {
  auto share = context_.descriptors.share_of(owner);
  if (!share->reserve_own()) return 0;
  agent_dials_.emplace(++last_agent_dial_, std::move(share));
  return last_agent_dial_;
}

void Engine::release_descriptor(uint32_t reservation) {
  const auto dial = agent_dials_.extract(reservation);
  if (!dial.empty()) dial.mapped()->release(1);
}

int64_t Engine::end_connections(const ConnectionSelection& selection) {
  std::atomic<int64_t> count{0};
  on_all([&](Worker& worker) { count += worker.end_selected(selection); });
  return count;
}

bool Engine::set_weights(int rule_id, std::vector<double> weights) {
  return change_weights(rule_id, &TargetWeights::weights, std::move(weights), kMaxWeight);
}

bool Engine::set_shares(int rule_id, std::vector<double> shares) {
  return change_weights(rule_id, &TargetWeights::shares, std::move(shares), 1);
}

bool Engine::change_weights(int rule_id, std::vector<double> TargetWeights::*which, std::vector<double> values,
                            double max) {
  const auto found = rules_.find(rule_id);
  if (found == rules_.end() || !found->second->balance) return true;
  const auto is_valid = [max](double value) { return value >= 0 && value <= max; };
  if (values.size() != static_cast<size_t>(found->second->own_targets.size()) || !std::ranges::all_of(values, is_valid)) return false;
  TargetWeights next = *found->second->current_weights();
  next.*which = std::move(values);
  found->second->replace_weights(std::move(next));
  return true;
}

void Engine::set_meter(int id, const Limits& limits) {
  auto& meter = meters_[id];
  if (!meter) meter = std::make_shared<Meter>(id, *this);
  meter->set_limits(limits, sys::now_us());
}

bool Engine::set_budget(int meter_id, const std::optional<Budget>& budget) {
  const auto found = meters_.find(meter_id);
  if (found == meters_.end()) return false;
  found->second->set_budget(budget);
  return true;
}

void Engine::budget_exhausted(Meter& meter, uint64_t version, int64_t hold_ms) {
  if (workers_.empty()) return;  // stopped: events are no longer delivered
  context_.events.push({.kind = EngineEvent::Kind::meter_empty, .id = meter.id});
  for (const auto& worker : workers_)
    worker->loop.post([&worker = *worker, meter = meter.shared_from_this(), version, hold_ms] {
      worker.start_hold(meter, version, hold_ms);
    });
}

void Engine::meter_changed(Meter& meter) {
  for (const auto& worker : workers_)
    worker->loop.post(
        [&worker = *worker, meter = meter.shared_from_this()] { worker.meter_changed(*meter); });
}

void Engine::take_back(std::shared_ptr<DescriptorShare> share) {
  for (const auto& worker : workers_)
    worker->loop.post([&worker = *worker, share] { worker.give_back(*share); });
}

void Engine::resolved(int64_t token, ResolveAnswer answer) {
  if (workers_.empty()) return;
  Worker& worker = *workers_[static_cast<size_t>(token) % workers_.size()];
  worker.loop.post([&worker, token, answer = std::move(answer)] { worker.names.answered(token, answer); });
}

void Engine::dialed(int64_t token, DialAnswer answer) {
  if (workers_.empty()) return;
  Worker& worker = *workers_[static_cast<size_t>(token) % workers_.size()];
  worker.loop.post([&worker, token, answer = std::move(answer)] { worker.target_dials.answered(token, answer); });
}

int Engine::take_socket(std::shared_ptr<DialerEnd> end) {
  const int64_t token = end->stream->token;
  const int socket = end->socket.release();
  streams_[token] = std::move(end);
  return socket;
}

void Engine::reset_stream(int64_t token) {
  if (const auto found = streams_.find(token); found != streams_.end())
    found->second->stream->is_reset_by_dialer.store(true);
}

bool Engine::is_stream_reset(int64_t token) const {
  const auto found = streams_.find(token);
  return found != streams_.end() && found->second->stream->is_reset_by_engine.load();
}

void Engine::stop() {
  if (threads_.empty()) return;
  serve_opened();
  for (const auto& worker : workers_) worker->loop.post([&worker = *worker] { worker.stop(); });
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
  threads_.clear();
  workers_.clear();  // closes their descriptors
  bindings_.clear();
}

void Engine::write_rule(int rule_id, std::vector<double>& out) {
  const auto found = rules_.find(rule_id);
  if (found == rules_.end()) return;
  Rule& rule = *found->second;
  const auto put = [&](auto value) { out.push_back(static_cast<double>(value)); };
  const auto put_sum = [&](auto&& counter_of) {
    int64_t total = 0;
    for (const auto& counters : rule.counters) total += counter_of(*counters).value();
    put(total);
  };
  const size_t port_count = rule.counters[0]->ports.size();
  const auto rejected = rule.rejected();
  put(rule.id);
  const size_t own_targets = rule.own_targets.size();
  for (const size_t count : {port_count, own_targets, rejected.size(), rule.diverts.size()}) put(count);
  for (Counter RuleCounters::*counter : {&RuleCounters::connections, &RuleCounters::dns_failures,
                                         &RuleCounters::failovers, &RuleCounters::overflow})
    put_sum([&](RuleCounters& counters) -> Counter& { return counters.*counter; });
  for (size_t i = 0; i < port_count; i++) {
    put(rule.from + i);
    for (const size_t direction : {0, 1})
      put_sum([&](RuleCounters& counters) -> Counter& { return counters.ports[i].bytes[direction]; });
    for (const size_t direction : {0, 1})
      put_sum([&](RuleCounters& counters) -> Counter& { return counters.ports[i].datagrams[direction]; });
    put_sum([&](RuleCounters& counters) -> Counter& { return counters.ports[i].active; });
  }
  for (size_t i = 0; i < own_targets; i++) {
    for (const size_t direction : {0, 1})
      put_sum([&](RuleCounters& counters) -> Counter& { return counters.targets[i].bytes[direction]; });
    put_sum([&](RuleCounters& counters) -> Counter& { return counters.targets[i].connections; });
    put_sum([&](RuleCounters& counters) -> Counter& { return counters.targets[i].active; });
    const TargetHealth::Status status = rule.health.status(static_cast<int>(i));
    put(status.state);
    put(status.consecutive_failures);
    put(status.failures);
    put_sum([&](RuleCounters& counters) -> Counter& { return counters.targets[i].connects; });
    put_sum([&](RuleCounters& counters) -> Counter& { return counters.targets[i].connect_ms; });
    put(status.last_failure_at);
    put(status.last_success_at);
    put(status.last_failure.empty() ? kNoReason : context_.reasons.id_of(status.last_failure));
    put(status.last_source);
  }
  for (const auto& [reason, count] : rejected) {
    put(reason);
    put(count);
  }
  for (const Divert& divert : rule.diverts) {
    put(context_.reasons.id_of(divert.name));
    const auto put_targets = [&](auto&& counter_of) {
      int64_t total = 0;
      for (const auto& counters : rule.counters)
        for (int i = divert.range.first; i < divert.range.end; i++) total += counter_of(counters->targets[i]).value();
      put(total);
    };
    for (const size_t direction : {0, 1})
      put_targets([&](const TargetCounters& counters) -> const Counter& { return counters.bytes[direction]; });
    put_targets([](const TargetCounters& counters) -> const Counter& { return counters.connections; });
    put_targets([](const TargetCounters& counters) -> const Counter& { return counters.active; });
  }
}

void Engine::write_sample(std::vector<double>& out) {
  const auto put = [&](auto value) { out.push_back(static_cast<double>(value)); };
  put(rules_.size());
  for (const auto& [id, rule] : rules_) write_rule(id, out);
  put(meters_.size());
  const int64_t now_us = sys::now_us();
  for (const auto& [id, meter] : meters_) {
    const Meter::Counters counters = meter->counters(now_us);
    put(id);
    for (const int64_t value : {counters.bytes_in, counters.bytes_out, counters.active}) put(value);
    put(counters.throttled_ms);
  }
  for (const auto& count : context_.peeks.counts) put(count.load());
  put(static_cast<double>(context_.peeks.sum_us.load()) / 1000);
  put(context_.events.dropped());
}

}  // namespace sluice
