#include "worker.h"

#include "place.h"
#include "udp-gate.h"

namespace sluice {

/** A spent meter's time until all that is in it is cut. */
class Worker::Hold final : public Mortal {
 public:
  Hold(Worker& worker, std::shared_ptr<Meter> meter, uint64_t epoch, int64_t hold_ms)
      : worker_(worker), meter_(std::move(meter)), epoch_(epoch) {
    worker_.loop.arm(timer_, hold_ms);
  }

 private:
  void tick() {
    const std::unique_ptr<Hold> self = std::move(worker_.holds_[meter_->id]);
    worker_.holds_.erase(meter_->id);
    if (!meter_->is_spent_since(epoch_)) return;
    std::vector<Gate*> gates;
    for (const auto& [id, gate] : worker_.gates_)
      if (!gate->rule->is_udp && gate->passes(*meter_)) gates.push_back(gate.get());
    for (Gate* gate : gates) gate->cut();
  }

  Worker& worker_;
  const std::shared_ptr<Meter> meter_;
  const uint64_t epoch_;
  TimerOf<Hold, &Hold::tick> timer_{*this};
};

Worker::Worker(Shared& shared, size_t index, size_t count)
    : shared(shared), index(index), pipes(shared), count_(count) {}

Worker::~Worker() = default;

void Worker::open(std::shared_ptr<Rule> rule, std::vector<Bound> sockets,
                  std::shared_ptr<std::atomic<int>> peeking) {
  const uint16_t from = rule->from;
  if (rule->is_udp) {
    auto gate = std::make_unique<UdpGate>(*this, rule, std::move(sockets));
    gate->open();
    gates_[rule->id] = std::move(gate);
    return;
  }
  auto gate = std::make_unique<StreamGate>(*this, rule);
  auto& place = places_[from];
  if (!place) place = std::make_unique<Place>(*this, std::move(sockets), std::move(peeking));
  place->join(*gate);
  gates_[rule->id] = std::move(gate);
}

void Worker::close(int rule_id, int64_t drain_ms) {
  const auto found = gates_.find(rule_id);
  if (found == gates_.end()) return;
  Gate& gate = *found->second;
  if (!gate.is_shut()) leave_port(gate);
  gate.close(gate.rule->is_udp ? 0 : drain_ms);
}

void Worker::leave_port(Gate& gate) {
  if (const auto found = places_.find(gate.rule->from); !gate.rule->is_udp && found != places_.end()) {
    Place& place = *found->second;
    place.leave(static_cast<StreamGate&>(gate));
    if (place.is_empty()) {
      place.shut();
      loop.bury(std::move(found->second));
      places_.erase(found);
    }
  }
  gate.leave_port();
  gate.rule->threads_shut.fetch_sub(1);
  gate.rule->threads_shut.notify_all();
}

void Worker::ended(Gate& gate) {
  const auto found = gates_.find(gate.rule->id);
  const std::shared_ptr<Rule> rule = gate.rule;
  loop.bury(std::move(found->second));
  gates_.erase(found);
  if (rule->threads_open.fetch_sub(1) == 1) shared.events.must_tell(Event{Event::Kind::closed, rule->id});
}

void Worker::filters_changed(int rule_id) {
  if (const auto found = gates_.find(rule_id); found != gates_.end()) found->second->judge_all();
}

void Worker::meter_changed(Meter& meter) {
  if (!meter.is_spent()) holds_.erase(meter.id);
  std::vector<Gate*> gates;
  for (const auto& [id, gate] : gates_)
    if (gate->passes(meter)) gates.push_back(gate.get());
  for (Gate* gate : gates) gate->wake();
}

void Worker::hold(std::shared_ptr<Meter> meter, uint64_t epoch, int64_t hold_ms) {
  const int id = meter->id;
  holds_[id] = std::make_unique<Hold>(*this, std::move(meter), epoch, hold_ms);
}

int64_t Worker::ask(Asker& asker, int rule_id, const std::string& host) {
  const int64_t token = ++asked_ * static_cast<int64_t>(count_) + static_cast<int64_t>(index);
  askers_[token] = &asker;
  Event event{Event::Kind::resolve, rule_id};
  event.number = token;
  event.words = host;
  shared.events.must_tell(std::move(event));
  return token;
}

void Worker::answer(int64_t token, const Answer& answer) {
  const auto found = askers_.find(token);
  if (found == askers_.end()) return;
  Asker& asker = *found->second;
  askers_.erase(found);
  asker.answered(answer);
}

void Worker::stop() {
  std::vector<int> rules;
  for (const auto& [id, gate] : gates_) rules.push_back(id);
  for (const int id : rules) close(id, 0);
  holds_.clear();
  loop.stop();
}

}  // namespace sluice
