#include "stream-gate.h"

#include "connection.h"

namespace sluice {

/** Tries one target again and again, for what its health says. */
class StreamGate::Probe final : public ReachOwner {
 public:
  Probe(StreamGate& gate, int target) : gate_(gate), target_(target) { tick(); }
  ~Probe() {
    if (!reach_) return;
    reach_->give_up();  // it outlives the gate
    gate_.worker.loop.bury(std::move(reach_));
  }

 private:
  void arm() { gate_.worker.loop.arm(timer_, gate_.rule->probe_ms); }
  void tick() {
    if (gate_.is_shut()) return;
    arm();
    if (reach_) return;
    reach_ = std::make_unique<Reach>(gate_, 0, *this);
    reach_->begin_probe(target_);
  }
  void reached(Reached reached) override {
    reached.leg->close();
    gate_.worker.loop.bury(std::move(reached.leg));
    gate_.worker.loop.bury(std::move(reach_));
  }
  void unreached(Reason) override { gate_.worker.loop.bury(std::move(reach_)); }

  StreamGate& gate_;
  const int target_;
  std::unique_ptr<Reach> reach_;
  TimerOf<Probe, &Probe::tick> timer_{*this};
};

StreamGate::StreamGate(Worker& worker, std::shared_ptr<Rule> rule) : Gate(worker, std::move(rule)) {
  if (this->rule->probe_ms == 0 || !worker.has_duty(this->rule->id)) return;
  for (size_t target = 0; target < this->rule->targets.size(); target++)
    probes_.push_back(std::make_unique<Probe>(*this, static_cast<int>(target)));
}

StreamGate::~StreamGate() = default;

void StreamGate::welcome(Caller caller) {
  auto connection = std::make_unique<Connection>(*this, std::move(caller));
  if (const Reason refusal = connection->enter()) {
    rule->reject(refusal);
    worker.shared.descriptors.give(kDescriptors);
    connection->bury(std::move(connection->caller_), Connection::Ending::reset);
    worker.loop.bury(std::move(connection));
    return;
  }
  connection->place_ = live_.size();
  live_.push_back(std::move(connection));
  live_.back()->begin();
}

void StreamGate::part(Connection& connection) {
  const size_t place = connection.place_;
  worker.loop.bury(std::move(live_[place]));
  if (place + 1 < live_.size()) {
    live_[place] = std::move(live_.back());
    live_[place]->place_ = place;
  }
  live_.pop_back();
  end_when_empty();
}

std::vector<Connection*> StreamGate::everybody() const {
  std::vector<Connection*> all;
  for (const auto& connection : live_) all.push_back(connection.get());
  return all;
}

void StreamGate::cut() {
  for (Connection* connection : everybody()) connection->cut();
}

void StreamGate::wake() {
  for (Connection* connection : everybody())
    if (!connection->has_ended()) connection->ask_again();
}

void StreamGate::judge_all() {
  for (Connection* connection : everybody())
    if (!connection->has_ended()) connection->judge();
}

bool StreamGate::is_empty() const { return live_.empty(); }

}  // namespace sluice
