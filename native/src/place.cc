#include "place.h"

#include <algorithm>
#include <cerrno>

#include "hello.h"

namespace sluice {

namespace {
constexpr int kAcceptsPerWake = 32;
constexpr int64_t kPauseMs = 100;
constexpr int64_t kPeekMs = 3'000;
constexpr int kMostPeeks = 1024;
}  // namespace

class Place::Listener final : public Watcher {
 public:
  Listener(Place& place, Bound bound) : place_(place), bound_(std::move(bound)) { watch(); }

  void ready(uint32_t) override {
    for (int i = 0; i < kAcceptsPerWake && !is_shut_; i++) {
      Address caller;
      Fd socket;
      const int error = sys::accept_from(bound_.socket->get(), caller, socket);
      if (error == 0)
        place_.meet(std::move(socket), caller, bound_.place.port);
      else if (error == -EAGAIN)
        return;
      else if (error != -ECONNABORTED && error != -EINTR)
        return pause();
    }
  }
  void shut() {
    is_shut_ = true;
    timer_.cancel();
    // One that other threads share stays open: this thread must not hear of it.
    place_.worker_.loop.unwatch(bound_.socket->get());
    bound_.socket.reset();
  }

 private:
  void watch() {
    const uint32_t events = bound_.is_shared ? EPOLLIN | EPOLLEXCLUSIVE : EPOLLIN;
    if (place_.worker_.loop.watch(bound_.socket->get(), *this, events) < 0)
      place_.worker_.loop.arm(timer_, kPauseMs);
  }
  /** Nothing is left to accept with: asking again at once would only burn the processor. */
  void pause() {
    place_.worker_.loop.unwatch(bound_.socket->get());
    place_.worker_.loop.arm(timer_, kPauseMs);
  }

  Place& place_;
  Bound bound_;
  bool is_shut_ = false;
  TimerOf<Listener, &Listener::watch> timer_{*this};
};

/** A caller whose name is awaited. What it says is kept for its target. */
class Place::Peek final : public Mortal, public LegOwner {
 public:
  Peek(Place& place, Fd socket, const Address& caller)
      : place_(place),
        leg_(std::make_unique<Leg>(std::move(socket), this)),
        caller_(caller),
        since_us_(loop().now_us()) {
    place_.peeking_->fetch_add(1);
  }
  ~Peek() override { place_.peeking_->fetch_sub(1); }

  void begin() {
    loop().arm(timer_, kPeekMs);
    if (loop().watch(leg_->fd(), *leg_) < 0) drop();
  }
  /** Counted nowhere. */
  void drop() { end(nullptr, kNoReason); }
  Caller to_caller() { return {std::move(leg_), caller_, 0, std::move(bytes_), true}; }

  size_t place = 0;  // among the peeks

 private:
  Loop& loop() const { return place_.worker_.loop; }
  const Shared& shared() const { return place_.worker_.shared; }

  void leg_ready(Leg&, uint32_t events) override {
    if (has_ended_) return;
    if (events & EPOLLERR) return drop();
    while (leg_->is_readable) {
      auto& buffer = place_.worker_.buffer;
      const size_t most = std::min(buffer.size(), Hello::kMostBytes - bytes_.size());
      const ssize_t count = sys::receive(leg_->fd(), buffer.data(), most);
      if (count == -EAGAIN) {
        leg_->is_readable = false;
        return;
      }
      if (count < 0) return drop();
      if (count == 0) return end(nullptr, shared().why.sni_miss);
      bytes_.insert(bytes_.end(), buffer.data(), buffer.data() + count);
      if (has_read()) return;
    }
  }

  /** False: the hello goes on. */
  bool has_read() {
    const Hello hello = Hello::read({reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()});
    if (hello.kind == Hello::Kind::incomplete && bytes_.size() < Hello::kMostBytes) return false;
    end(place_.find(hello.name), shared().why.sni_miss);
    return true;
  }
  void late() { end(nullptr, shared().why.sni_timeout); }
  void end(StreamGate* gate, Reason reason) {
    if (has_ended_) return;
    has_ended_ = true;
    timer_.cancel();
    if (gate != nullptr || reason != kNoReason) place_.worker_.shared.peeks.add(loop().now_us() - since_us_);
    place_.named(*this, gate, reason);
  }

  Place& place_;
  std::unique_ptr<Leg> leg_;
  const Address caller_;
  const int64_t since_us_;
  std::vector<char> bytes_;
  bool has_ended_ = false;
  TimerOf<Peek, &Peek::late> timer_{*this};
};

Place::Place(Worker& worker, std::vector<Bound> sockets, std::shared_ptr<std::atomic<int>> peeking)
    : worker_(worker), peeking_(std::move(peeking)) {
  for (Bound& bound : sockets) listeners_.push_back(std::make_unique<Listener>(*this, std::move(bound)));
}

Place::~Place() = default;

void Place::join(StreamGate& gate) {
  gates_.push_back(&gate);
  if (!gate.rule->name)
    nameless_ = &gate;
  else
    names_[*gate.rule->name] = &gate;
}

void Place::leave(StreamGate& gate) {
  std::erase(gates_, &gate);
  if (nameless_ == &gate) nameless_ = nullptr;
  std::erase_if(names_, [&](const auto& entry) { return entry.second == &gate; });
  if (!gates_.empty()) return;
  while (!peeks_.empty()) peeks_.back()->drop();
}

void Place::shut() {
  for (auto& listener : listeners_) {
    listener->shut();
    worker_.loop.bury(std::move(listener));
  }
  listeners_.clear();
}

void Place::meet(Fd socket, const Address& caller, uint16_t port) {
  if (gates_.empty()) return sys::arm_reset(socket.get());
  if (!names_.empty()) return peek_at(std::move(socket), caller);
  StreamGate& gate = *nameless_;
  Reason refusal = gate.judge_source(caller);
  if (refusal == kNoReason && !worker_.shared.descriptors.take(StreamGate::kDescriptors))
    refusal = worker_.shared.why.descriptors;
  if (refusal != kNoReason) {
    gate.rule->reject(refusal);
    return sys::arm_reset(socket.get());
  }
  gate.welcome({std::make_unique<Leg>(std::move(socket)), caller, port - gate.rule->from, {}, false});
}

void Place::peek_at(Fd socket, const Address& caller) {
  Reason refusal = kNoReason;
  if (peeking_->load() >= kMostPeeks)
    refusal = worker_.shared.why.sni_overflow;
  else if (!worker_.shared.descriptors.take(StreamGate::kDescriptors))
    refusal = worker_.shared.why.descriptors;
  if (refusal != kNoReason) {
    blamed().reject(refusal);
    return sys::arm_reset(socket.get());
  }
  peeks_.push_back(std::make_unique<Peek>(*this, std::move(socket), caller));
  peeks_.back()->place = peeks_.size() - 1;
  peeks_.back()->begin();
}

void Place::named(Peek& peek, StreamGate* gate, Reason reason) {
  Caller caller = peek.to_caller();
  part(peek);
  Reason refusal = reason;
  if (gate != nullptr) refusal = gate->judge_source(caller.address);
  if (gate != nullptr && refusal == kNoReason) return gate->welcome(std::move(caller));
  if (refusal != kNoReason) (gate != nullptr ? *gate->rule : blamed()).reject(refusal);
  caller.leg->reset();
  worker_.loop.bury(std::move(caller.leg));
  worker_.shared.descriptors.give(StreamGate::kDescriptors);
}

void Place::part(Peek& peek) {
  const size_t place = peek.place;
  worker_.loop.bury(std::move(peeks_[place]));
  if (place + 1 < peeks_.size()) {
    peeks_[place] = std::move(peeks_.back());
    peeks_[place]->place = place;
  }
  peeks_.pop_back();
}

StreamGate* Place::find(const std::string& name) const {
  if (const auto exact = names_.find(name); exact != names_.end()) return exact->second;
  const size_t dot = name.find('.');
  if (dot != std::string::npos)
    if (const auto wild = names_.find("*" + name.substr(dot)); wild != names_.end()) return wild->second;
  return nameless_;
}

Rule& Place::blamed() const { return nameless_ != nullptr ? *nameless_->rule : *gates_.front()->rule; }

}  // namespace sluice
