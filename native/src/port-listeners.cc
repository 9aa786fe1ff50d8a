#include "port-listeners.h"

#include <algorithm>
#include <cerrno>

#include "client-hello.h"

namespace sluice {

namespace {
constexpr int kAcceptsPerWake = 32;
constexpr int64_t kPauseMs = 100;
constexpr int64_t kPeekMs = 3'000;
constexpr int kMaxPeeks = 1024;
}  // namespace

class PortListeners::Listener final : public FdWatcher {
 public:
  Listener(PortListeners& owner, BoundSocket bound) : owner_(owner), bound_(std::move(bound)) { watch(); }

  void ready(uint32_t) override {
    for (int i = 0; i < kAcceptsPerWake && !is_closed_; i++) {
      Address caller;
      Fd socket;
      const int error = sys::accept_from(bound_.socket->get(), caller, socket);
      if (error == 0)
        owner_.on_accepted(std::move(socket), caller, bound_.address.port);
      else if (error == -EAGAIN)
        return;
      else if (error != -ECONNABORTED && error != -EINTR)
        return pause();
    }
  }
  void close() {
    is_closed_ = true;
    timer_.cancel();
    // A shared socket stays open in other threads, so epoll would go on reporting it here.
    owner_.worker_.loop.unwatch(bound_.socket->get());
    bound_.socket.reset();
  }

 private:
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

/** A caller whose ClientHello is awaited. The bytes read are kept for the target. */
class PortListeners::SniPeek final : public DeferredDelete, public EndpointOwner {
 public:
  SniPeek(PortListeners& owner, Fd socket, const Address& caller)
      : owner_(owner),
        endpoint_(std::make_unique<Endpoint>(std::move(socket), this)),
        caller_(caller),
        started_us_(loop().now_us()) {
    owner_.active_peeks_->fetch_add(1);
  }
  ~SniPeek() override { owner_.active_peeks_->fetch_sub(1); }

  void begin() {
    loop().arm_after(timer_, kPeekMs);
    if (loop().watch(endpoint_->fd(), *endpoint_) < 0) drop();
  }
  /** Ends the peek and counts neither its duration nor a refusal. */
  void drop() { end(nullptr, kNoReason); }
  Caller take_caller() { return {std::move(endpoint_), caller_, 0, std::move(bytes_), true, std::move(server_name_)}; }

  size_t index = 0;  // among the peeks of the port

 private:
  EventLoop& loop() const { return owner_.worker_.loop; }
  const EngineContext& context() const { return owner_.worker_.context; }

  void endpoint_ready(Endpoint&, uint32_t events) override {
    if (has_ended_) return;
    if (events & EPOLLERR) return drop();
    while (endpoint_->is_readable) {
      auto& buffer = owner_.worker_.buffer;
      const size_t limit = std::min(buffer.size(), ClientHello::kMaxBytes - bytes_.size());
      const ssize_t count = sys::receive(endpoint_->fd(), buffer.data(), limit);
      if (count == -EAGAIN) {
        endpoint_->is_readable = false;
        return;
      }
      if (count < 0) return drop();
      if (count == 0) return end(nullptr, context().refusals.sni_miss);
      bytes_.insert(bytes_.end(), buffer.data(), buffer.data() + count);
      if (try_parse()) return;
    }
  }

  /** Returns false when the ClientHello is incomplete. */
  bool try_parse() {
    ClientHello hello =
        ClientHello::read({reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()});
    if (hello.kind == ClientHello::Kind::incomplete && bytes_.size() < ClientHello::kMaxBytes) return false;
    server_name_ = std::move(hello.name);
    end(owner_.find_shard(server_name_), context().refusals.sni_miss);
    return true;
  }
  void on_timeout() { end(nullptr, context().refusals.sni_timeout); }
  void end(TcpRuleShard* shard, Reason reason) {
    if (has_ended_) return;
    has_ended_ = true;
    timer_.cancel();
    if (shard != nullptr || reason != kNoReason)
      owner_.worker_.context.peeks.add(loop().now_us() - started_us_);
    owner_.finish_peek(*this, shard, reason);
  }

  PortListeners& owner_;
  std::unique_ptr<Endpoint> endpoint_;
  const Address caller_;
  const int64_t started_us_;
  std::vector<char> bytes_;
  std::string server_name_;
  bool has_ended_ = false;
  MethodTimer<SniPeek, &SniPeek::on_timeout> timer_{*this};
};

PortListeners::PortListeners(Worker& worker, BoundSockets sockets, PeekCount active_peeks)
    : worker_(worker), active_peeks_(std::move(active_peeks)) {
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
  while (!peeks_.empty()) peeks_.back()->drop();
}

void PortListeners::close() {
  for (auto& listener : listeners_) {
    listener->close();
    worker_.loop.delete_later(std::move(listener));
  }
  listeners_.clear();
}

void PortListeners::on_accepted(Fd socket, const Address& caller, uint16_t port) {
  if (shards_.empty()) return sys::arm_reset(socket.get());
  if (!shards_by_name_.empty()) return start_peek(std::move(socket), caller);
  TcpRuleShard& shard = *default_shard_;
  Reason refusal = shard.check_source(caller);
  if (refusal == kNoReason && !worker_.context.descriptors.reserve(TcpRuleShard::kDescriptors))
    refusal = worker_.context.refusals.descriptors;
  if (refusal != kNoReason) {
    shard.refuse(socket.get(), caller, refusal);
    return sys::arm_reset(socket.get());
  }
  shard.start_connection(
      {std::make_unique<Endpoint>(std::move(socket)), caller, port - shard.rule->from, {}, false});
}

void PortListeners::start_peek(Fd socket, const Address& caller) {
  Reason refusal = kNoReason;
  if (active_peeks_->load() >= kMaxPeeks)
    refusal = worker_.context.refusals.sni_overflow;
  else if (!worker_.context.descriptors.reserve(TcpRuleShard::kDescriptors))
    refusal = worker_.context.refusals.descriptors;
  if (refusal != kNoReason) {
    refusal_rule().reject(refusal);
    return sys::arm_reset(socket.get());
  }
  peeks_.push_back(std::make_unique<SniPeek>(*this, std::move(socket), caller));
  peeks_.back()->index = peeks_.size() - 1;
  peeks_.back()->begin();
}

void PortListeners::finish_peek(SniPeek& peek, TcpRuleShard* shard, Reason reason) {
  Caller caller = peek.take_caller();
  remove_peek(peek);
  Reason refusal = reason;
  if (shard != nullptr) refusal = shard->check_source(caller.address);
  if (shard != nullptr && refusal == kNoReason) return shard->start_connection(std::move(caller));
  if (shard != nullptr)
    shard->refuse(caller.endpoint->fd(), caller.address, refusal);
  else if (refusal != kNoReason)
    refusal_rule().reject(refusal);
  caller.endpoint->reset();
  worker_.loop.delete_later(std::move(caller.endpoint));
  worker_.context.descriptors.release(TcpRuleShard::kDescriptors);
}

void PortListeners::remove_peek(SniPeek& peek) {
  const size_t index = peek.index;
  worker_.loop.delete_later(std::move(peeks_[index]));
  if (index + 1 < peeks_.size()) {
    peeks_[index] = std::move(peeks_.back());
    peeks_[index]->index = index;
  }
  peeks_.pop_back();
}

TcpRuleShard* PortListeners::find_shard(const std::string& name) const {
  if (const auto exact = shards_by_name_.find(name); exact != shards_by_name_.end()) return exact->second;
  const size_t dot = name.find('.');
  if (dot != std::string::npos)
    if (const auto wild = shards_by_name_.find("*" + name.substr(dot)); wild != shards_by_name_.end())
      return wild->second;
  return default_shard_;
}

Rule& PortListeners::refusal_rule() const {
  return default_shard_ != nullptr ? *default_shard_->rule : *shards_.front()->rule;
}

}  // namespace sluice
