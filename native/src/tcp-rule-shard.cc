#include "tcp-rule-shard.h"

#include <utility>

#include "connection.h"

namespace sluice {

/**
 * Connects to one target at a fixed interval and records the result in its health. Without a descriptor for it, tries
 * again after a random part of the interval, so that probes that began together do not exclude the same ones each time.
 */
class TcpRuleShard::Probe final : public DialerOwner<ConnectedTarget> {
 public:
  Probe(TcpRuleShard& shard, int target) : shard_(shard), target_(target) { on_timer(); }
  ~Probe() {
    if (!dialer_) return;
    dialer_->cancel();  // its deletion is deferred: it outlives the shard
    end();
  }

 private:
  void arm(int64_t after_ms) { shard_.worker.loop.arm_after(timer_, after_ms); }
  void on_timer() {
    if (shard_.is_closed()) return;
    const int64_t every_ms = shard_.rule->probe_ms;
    if (dialer_) return arm(every_ms);
    if (!shard_.rule->descriptors->reserve_probe()) return arm(1 + sys::random_value<uint32_t>() % every_ms);
    arm(every_ms);
    dialer_ = std::make_unique<Dialer>(shard_, 0, Address{}, nullptr, nullptr, *this);
    dialer_->begin_probe(target_);
  }
  void dial_succeeded(ConnectedTarget connected) override {
    if (!connected.endpoint) return end();
    // Errors do not matter here: the target was reachable.
    if (const auto& preamble = shard_.rule->preamble; preamble && !preamble->probe.empty())
      sys::transmit(connected.endpoint->fd(), preamble->probe.data(), preamble->probe.size());
    connected.endpoint->close();
    shard_.worker.loop.delete_later(std::move(connected.endpoint));
    end();
  }
  void dial_failed(Reason) override { end(); }
  void end() {
    shard_.rule->descriptors->release_probe();
    shard_.worker.loop.delete_later(std::move(dialer_));
  }

  TcpRuleShard& shard_;
  const int target_;
  std::unique_ptr<Dialer> dialer_;
  MethodTimer<Probe, &Probe::on_timer> timer_{*this};
};

TcpRuleShard::TcpRuleShard(Worker& worker, std::shared_ptr<Rule> rule) : RuleShard(worker, std::move(rule)) {
  if (this->rule->probe_ms == 0 || !worker.is_primary_for(this->rule->id)) return;
  for (int target = 0; target < this->rule->own_targets.end; target++)
    probes_.push_back(std::make_unique<Probe>(*this, target));
}

TcpRuleShard::~TcpRuleShard() = default;

void TcpRuleShard::start_connection(Caller caller) {
  auto connection = std::make_unique<Connection>(*this, std::move(caller));
  if (const Reason refusal = connection->enter()) {
    refuse(connection->caller_->fd(), connection->caller_address_, refusal, connection->server_name());
    connection->source_uses_.release();
    connection->divert_use_.release();
    rule->descriptors->release(kDescriptors);
    connection->close_endpoint(std::move(connection->caller_), Connection::Ending::reset);
    worker.loop.delete_later(std::move(connection));
    return;
  }
  connection->index_ = connections_.size();
  connections_.push_back(std::move(connection));
  connections_.back()->begin();
}

void TcpRuleShard::remove(Connection& connection) {
  const size_t index = connection.index_;
  worker.loop.delete_later(std::move(connections_[index]));
  if (index + 1 < connections_.size()) {
    connections_[index] = std::move(connections_.back());
    connections_[index]->index_ = index;
  }
  connections_.pop_back();
  end_when_empty();
}

std::vector<Connection*> TcpRuleShard::all_connections() const {
  std::vector<Connection*> all;
  for (const auto& connection : connections_) all.push_back(connection.get());
  return all;
}

void TcpRuleShard::refuse(int socket, const Address& caller, Reason refusal, std::string server_name) {
  rule->reject(refusal);
  report(socket, caller, ConnectionEnd::refused, refusal, std::move(server_name));
}

void TcpRuleShard::report(int socket, const Address& caller, ConnectionEnd why, Reason refusal,
                          std::string server_name) {
  if (!rule->report_ends) return;
  worker.ended.add({.rule = rule->id,
                    .owner = rule->descriptors.get(),
                    .source = caller,
                    .listen = sys::local_address(socket),
                    .target = {},
                    .target_index = -1,
                    .opened_at_ms = sys::unix_ms(),
                    .duration_ms = 0,
                    .bytes = {},
                    .end = why,
                    .refusal = refusal,
                    .server_name = std::move(server_name)});
}

void TcpRuleShard::reset_all(ConnectionEnd why) {
  for (Connection* connection : all_connections()) connection->reset(why);
}

void TcpRuleShard::reset(PortRange keep) {
  for (Connection* connection : all_connections())
    if (!keep.includes(rule->from + connection->port_index_)) connection->reset(ConnectionEnd::rule_closed);
}

void TcpRuleShard::collect(OpenConnections& found) const {
  for (const auto& connection : connections_)
    if (connection->is_selected(found.query().selection)) found.add(connection->row());
}

int64_t TcpRuleShard::end_selected(const ConnectionSelection& selection) {
  int64_t count = 0;
  for (Connection* connection : all_connections()) {
    if (connection->has_ended() || !connection->is_selected(selection)) continue;
    connection->reset(ConnectionEnd::operator_closed);
    count++;
  }
  return count;
}

void TcpRuleShard::give_back() {
  while (!connections_.empty() && rule->descriptors->claim(kDescriptors))
    connections_.back()->refuse(worker.context.refusals.owner_share);
}

void TcpRuleShard::meter_changed() {
  for (Connection* connection : all_connections())
    if (!connection->has_ended()) connection->retry_metering();
}

void TcpRuleShard::recheck_filters() {
  for (Connection* connection : all_connections())
    if (!connection->has_ended()) connection->recheck_filters();
}

void TcpRuleShard::end_reset() {
  for (Connection* connection : all_connections())
    if (is_reset(connection->target_index_)) connection->reset(ConnectionEnd::rule_closed);
}

bool TcpRuleShard::is_empty() const { return connections_.empty(); }

}  // namespace sluice
