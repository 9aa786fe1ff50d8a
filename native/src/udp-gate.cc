#include "udp-gate.h"

#include <string.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace sluice {

namespace {

/** As often as this a listener is read before others have their turn. */
constexpr int kRounds = 4;
constexpr int64_t kRefusalBelievedMs = 10'000;
/** Silent flows are looked for this often in an idle time, but not less often than each `kLongestSweepMs`. */
constexpr int64_t kSweepsPerIdle = 4;
constexpr int64_t kLongestSweepMs = 5'000;

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

uint64_t mix(uint64_t hash, uint64_t value) {
  const auto product = static_cast<unsigned __int128>(hash ^ value) * 0x9e3779b97f4a7c15;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

class UdpGate::Listener final : public Watcher {
 public:
  Listener(UdpGate& gate, const Bound& bound)
      : gate_(&gate), socket_(bound.socket), port_index_(bound.place.port - gate.rule->from) {
    gate.worker.loop.watch(socket_->get(), *this, EPOLLIN);
  }

  void ready(uint32_t) override {
    for (int round = 0; gate_ != nullptr && round < kRounds; round++)
      if (!gate_->take(socket_->get(), port_index_)) return;
  }
  void close() {
    gate_->worker.loop.unwatch(socket_->get());
    gate_ = nullptr;
    socket_.reset();
  }

 private:
  UdpGate* gate_;
  std::shared_ptr<Fd> socket_;
  const int port_index_;
};

size_t UdpGate::Hash::operator()(const Key& key) const {
  std::array<uint64_t, 4> words{};
  static_assert(sizeof key.caller.raw <= sizeof words);
  std::memcpy(words.data(), key.caller.raw.data(), key.caller.raw.size());
  uint64_t hash = mix(seed, static_cast<uint64_t>(key.port_index));
  for (const uint64_t word : words) hash = mix(hash, word);
  return hash;
}

UdpGate::UdpGate(Worker& worker, std::shared_ptr<Rule> rule, std::vector<Bound> sockets)
    : Gate(worker, std::move(rule)), sockets_(std::move(sockets)), flows_(0, Hash{random_seed()}) {}

UdpGate::~UdpGate() = default;

void UdpGate::open() {
  const size_t threads = rule->counters.size();
  for (const Bound& bound : std::exchange(sockets_, {})) {
    // Two threads that read one socket would tear its flows.
    const bool is_mine = !bound.is_shared || bound.place.port % threads == worker.index;
    if (is_mine) listeners_.push_back(std::make_unique<Listener>(*this, bound));
  }
}

void UdpGate::leave_port() {
  batch().flush();
  sweep_.cancel();
  for (auto& listener : listeners_) {
    listener->close();
    worker.loop.bury(std::move(listener));
  }
  listeners_.clear();
  for (UdpFlow* flow : all()) flow->end(kNoReason);
}

bool UdpGate::take(int listener, int port_index) {
  UdpBatch& batch = this->batch();
  batch.flush();
  Span got;
  if (batch.receive(listener, got) <= 0) return false;
  for (Span run{got.first, got.first}; run.first < got.end; run.first = run.end) {
    do run.end++;
    while (run.end < got.end && batch.is_same_caller(run.first, run.end));
    take_run(listener, port_index, run);
  }
  batch.flush();
  const bool is_more = UdpBatch::has_filled(got);
  if (!is_more) worker.loop.saw_small();
  return is_more;
}

void UdpGate::take_run(int listener, int port_index, Span run) {
  const UdpWay way{listener, port_index, batch().caller(run.first)};
  const auto found = flows_.find({way.caller, port_index});
  UdpFlow* flow = found != flows_.end() ? found->second.get() : admit(way, run.end - run.first);
  if (flow != nullptr) flow->take(run);
}

UdpFlow* UdpGate::admit(const UdpWay& way, int datagrams) {
  const Reason source = judge_source(way.caller.address());
  if (source != kNoReason) return refuse(source, datagrams);
  if (rule->flows.fetch_add(1) >= rule->flow_cap) {
    rule->flows.fetch_sub(1);
    counters.overflow.add(datagrams);
    return nullptr;
  }
  auto made = std::make_unique<UdpFlow>(*this, way);
  const Reason refusal = enter(*made);
  if (refusal != kNoReason) {
    rule->flows.fetch_sub(1);
    return refuse(refusal, datagrams);
  }
  UdpFlow* flow = made.get();
  flows_.emplace(Key{way.caller, way.port_index}, std::move(made));
  counters.connections.add(1);
  counters.ports[way.port_index].active.add(1);
  arm_sweep();
  flow->begin();
  return flow->is_over() ? nullptr : flow;
}

Reason UdpGate::enter(UdpFlow& flow) {
  Descriptors& descriptors = worker.shared.descriptors;
  if (!descriptors.take(1)) return worker.shared.why.descriptors;
  const Reason refusal = flow.enter();
  if (refusal != kNoReason) descriptors.give(1);
  return refusal;
}

UdpFlow* UdpGate::refuse(Reason reason, int datagrams) {
  rule->reject(reason, datagrams);
  return nullptr;
}

void UdpGate::drop(UdpFlow& flow) {
  const auto found = flows_.find({flow.way().caller, flow.way().port_index});
  worker.loop.bury(std::move(found->second));
  flows_.erase(found);
  rule->flows.fetch_sub(1);
  worker.shared.descriptors.give(1);
  counters.ports[flow.way().port_index].active.add(-1);
  end_when_empty();
}

std::vector<Address> UdpGate::in_order(const std::vector<Address>& addresses, uint16_t port) {
  const int64_t now_ms = worker.loop.now_ms();
  std::erase_if(refused_, [&](const Refused& one) { return one.at_ms + kRefusalBelievedMs <= now_ms; });
  std::vector<Address> all = interleave(addresses, rule->prefer_ipv6);
  for (Address& address : all) address = address.with_port(port);
  std::stable_partition(all.begin(), all.end(), [&](const Address& address) {
    return std::none_of(refused_.begin(), refused_.end(),
                        [&](const Refused& one) { return one.address == address; });
  });
  return all;
}

void UdpGate::evicted(int target, const Address& address, int error) {
  std::erase_if(refused_, [&](const Refused& one) { return one.address == address; });
  refused_.push_back({address, worker.loop.now_ms()});
  Event event{Event::Kind::flow_evicted, rule->id};
  event.target = target;
  event.words = strerrorname_np(error);
  worker.shared.events.may_tell(std::move(event));
}

void UdpGate::judge_all() {
  for (UdpFlow* flow : all()) flow->judge();
}

void UdpGate::sweep() {
  const int64_t silent_since_ms = worker.loop.now_ms() - rule->idle_ms;
  for (UdpFlow* flow : all())
    if (flow->seen_ms() <= silent_since_ms) flow->end(kNoReason);
  arm_sweep();
}

void UdpGate::arm_sweep() {
  if (rule->idle_ms == 0 || flows_.empty() || sweep_.is_armed()) return;
  worker.loop.arm(sweep_, std::clamp<int64_t>(rule->idle_ms / kSweepsPerIdle, 1, kLongestSweepMs));
}

std::vector<UdpFlow*> UdpGate::all() const {
  std::vector<UdpFlow*> all;
  all.reserve(flows_.size());
  for (const auto& [key, flow] : flows_) all.push_back(flow.get());
  return all;
}

}  // namespace sluice
