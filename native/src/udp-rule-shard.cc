#include "udp-rule-shard.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "error-name.h"
#include "proxy-header.h"

namespace sluice {

namespace {

/** Batches read from one listener before the others get a turn. */
constexpr int kBatchesPerWake = 4;
constexpr int64_t kWatchRetryMs = 100;  // after epoll could not watch a socket
constexpr int64_t kRefusalMemoryMs = 10'000;
constexpr int64_t kSilenceMemoryMs = 30'000;  // outlasts the turns of two other targets
/** Sweeps for idle flows per idle time; they are never further apart than `kMaxSweepMs`. */
constexpr int64_t kSweepsPerIdle = 4;
constexpr int64_t kMaxSweepMs = 5'000;

uint64_t mix(uint64_t hash, uint64_t value) {
  const auto product = static_cast<unsigned __int128>(hash ^ value) * 0x9e3779b97f4a7c15;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

class UdpRuleShard::Listener final : public FdWatcher {
 public:
  Listener(UdpRuleShard& shard, const BoundSocket& bound)
      : shard_(&shard),
        socket_(bound.socket),
        port_index_(bound.address.port - shard.rule->from),
        gets_copies_(!bound.is_shared && shard.worker.index > 0) {
    watch();
  }

  void ready(uint32_t) override {
    for (int batch = 0; shard_ != nullptr && batch < kBatchesPerWake; batch++)
      if (!shard_->receive(*this)) return;
  }
  bool has(const BoundSocket& bound) const { return socket_ == bound.socket; }
  int descriptor() const { return socket_->get(); }
  int port_index() const { return port_index_; }
  /** True if the listener of the first thread gets the same broadcasts: the kernel copies them to all sockets of a port. */
  bool gets_copies() const { return gets_copies_; }
  void close() {
    timer_.cancel();
    shard_->worker.loop.unwatch(socket_->get());
    shard_ = nullptr;
    socket_.reset();
  }

 private:
  void watch() {
    EventLoop& loop = shard_->worker.loop;
    if (loop.watch(socket_->get(), *this, EPOLLIN) < 0) loop.arm_after(timer_, kWatchRetryMs);
  }

  UdpRuleShard* shard_;
  std::shared_ptr<Fd> socket_;
  const int port_index_;
  const bool gets_copies_;
  MethodTimer<Listener, &Listener::watch> timer_{*this};
};

size_t UdpRuleShard::Hash::operator()(const Key& key) const {
  std::array<uint64_t, 6> words{};
  constexpr size_t kLocalWords = 2;
  static_assert(sizeof key.local.bytes == kLocalWords * sizeof words[0]);
  static_assert(sizeof key.source.raw <= sizeof words - sizeof key.local.bytes);
  std::memcpy(words.data(), key.local.bytes.data(), key.local.bytes.size());
  std::memcpy(&words[kLocalWords], key.source.raw.data(), key.source.raw.size());
  uint64_t hash = mix(seed, uint64_t{key.local.zone} << 32 | static_cast<uint64_t>(key.port));
  for (const uint64_t word : words) hash = mix(hash, word);
  return hash;
}

UdpRuleShard::UdpRuleShard(Worker& worker, std::shared_ptr<Rule> rule) : RuleShard(worker, std::move(rule)) {}

UdpRuleShard::~UdpRuleShard() = default;

void UdpRuleShard::open(const BoundSockets& sockets, UdpRuleShard* replaced) {
  table_ = replaced != nullptr ? replaced->table_ : std::make_shared<FlowTable>(0, Hash{sys::random_value<uint64_t>()});
  const size_t threads = rule->counters.size();
  for (const BoundSocket& bound : sockets) {
    // One thread reads a shared socket, so that the datagrams of a flow stay together.
    if (bound.is_shared && bound.address.port % threads != worker.index) continue;
    if (replaced != nullptr) replaced->hand_over(bound);
    listeners_.push_back(std::make_unique<Listener>(*this, bound));
  }
}

void UdpRuleShard::hand_over(const BoundSocket& bound) {
  const auto found = std::ranges::find_if(listeners_, [&](const auto& listener) { return listener->has(bound); });
  if (found == listeners_.end()) return;
  (*found)->close();
  worker.loop.delete_later(std::move(*found));
  listeners_.erase(found);
}

void UdpRuleShard::stop_listening() {
  batch().flush();
  std::unordered_set<int> closing;
  for (const auto& listener : listeners_) closing.insert(listener->descriptor());
  std::vector<UdpFlow*> ending;
  for (const auto& [key, flow] : *table_)
    if (closing.contains(flow->path().listener)) ending.push_back(flow);
  for (UdpFlow* flow : ending) flow->end(ConnectionEnd::rule_closed);
  for (auto& listener : listeners_) {
    listener->close();
    worker.loop.delete_later(std::move(listener));
  }
  listeners_.clear();
}

void UdpRuleShard::collect(OpenConnections& found) const {
  for (const auto& flow : flows_)
    if (flow->is_selected(found.query().selection)) found.add(flow->row());
}

int64_t UdpRuleShard::end_selected(const ConnectionSelection& selection) {
  int64_t count = 0;
  for (UdpFlow* flow : all_flows()) {
    if (flow->has_ended() || !flow->is_selected(selection)) continue;
    flow->end(ConnectionEnd::operator_closed);
    count++;
  }
  return count;
}

void UdpRuleShard::reset_all(ConnectionEnd why) {
  for (UdpFlow* flow : all_flows()) flow->end(why);
}

void UdpRuleShard::reset(PortRange keep) {
  for (UdpFlow* flow : all_flows())
    if (!keep.includes(rule->from + flow->path().port_index)) flow->end(ConnectionEnd::rule_closed);
}

void UdpRuleShard::end_reset() {
  for (UdpFlow* flow : all_flows())
    if (is_reset(flow->target_index())) flow->end(ConnectionEnd::rule_closed);
}

bool UdpRuleShard::receive(const Listener& listener) {
  UdpBatch& batch = this->batch();
  batch.flush();
  SlotRange received;
  if (batch.receive(listener.descriptor(), received) <= 0) return false;
  for (SlotRange run{received.first, received.first}; run.first < received.end; run.first = run.end) {
    do run.end++;
    while (run.end < received.end && batch.is_same_path(run.first, run.end));
    if (listener.gets_copies() && batch.is_to_many(run.first)) continue;
    dispatch_run(listener.descriptor(), listener.port_index(), run);
  }
  batch.flush();
  const bool is_more = UdpBatch::is_full(received);
  if (!is_more) worker.loop.record_small_read();
  return is_more;
}

UdpFlow* UdpRuleShard::find_flow(const UdpPath& path) const {
  const auto found = table_->find(key_of(path));
  if (found == table_->end()) return nullptr;
  UdpFlow* flow = found->second;
  if (!flow->is_stranded(*rule)) return flow;
  flow->end(ConnectionEnd::rule_closed);
  return nullptr;
}

void UdpRuleShard::dispatch_run(int listener, int port_index, SlotRange run) {
  const UdpPath path{listener, port_index, batch().source(run.first), batch().reply_source(run.first)};
  if (rule->first_read) {
    for (int slot = run.first; slot < run.end; slot++) dispatch_behind_header(path, slot);
    return;
  }
  UdpFlow* flow = find_flow(path);
  if (flow == nullptr) flow = create_flow(path, {path.source.address()}, run.size());
  if (flow != nullptr) flow->receive(run);
}

/** The first datagram of a flow must carry a header that names the caller; later ones may carry one. */
void UdpRuleShard::dispatch_behind_header(const UdpPath& path, int slot) {
  const FirstRead& first = *rule->first_read;
  UdpFlow* flow = find_flow(path);
  NamedCaller caller{path.source.address()};
  if (flow == nullptr && !first.trusts(caller.source)) return rule->reject(first.untrusted);
  const std::span bytes(reinterpret_cast<const uint8_t*>(batch().bytes(slot)), batch().size(slot));
  const bool has_header = ProxyHeader::is_binary(bytes);
  if (!has_header && flow == nullptr) return rule->reject(first.header);
  if (has_header) {
    const ProxyHeader header = ProxyHeader::read(bytes, ProxyHeader::Carrier::datagram);
    if (header.size == 0) return rule->reject(first.header);
    if (header.kind == ProxyHeader::Kind::named) caller = {header.source, header.destination};
    batch().remove_front(slot, header.size);
  }
  if (flow == nullptr) flow = create_flow(path, caller, 1);
  if (flow != nullptr) flow->receive({slot, slot + 1});
}

UdpFlow* UdpRuleShard::create_flow(const UdpPath& path, const NamedCaller& caller, int datagrams) {
  const Reason source = check_source(caller.source);
  if (source != kNoReason) {
    rule->reject(source, datagrams);
    return nullptr;
  }
  if (rule->flows->fetch_add(1) >= rule->flow_cap) {
    rule->flows->fetch_sub(1);
    counters.overflow.add(datagrams);
    return nullptr;
  }
  auto created = std::make_unique<UdpFlow>(*this, path, caller);
  const Reason refusal = enter(*created);
  if (refusal != kNoReason) {
    rule->flows->fetch_sub(1);
    rule->reject(refusal, datagrams);
    return nullptr;
  }
  UdpFlow* flow = created.get();
  flow->index = flows_.size();
  flows_.push_back(std::move(created));
  table_->emplace(key_of(path), flow);
  counters.connections.add(1);
  counters.ports[path.port_index].active.add(1);
  arm_sweep();
  flow->begin(datagrams);
  return flow->has_ended() ? nullptr : flow;
}

Reason UdpRuleShard::enter(UdpFlow& flow) {
  DescriptorShare& share = *rule->descriptors;
  if (const Reason refusal = worker.context.reserve(share, 1)) return refusal;
  const Reason refusal = flow.enter();
  if (refusal != kNoReason) share.release(1);
  return refusal;
}

void UdpRuleShard::give_back() {
  while (!flows_.empty() && rule->descriptors->claim(1)) flows_.back()->refuse(worker.context.refusals.owner_share);
}

void UdpRuleShard::settle_later(UdpFlow& flow) {
  unsettled_.insert(&flow);
  if (!settling_.is_armed()) worker.loop.arm_after(settling_, UdpFlow::kSettleMs);
}

void UdpRuleShard::settle_flows() {
  const int64_t now_ms = worker.loop.now_ms();
  std::erase_if(unsettled_, [&](UdpFlow* flow) { return !flow->settle_old(now_ms); });
  if (!unsettled_.empty()) worker.loop.arm_after(settling_, UdpFlow::kSettleMs);
}

void UdpRuleShard::remove(UdpFlow& flow) {
  unsettled_.erase(&flow);
  table_->erase(key_of(flow.path()));
  const size_t index = flow.index;
  worker.loop.delete_later(std::move(flows_[index]));
  if (index + 1 < flows_.size()) {
    flows_[index] = std::move(flows_.back());
    flows_[index]->index = index;
  }
  flows_.pop_back();
  rule->flows->fetch_sub(1);
  rule->descriptors->release(1);
  counters.ports[flow.path().port_index].active.add(-1);
  end_when_empty();
}

std::vector<Address> UdpRuleShard::dial_order(const std::vector<Address>& addresses, uint16_t port) {
  std::vector<Address> order = interleave(addresses, rule->prefer_ipv6);
  for (Address& address : order) address = address.with_port(port);
  rule->avoided.move_last(order, worker.loop.now_ms());
  return order;
}

void UdpRuleShard::record_refusal(const Address& address) {
  rule->avoided.add(address, worker.loop.now_ms(), kRefusalMemoryMs);
}

void UdpRuleShard::report_eviction(int target, int error) {
  worker.context.events.push_advisory({.kind = EngineEvent::Kind::flow_evicted,
                                       .id = rule->id,
                                       .target = target,
                                       .text = error_name(error)});
}

void UdpRuleShard::record_silence(const Address& address) {
  rule->avoided.add(address, worker.loop.now_ms(), kSilenceMemoryMs);
}

void UdpRuleShard::record_redial(int from, const Address& from_address, int to, const Address& to_address) {
  if (!redial_reports_.admit(worker.loop.now_ms())) return;
  worker.context.events.push_advisory({.kind = EngineEvent::Kind::flow_redialed,
                                       .id = rule->id,
                                       .target = from,
                                       .value = to,
                                       .text = from_address.text(),
                                       .reason = to_address.text()});
}

void UdpRuleShard::recheck_filters() {
  for (UdpFlow* flow : all_flows()) flow->recheck_filters();
}

void UdpRuleShard::sweep() {
  const int64_t now_ms = worker.loop.now_ms();
  for (UdpFlow* flow : all_flows()) {
    flow->check_silence(now_ms);
    if (flow->last_active_ms() <= now_ms - rule->idle_ms) flow->end(ConnectionEnd::idle);
  }
  arm_sweep();
}

void UdpRuleShard::arm_sweep() {
  if (rule->idle_ms == 0 || flows_.empty() || sweep_.is_armed()) return;
  worker.loop.arm_after(sweep_, std::clamp<int64_t>(rule->idle_ms / kSweepsPerIdle, 1, kMaxSweepMs));
}

std::vector<UdpFlow*> UdpRuleShard::all_flows() const {
  std::vector<UdpFlow*> flows;
  flows.reserve(flows_.size());
  for (const auto& flow : flows_) flows.push_back(flow.get());
  return flows;
}

}  // namespace sluice
