#include "port-listeners.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "client-hello.h"
#include "proxy-header.h"

namespace sluice {

namespace {
constexpr int kAcceptsPerWake = 32;
constexpr int64_t kPauseMs = 100;
constexpr int64_t kArrivalMs = 3'000;  // for the header, and again for the ClientHello
constexpr int kMaxQueue = 4096;  // callers in the accept queue of a closing listener
}  // namespace

class PortListeners::Listener final : public FdWatcher {
 public:
  Listener(PortListeners& owner, BoundSocket bound) : owner_(owner), bound_(std::move(bound)) { watch(); }

  void ready(uint32_t) override { accept_some(); }
  void accept_waiting() {
    for (int wakes = 0; wakes < kMaxQueue / kAcceptsPerWake && accept_some(); wakes++);
  }
  bool has(const BoundSocket& other) const { return bound_.socket == other.socket; }
  void close() {
    is_closed_ = true;
    timer_.cancel();
    // A shared socket stays open in other threads, so epoll would still report it here.
    owner_.worker_.loop.unwatch(bound_.socket->get());
    bound_.socket.reset();
  }

 private:
  /** Returns true if more callers may wait. */
  bool accept_some() {
    for (int i = 0; i < kAcceptsPerWake && !is_closed_; i++) {
      Address caller;
      Fd socket;
      const int error = sys::accept_from(bound_.socket->get(), caller, socket);
      if (error == 0) {
        owner_.on_accepted(std::move(socket), caller, bound_.address.port);
      } else if (error != -ECONNABORTED && error != -EINTR) {
        if (error != -EAGAIN) pause();
        return false;
      }
    }
    return true;
  }
  void watch() {
    const uint32_t events = bound_.is_shared ? EPOLLIN | EPOLLEXCLUSIVE : EPOLLIN;
    if (owner_.worker_.loop.watch(bound_.socket->get(), *this, events) < 0)
      owner_.worker_.loop.arm_after(timer_, kPauseMs);
  }
  /** Pauses accepting: with no descriptors or memory left, an immediate retry would only waste CPU. */
  void pause() {
    owner_.worker_.loop.unwatch(bound_.socket->get());
    owner_.worker_.loop.arm_after(timer_, kPauseMs);
  }

  PortListeners& owner_;
  BoundSocket bound_;
  bool is_closed_ = false;
  MethodTimer<Listener, &Listener::watch> timer_{*this};
};

/**
 * A caller without a rule yet: waits for the proxy header, then for the ClientHello, if the port has them. Bytes read
 * beyond the header are buffered for the target.
 */
class PortListeners::Arrival final : public DeferredDelete, public EndpointOwner, public WaitingCaller {
 public:
  Arrival(PortListeners& owner, Fd socket, const Address& sender, int port_index)
      : owner_(owner),
        endpoint_(std::make_unique<Endpoint>(std::move(socket), this)),
        caller_{sender},
        port_index_(port_index),
        first_(owner.first_read()),
        awaits_header_(first_ != nullptr),
        started_us_(loop().now_us()) {}
  ~Arrival() override { leave_place(); }

  /** Returns the reason of a refusal. A port of several owners counts for none: the caller's rule is unknown. */
  Reason reserve() {
    EngineContext& all = owner_.worker_.context;
    share_ = owner_.common_share();
    if (share_) return all.reserve(*share_, TcpRuleShard::kDescriptors);
    return all.descriptors.reserve(TcpRuleShard::kDescriptors) ? kNoReason : all.refusals.descriptors;
  }
  void release() {
    if (share_)
      share_->release(TcpRuleShard::kDescriptors);
    else
      owner_.worker_.context.descriptors.release(TcpRuleShard::kDescriptors);
  }

  void begin() {
    place_ = owner_.waiting_->enter(*this, loop(), Source::of(caller_.source));
    loop().arm_after(timer_, kArrivalMs);
    if (const int error = loop().watch(endpoint_->fd(), *endpoint_))
      return end(nullptr, context().local_refusal(-error));
    if (!awaits_header_ && owner_.is_denied(caller_.source)) judge_later();
  }
  void give_up_place() override {
    if (awaits_header_) return end(nullptr, header_refusal());
    end_peek(nullptr, context().refusals.sni_overflow);
  }
  /** Ends the wait without counting its duration or a refusal. */
  void drop() { end(nullptr, kNoReason); }
  Caller take_caller() {
    return {std::move(endpoint_), caller_, port_index_, std::move(bytes_), true, std::move(server_name_)};
  }

  size_t index = 0;  // among the arrivals of the port

 private:
  EventLoop& loop() const { return owner_.worker_.loop; }
  const EngineContext& context() const { return owner_.worker_.context; }

  void endpoint_ready(Endpoint&, uint32_t events) override {
    if (has_ended_) return;
    if (events & EPOLLERR) return leave();
    while (endpoint_->is_readable) {
      auto& buffer = owner_.worker_.buffer;
      const size_t limit = std::min(buffer.size(), ClientHello::kMaxBytes - bytes_.size());
      const ssize_t count = sys::receive(endpoint_->fd(), buffer.data(), limit);
      if (count == -EAGAIN) {
        endpoint_->is_readable = false;
        return;
      }
      if (count < 0) return leave();
      if (count == 0) return end_without_name(context().refusals.sni_miss);
      bytes_.insert(bytes_.end(), buffer.data(), buffer.data() + count);
      if (awaits_header_) read_header();
      if (!has_ended_ && !awaits_header_ && !bytes_.empty()) read_hello();
      if (has_ended_) return;
    }
  }

  std::span<const uint8_t> bytes() const {
    return {reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()};
  }
  void read_header() {
    const ProxyHeader header = ProxyHeader::read(bytes(), ProxyHeader::Carrier::stream);
    if (header.kind == ProxyHeader::Kind::incomplete) return;
    if (header.kind == ProxyHeader::Kind::wrong) return end(nullptr, header_refusal());
    if (header.kind == ProxyHeader::Kind::named) caller_ = {header.source, header.destination};
    if (owner_.is_denied(caller_.source) && !loop().has_posted()) return end(&owner_.refusal_shard(), kNoReason);
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(header.size));
    awaits_header_ = false;
    owner_.waiting_->move(place_, Source::of(caller_.source));
    if (owner_.shards_by_name_.empty()) return end(owner_.default_shard_, kNoReason);
    started_us_ = loop().now_us();
    loop().arm_after(timer_, kArrivalMs);
    if (owner_.is_denied(caller_.source)) judge_later();
  }
  /** Judges a denied caller after the tasks that wait: one of them may open a rule that allows it. */
  void judge_later() {
    loop().post([this, place = place_] {
      if (place->has_left() || !owner_.is_denied(caller_.source)) return;
      if (loop().has_posted()) return judge_later();
      end(&owner_.refusal_shard(), kNoReason);
    });
  }
  void read_hello() {
    ClientHello hello = ClientHello::read(bytes());
    if (hello.kind == ClientHello::Kind::incomplete && bytes_.size() < ClientHello::kMaxBytes) return;
    server_name_ = std::move(hello.name);
    end_peek(owner_.find_shard(server_name_), context().refusals.sni_miss);
  }
  /** The caller has reset its connection. */
  void leave() {
    owner_.refusal_shard().report(endpoint_->fd(), caller_.source, ConnectionEnd::caller_reset);
    drop();
  }
  Reason header_refusal() const { return first_->header; }
  void on_timeout() { end_without_name(context().refusals.sni_timeout); }
  /** Passes a caller without a whole ClientHello to the fallback, with the bytes that it has sent. */
  void end_without_name(Reason refusal) {
    if (awaits_header_) return end(nullptr, header_refusal());
    end_peek(owner_.default_shard_, refusal);
  }
  void end_peek(TcpRuleShard* shard, Reason reason) {
    if (!has_ended_) owner_.worker_.context.peeks.add(loop().now_us() - started_us_);
    end(shard, reason);
  }
  void end(TcpRuleShard* shard, Reason reason) {
    if (has_ended_) return;
    has_ended_ = true;
    leave_place();
    timer_.cancel();
    owner_.finish_arrival(*this, shard, reason);
  }
  void leave_place() {
    if (place_) owner_.waiting_->leave(std::exchange(place_, nullptr));
  }

  PortListeners& owner_;
  std::unique_ptr<Endpoint> endpoint_;
  NamedCaller caller_;
  const int port_index_;
  std::shared_ptr<DescriptorShare> share_;
  std::shared_ptr<WaitingCallers::Place> place_;
  const std::shared_ptr<const FirstRead> first_;  // of the port when the caller arrived; may be null
  bool awaits_header_;
  int64_t started_us_;  // of the wait for the TLS name
  std::vector<char> bytes_;
  std::string server_name_;
  bool has_ended_ = false;
  MethodTimer<Arrival, &Arrival::on_timeout> timer_{*this};
};

PortListeners::PortListeners(Worker& worker, BoundSockets sockets, std::shared_ptr<WaitingCallers> waiting)
    : worker_(worker), waiting_(std::move(waiting)) {
  for (BoundSocket& bound : sockets)
    listeners_.push_back(std::make_unique<Listener>(*this, std::move(bound)));
}

PortListeners::~PortListeners() = default;

void PortListeners::add(TcpRuleShard& shard) {
  shards_.push_back(&shard);
  if (!shard.rule->name)
    default_shard_ = &shard;
  else
    shards_by_name_[*shard.rule->name] = &shard;
}

void PortListeners::remove(TcpRuleShard& shard) {
  std::erase(shards_, &shard);
  if (default_shard_ == &shard) default_shard_ = nullptr;
  std::erase_if(shards_by_name_, [&](const auto& entry) { return entry.second == &shard; });
  if (!shards_.empty()) return;
  while (!arrivals_.empty()) arrivals_.back()->drop();
}

void PortListeners::accept_waiting() {
  for (size_t at = 0; at < listeners_.size(); at++) listeners_[at]->accept_waiting();
}

void PortListeners::close() {
  for (auto& listener : listeners_) {
    listener->close();
    worker_.loop.delete_later(std::move(listener));
  }
  listeners_.clear();
}

void PortListeners::hand_over(const BoundSockets& sockets) {
  for (auto& listener : listeners_) {
    if (std::ranges::none_of(sockets, [&](const BoundSocket& bound) { return listener->has(bound); })) continue;
    listener->close();
    worker_.loop.delete_later(std::move(listener));
  }
  std::erase(listeners_, nullptr);
}

void PortListeners::on_accepted(Fd socket, const Address& caller, uint16_t port) {
  if (shards_.empty()) return sys::arm_reset(socket.get());
  if (first_read() != nullptr || !shards_by_name_.empty())
    return start_arrival(std::move(socket), caller, port);
  TcpRuleShard& shard = *default_shard_;
  Reason refusal = shard.check_source(caller);
  if (refusal == kNoReason) refusal = worker_.context.reserve(*shard.rule->descriptors, TcpRuleShard::kDescriptors);
  if (refusal != kNoReason) {
    shard.refuse(socket.get(), caller, refusal);
    return sys::arm_reset(socket.get());
  }
  shard.start_connection(
      {std::make_unique<Endpoint>(std::move(socket)), {caller}, port - shard.rule->from, {}, false});
}

void PortListeners::start_arrival(Fd socket, const Address& sender, uint16_t port) {
  const auto first = first_read();
  if (first != nullptr && !first->trusts(sender)) {
    refusal_shard().handshake_failed(sender);
    return refuse(socket.get(), sender, first->untrusted);
  }
  if (first == nullptr && is_denied(sender) && !worker_.loop.has_posted()) {  // refused before it counts as waiting
    TcpRuleShard& shard = refusal_shard();
    shard.refuse(socket.get(), sender, shard.check_source(sender));
    return sys::arm_reset(socket.get());
  }
  const int socket_number = socket.get();
  const int port_index = port - shards_.front()->rule->from;
  auto arrival = std::make_unique<Arrival>(*this, std::move(socket), sender, port_index);
  if (const Reason refusal = arrival->reserve()) return refuse(socket_number, sender, refusal);
  arrivals_.push_back(std::move(arrival));
  arrivals_.back()->index = arrivals_.size() - 1;
  arrivals_.back()->begin();
}

void PortListeners::refuse(int socket, const Address& sender, Reason reason) {
  refusal_shard().refuse(socket, sender, reason);
  sys::arm_reset(socket);
}

void PortListeners::finish_arrival(Arrival& arrival, TcpRuleShard* shard, Reason reason) {
  Caller caller = arrival.take_caller();
  arrival.release();
  remove_arrival(arrival);
  Reason refusal = reason;
  if (shard != nullptr) refusal = shard->check_source(caller.named.source);
  if (shard != nullptr && refusal == kNoReason)
    refusal = worker_.context.reserve(*shard->rule->descriptors, TcpRuleShard::kDescriptors);
  if (shard != nullptr && refusal == kNoReason) return shard->start_connection(std::move(caller));
  if (refusal != kNoReason) {
    if (shard == nullptr) refusal_shard().handshake_failed(caller.named.source);
    (shard != nullptr ? *shard : refusal_shard())
        .refuse(caller.endpoint->fd(), caller.named.source, refusal, std::move(caller.server_name));
  }
  caller.endpoint->reset();
  worker_.loop.delete_later(std::move(caller.endpoint));
}

void PortListeners::remove_arrival(Arrival& arrival) {
  const size_t index = arrival.index;
  worker_.loop.delete_later(std::move(arrivals_[index]));
  if (index + 1 < arrivals_.size()) {
    arrivals_[index] = std::move(arrivals_.back());
    arrivals_[index]->index = index;
  }
  arrivals_.pop_back();
}

TcpRuleShard* PortListeners::find_shard(const std::string& name) const {
  if (const auto exact = shards_by_name_.find(name); exact != shards_by_name_.end()) return exact->second;
  const size_t dot = name.find('.');
  if (dot != std::string::npos)
    if (const auto wild = shards_by_name_.find("*" + name.substr(dot)); wild != shards_by_name_.end())
      return wild->second;
  return default_shard_;
}

TcpRuleShard& PortListeners::refusal_shard() const {
  return default_shard_ != nullptr ? *default_shard_ : *shards_.front();
}

std::shared_ptr<DescriptorShare> PortListeners::common_share() const {
  const auto& share = shards_.front()->rule->descriptors;
  return std::ranges::all_of(shards_, [&](TcpRuleShard* shard) { return shard->rule->descriptors == share; }) ? share
                                                                                                              : nullptr;
}

bool PortListeners::is_denied(const Address& source) const {
  return std::ranges::all_of(shards_, [&](TcpRuleShard* shard) { return shard->check_source(source) != kNoReason; });
}

}  // namespace sluice
