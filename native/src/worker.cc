#include "worker.h"

#include "port-listeners.h"
#include "udp-rule-shard.h"

namespace sluice {

/** Waits for the hold time of an exhausted meter, then resets its TCP connections. */
class Worker::BudgetHold final : public DeferredDelete {
 public:
  BudgetHold(Worker& worker, std::shared_ptr<Meter> meter, uint64_t version, int64_t hold_ms)
      : worker_(worker), meter_(std::move(meter)), version_(version) {
    worker_.loop.arm_after(timer_, hold_ms);
  }

 private:
  void on_timer() {
    const std::unique_ptr<BudgetHold> self = std::move(worker_.holds_[meter_->id]);
    worker_.holds_.erase(meter_->id);
    if (!meter_->is_exhausted_since(version_)) return;
    std::vector<RuleShard*> shards;
    for (const auto& [id, shard] : worker_.shards_)
      if (!shard->rule->is_udp && shard->uses_meter(*meter_)) shards.push_back(shard.get());
    for (RuleShard* shard : shards) shard->reset_all(ConnectionEnd::budget_spent);
  }

  Worker& worker_;
  const std::shared_ptr<Meter> meter_;
  const uint64_t version_;
  MethodTimer<BudgetHold, &BudgetHold::on_timer> timer_{*this};
};

Worker::Worker(EngineContext& context, size_t index, size_t count)
    : context(context),
      index(index),
      names(loop, context.events, index, count),
      target_dials(context.events, index, count),
      pipes(context, loop),
      count_(count),
      connection_id_(sys::random_value<std::array<char, 16>>()) {}

Worker::~Worker() = default;

void Worker::open(std::shared_ptr<Rule> rule, BoundSockets sockets, std::shared_ptr<WaitingCallers> waiting) {
  const auto found = shards_.find(rule->replaces);
  RuleShard* replaced = found != shards_.end() ? found->second.get() : nullptr;
  if (replaced != nullptr && (replaced->is_closed() || replaced->rule->is_udp != rule->is_udp)) replaced = nullptr;
  if (rule->is_udp)
    open_udp(std::move(rule), std::move(sockets), replaced);
  else
    open_tcp(std::move(rule), std::move(sockets), std::move(waiting), replaced);
}

void Worker::open_udp(std::shared_ptr<Rule> rule, BoundSockets sockets, RuleShard* replaced) {
  const int id = rule->id;
  auto shard = std::make_unique<UdpRuleShard>(*this, std::move(rule));
  shard->open(sockets, static_cast<UdpRuleShard*>(replaced));
  shards_[id] = std::move(shard);
}

void Worker::open_tcp(std::shared_ptr<Rule> rule, BoundSockets sockets, std::shared_ptr<WaitingCallers> waiting, RuleShard* replaced) {
  auto shard = std::make_unique<TcpRuleShard>(*this, rule);
  auto& listeners = listeners_[ports_of(*rule)];
  if (!listeners) {
    if (replaced != nullptr)
      if (const auto old = listeners_.find(ports_of(*replaced->rule)); old != listeners_.end() && old->second)
        old->second->hand_over(sockets);
    listeners = std::make_unique<PortListeners>(*this, std::move(sockets), std::move(waiting));
  }
  listeners->add(*shard);
  if (replaced != nullptr && ports_of(*replaced->rule) == ports_of(*rule))
    listeners->remove(static_cast<TcpRuleShard&>(*replaced));
  shards_[rule->id] = std::move(shard);
}

void Worker::close(int rule_id, int64_t drain_ms) {
  const auto found = shards_.find(rule_id);
  if (found == shards_.end()) return;
  RuleShard& shard = *found->second;
  if (!shard.is_closed()) stop_listening(shard);
  shard.close(drain_ms);
}

void Worker::reset_targets(int rule_id, const std::vector<int>& targets) {
  if (const auto found = shards_.find(rule_id); found != shards_.end()) found->second->reset_targets(targets);
}

void Worker::reset(int rule_id, PortRange keep) {
  if (const auto found = shards_.find(rule_id); found != shards_.end()) found->second->reset(keep);
}

void Worker::stop_listening(RuleShard& shard) {
  if (const auto found = listeners_.find(ports_of(*shard.rule));
      !shard.rule->is_udp && found != listeners_.end()) {
    PortListeners& listeners = *found->second;
    listeners.accept_waiting();
    listeners.remove(static_cast<TcpRuleShard&>(shard));
    if (listeners.is_empty()) {
      listeners.close();
      loop.delete_later(std::move(found->second));
      listeners_.erase(found);
    }
  }
  shard.stop_listening();
  shard.rule->threads_listening.fetch_sub(1);
  shard.rule->threads_listening.notify_all();
}

void Worker::remove_shard(RuleShard& shard) {
  const auto found = shards_.find(shard.rule->id);
  const std::shared_ptr<Rule> rule = shard.rule;
  loop.delete_later(std::move(found->second));
  shards_.erase(found);
  names.forget(rule->id);
  ended.flush();
  if (rule->threads_active.fetch_sub(1) == 1)
    context.events.push({.kind = EngineEvent::Kind::closed, .id = rule->id});
}

void Worker::filters_changed(int rule_id) {
  if (const auto found = shards_.find(rule_id); found != shards_.end()) found->second->recheck_filters();
}

void Worker::collect(OpenConnections& found) {
  found.begin(loop.now_ms());
  for (const auto& [id, shard] : shards_)
    if (found.query().selection.has_rule(id)) shard->collect(found);
  found.finish();
}

int64_t Worker::end_selected(const ConnectionSelection& selection) {
  std::vector<RuleShard*> selected;  // a copy: a closed shard leaves when its last connection ends
  for (const auto& [id, shard] : shards_)
    if (selection.has_rule(id)) selected.push_back(shard.get());
  int64_t count = 0;
  for (RuleShard* shard : selected) count += shard->end_selected(selection);
  return count;
}

void Worker::give_back(DescriptorShare& share) {
  std::vector<RuleShard*> shards;
  for (const auto& [id, shard] : shards_)
    if (shard->rule->descriptors.get() == &share) shards.push_back(shard.get());
  for (RuleShard* shard : shards) shard->give_back();
}

void Worker::meter_changed(Meter& meter) {
  if (!meter.is_exhausted()) holds_.erase(meter.id);
  std::vector<RuleShard*> shards;
  for (const auto& [id, shard] : shards_)
    if (shard->uses_meter(meter)) shards.push_back(shard.get());
  for (RuleShard* shard : shards) shard->meter_changed();
}

void Worker::start_hold(std::shared_ptr<Meter> meter, uint64_t version, int64_t hold_ms) {
  if (!meter->is_exhausted_since(version)) return;  // for an older mark: a newer hold may be running
  const int id = meter->id;
  holds_[id] = std::make_unique<BudgetHold>(*this, std::move(meter), version, hold_ms);
}

std::string Worker::write_preamble(const Rule& rule, const Address& source, const Address& listen,
                                   std::string_view server_name) {
  for (size_t at = connection_id_.size(); at-- > 0 && ++connection_id_[at] == 0;);
  return rule.preamble->write({source, listen, server_name, connection_id_});
}

bool Worker::is_self_connected(int socket, const Address& target) {
  if (!local_addresses.include(target)) return false;
  const Address own = sys::local_address(socket);
  return own.port == target.port && (own.same_host(target) || target.is_unspecified());
}

void Worker::stop() {
  std::vector<int> rules;
  for (const auto& [id, shard] : shards_) rules.push_back(id);
  for (const int id : rules) close(id, 0);
  holds_.clear();
  loop.stop();
}

}  // namespace sluice
