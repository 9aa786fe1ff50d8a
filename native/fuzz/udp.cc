// Datagrams through a UDP rule, against a model: none is torn, mixed up, misdirected or lost unsaid.
#include <netinet/udp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "../src/udp-rule-shard.h"
#include "fake-sys.h"
#include "script.h"
#include "udp-traffic.h"

namespace {

using namespace sluice;
using namespace sluice::fake;

class World final : public MeterListener {
 public:
  World(const uint8_t* bytes, size_t size) : input_(bytes, size) {
    kernel_.step = [this] { step(); };
    kernel_.on_receive = [this](int socket, Arrival& arrival) { note(socket, arrival); };
    kernel_.on_send = [this](int socket, const msghdr& head) { return send(socket, head); };
  }
  void play();

 private:
  struct Lane {  // a caller on a port
    uint32_t sent = 0;
    uint32_t last = 0;  // that was delivered
    int64_t count = 0;
    int64_t delivered = 0;
    int reply_source = 0;
    std::map<uint32_t, size_t> sizes;
  };
  struct Flow {  // a target's socket
    int caller = -1;
    int port = 0;
    uint32_t sent = 0;
    uint32_t last = 0;
  };

  void budget_exhausted(Meter&, uint64_t, int64_t) override {}
  void meter_changed(Meter&) override {}
  void open();
  void step();
  void call();
  void reply();
  void break_target();
  void change_limits();
  void change_filters();
  void answer_names();
  void finish();
  void note(int socket, const Arrival& arrival);
  int send(int socket, const msghdr& head);
  std::vector<size_t> cut(const msghdr& head, std::vector<std::byte>& control) const;
  void deliver_in(int socket, const std::byte* bytes, size_t size);
  void deliver_out(const msghdr& head, const std::vector<std::byte>& control, const std::byte* bytes,
                   size_t size);
  int pick_flow();

  Input input_;
  fake::Kernel kernel_;
  std::unique_ptr<EngineContext> context_;
  std::unique_ptr<Worker> worker_;
  std::shared_ptr<Rule> rule_;
  std::shared_ptr<Meter> meter_;
  std::map<int, std::pair<int, bool>> listeners_;  // port, is IPv4
  std::map<std::pair<int, int>, Lane> lanes_;
  std::map<int, Flow> flows_;
  std::deque<int> errors_;  // of the next sends; 0: none
  int64_t bytes_[2]{};
  int64_t datagrams_[2]{};
  int64_t said_out_ = 0;
  bool may_lose_ = false;
  bool is_closed_ = false;
};

void World::open() {
  context_ = std::make_unique<EngineContext>(std::vector<Address>{}, false, [] {});
  context_->descriptors.init();
  worker_ = std::make_unique<Worker>(*context_, 0, 1);
  must(worker_->loop.open() == 0, "the loop opens");
  meter_ = std::make_shared<Meter>(1, *this);

  RuleConfig config{};
  config.id = 1;
  config.is_udp = true;
  config.from = kFirstPort;
  config.to = kFirstPort + kPorts - 1;
  config.meters = {meter_};
  config.idle_ms = 1000;
  config.filters = std::make_shared<Filters>();
  const uint8_t shape = input_.next();
  config.flow_cap = shape & 1 ? 4 : kCallers * kPorts;
  if (shape & 1) may_lose_ = true;
  if (shape & 2) config.targets.push_back({"late.test", 9, std::nullopt});
  config.targets.push_back({"192.0.2.1", 9, Address::parse("192.0.2.1")});
  if (shape & 2) may_lose_ = true;  // what waits for a name is kept as far as it fits
  rule_ = std::make_shared<Rule>(std::move(config), 1, [](auto&&...) {});

  std::vector<BoundSocket> sockets;
  for (int port = 0; port < kPorts; port++)
    for (const char* any : {"0.0.0.0", "::"}) {
      const int fd = kernel_.open();
      listeners_[fd] = {port, any[0] == '0'};
      const auto number = static_cast<uint16_t>(kFirstPort + port);
      sockets.push_back({std::make_shared<Fd>(fd), *Address::parse(any, number), false});
    }
  worker_->open(rule_, std::move(sockets), std::make_shared<std::atomic<int>>(0));
}

void World::play() {
  fake::kernel = &kernel_;
  open();
  worker_->loop.run();
  must(is_closed_, "the script has been played");
  int64_t in = 0;
  for (const auto& [key, lane] : lanes_) in += lane.count - lane.delivered;
  must(may_lose_ || in == 0, "every datagram of a caller is delivered");
  must(may_lose_ || said_out_ == datagrams_[1], "every reply is delivered");
  worker_.reset();
  must(kernel_.sockets.empty(), "every socket is closed");
}

void World::step() {
  if (is_closed_) return worker_->loop.stop();
  if (input_.has_ended()) return finish();
  switch (input_.next() % 8) {
    case 0:
    case 1: return call();
    case 2:
    case 3: return reply();
    case 4: return break_target();
    case 5: return change_limits();
    case 6: return input_.next() % 4 == 0 ? change_filters() : answer_names();
    case 7: kernel_.now_us += int64_t{input_.next()} * 10'000;
  }
}

void World::call() {
  const int count = 1 + input_.next() % 80;
  for (int i = 0; i < count && !input_.has_ended(); i++) {
    const uint8_t who = input_.next();
    const uint8_t what = input_.next();
    const int caller = who % kCallers;
    const int port = who / kCallers % kPorts;
    Lane& lane = lanes_[{caller, port}];
    // Runs of one caller are what is gathered.
    for (int run = what >> 5; run >= 0; run--) {
      const size_t size = kSizes[(what & 31) % kSizes.size()];
      Arrival arrival;
      const Stamp stamp{static_cast<uint16_t>(caller), static_cast<uint16_t>(port), ++lane.sent};
      arrival.bytes = datagram(stamp, size);
      arrival.from = place_of(caller, arrival.from_size);
      arrival.control = door_of(caller, who >> 6, false);
      lane.sizes[stamp.number] = size;
      lane.count++;
      for (auto& [fd, listener] : listeners_)
        if (listener == std::pair{port, is_four(caller)}) kernel_.sockets.at(fd).arrivals.push_back(arrival);
    }
  }
}

int World::pick_flow() {
  std::vector<int> known;
  for (const auto& [fd, flow] : flows_)
    if (flow.caller >= 0 && kernel_.sockets.contains(fd)) known.push_back(fd);
  return known.empty() ? -1 : known[input_.next() % known.size()];
}

void World::reply() {
  const int fd = pick_flow();
  if (fd < 0) return;
  Flow& flow = flows_[fd];
  const uint8_t what = input_.next();
  for (int run = what >> 3; run >= 0; run--) {
    Arrival arrival;
    const Stamp stamp{static_cast<uint16_t>(fd), static_cast<uint16_t>(flow.port), ++flow.sent};
    arrival.bytes = datagram(stamp, kSizes[(what + run / 8) % kSizes.size()]);
    kernel_.sockets.at(fd).arrivals.push_back(std::move(arrival));
    said_out_++;
  }
}

void World::break_target() {
  constexpr std::array<int, 8> kinds{ECONNREFUSED, EAGAIN, EIO, EINVAL, EMSGSIZE, ENOBUFS, EINTR,
                                     EHOSTUNREACH};
  const uint8_t how = input_.next();
  const int error = kinds[how % kinds.size()];
  if (how & 64) {
    for (int i = how >> 7; i > 0; i--) errors_.push_back(0);
    errors_.push_back(error);
    // A refusal to cut is made good; the others cost what was to be sent.
    may_lose_ = may_lose_ || error != EINTR;
    return;
  }
  may_lose_ = true;
  const int fd = pick_flow();
  if (fd >= 0) kernel_.sockets.at(fd).error = error;
}

void World::change_limits() {
  may_lose_ = true;
  const uint8_t how = input_.next();
  Limits limits{};
  limits.refusals = {context_->reasons.id_of("c"), context_->reasons.id_of("n"), context_->reasons.id_of("b"),
                     context_->reasons.id_of("u")};
  if (how & 1) limits.bytes[0] = Rate{1000, 2000};
  if (how & 2) limits.bytes[1] = Rate{1000, 2000};
  if (how & 4) limits.connections = 3;
  if (how & 8) limits.new_connections = Rate{1, 1};
  meter_->set_limits(limits, kernel_.now_us);
  if (how & 16) meter_->set_budget(Budget{bytes_[0] + bytes_[1] + 500, 10});
  else meter_->set_budget(std::nullopt);
}

void World::change_filters() {
  may_lose_ = true;
  const uint8_t how = input_.next();
  auto filters = std::make_shared<Filters>();
  Match match;
  match.prefix = Prefix::parse(how & 1 ? "198.51.100.0/24" : "fe80::/10");
  Filter filter;
  filter.deny = {match};
  filter.refusal = context_->reasons.id_of("f");
  if (how & 2) filters->source = filter;
  if (how & 4) filters->target = {filter};
  rule_->replace_filters(filters);
  worker_->filters_changed(1);
}

void World::answer_names() {
  for (const EngineEvent& event : context_->events.take()) {
    if (event.kind != EngineEvent::Kind::resolve) continue;
    ResolveAnswer answer;
    const uint8_t how = input_.next();
    answer.is_ok = how % 4 != 0;
    if (how & 8) answer.addresses.push_back(*Address::parse("0.0.0.0"));  // no way there
    if (how & 16) answer.addresses.push_back(*Address::parse("2001:db8::1"));
    answer.reason = "nxdomain";
    worker_->resolved(event.value, answer);
  }
}

void World::finish() {
  is_closed_ = true;
  worker_->close(1, 60'000);
  int closed = 0;
  for (const EngineEvent& event : context_->events.take()) closed += event.kind == EngineEvent::Kind::closed;
  must(closed == 1, "the end is told once");
  const RuleCounters& counters = *rule_->counters[0];
  int64_t counted[2][2]{};
  for (const PortCounters& row : counters.ports) {
    must(row.active.value() == 0, "no flow is left");
    for (size_t d = 0; d < 2; d++) counted[0][d] += row.bytes[d].value();
    for (size_t d = 0; d < 2; d++) counted[1][d] += row.datagrams[d].value();
  }
  for (size_t d = 0; d < 2; d++) {
    must(counted[0][d] == bytes_[d], "bytes are counted when they are delivered");
    must(counted[1][d] == datagrams_[d], "datagrams are counted when they are delivered");
  }
  const Meter::Counters metered = meter_->counters(kernel_.now_us);
  must(metered.active == 0, "the meter is empty");
  must(metered.bytes_in == bytes_[0] && metered.bytes_out == bytes_[1], "the meter counts the same");
  must(rule_->flows.load() == 0, "the cap is free");
  must(context_->descriptors.reserve(36) && !context_->descriptors.reserve(1), "descriptors are given back");
}

/** A listener hands this over: replies go out by this door from now on. */
void World::note(int socket, const Arrival& arrival) {
  const auto listener = listeners_.find(socket);
  if (listener == listeners_.end()) return;
  for (int caller = 0; caller < kCallers; caller++) {
    socklen_t size = 0;
    const sockaddr_in6 place = place_of(caller, size);
    if (size != arrival.from_size || std::memcmp(&place, &arrival.from, size) != 0) continue;
    Lane& lane = lanes_[{caller, listener->second.first}];
    for (int reply_source = 0; reply_source < 4; reply_source++)
      if (door_of(caller, reply_source, false) == arrival.control) lane.reply_source = reply_source;
  }
}

int World::send(int socket, const msghdr& head) {
  must(kernel_.sockets.contains(socket), "what is sent through is open");
  if (!errors_.empty()) {
    const int error = errors_.front();
    errors_.pop_front();
    if (error != 0) return error;
  }
  std::vector<std::byte> control;
  const std::vector<size_t> sizes = cut(head, control);
  std::vector<std::byte> all;
  for (size_t i = 0; i < head.msg_iovlen; i++) {
    const auto* part = static_cast<const std::byte*>(head.msg_iov[i].iov_base);
    all.insert(all.end(), part, part + head.msg_iov[i].iov_len);
  }
  const std::byte* at = all.data();
  for (const size_t size : sizes) {
    const bool is_out = listeners_.contains(socket);
    if (is_out) deliver_out(head, control, at, size);
    else deliver_in(socket, at, size);
    bytes_[is_out] += static_cast<int64_t>(size);
    datagrams_[is_out]++;
    at += size;
  }
  return 0;
}

/** As the kernel would; what is left of the control messages says where it comes from. */
std::vector<size_t> World::cut(const msghdr& head, std::vector<std::byte>& control) const {
  size_t total = 0;
  for (size_t i = 0; i < head.msg_iovlen; i++) total += head.msg_iov[i].iov_len;
  size_t segment = 0;
  msghdr copy = head;
  for (cmsghdr* one = CMSG_FIRSTHDR(&copy); one != nullptr; one = CMSG_NXTHDR(&copy, one)) {
    if (one->cmsg_level == IPPROTO_UDP && one->cmsg_type == UDP_SEGMENT) {
      uint16_t value = 0;
      std::memcpy(&value, CMSG_DATA(one), sizeof value);
      segment = value;
    } else {
      const auto* bytes = reinterpret_cast<const std::byte*>(one);
      control.assign(bytes, bytes + CMSG_SPACE(one->cmsg_len - CMSG_LEN(0)));
    }
  }
  must(segment > 0 || head.msg_iovlen == 1, "only what is cut again is gathered");
  must(total <= 65'507, "what is sent is a datagram");
  if (segment == 0) return {total};
  std::vector<size_t> sizes;
  for (size_t left = total; left > 0; left -= sizes.back()) sizes.push_back(std::min(segment, left));
  must(sizes.size() == head.msg_iovlen && sizes.size() <= 64, "it is cut where it was put together");
  for (size_t i = 0; i < sizes.size(); i++)
    must(sizes[i] == head.msg_iov[i].iov_len, "each part is a datagram");
  return sizes;
}

void World::deliver_in(int socket, const std::byte* bytes, size_t size) {
  Flow& flow = flows_[socket];
  if (size < sizeof(Stamp)) {
    if (flow.caller >= 0) lanes_[{flow.caller, flow.port}].delivered++;
    else may_lose_ = true;  // nobody can tell whose it is
    return;
  }
  Stamp stamp{};
  std::memcpy(&stamp, bytes, sizeof stamp);
  Lane& lane = lanes_.at({stamp.from, stamp.port});
  must(flow.caller < 0 || (flow.caller == stamp.from && flow.port == stamp.port), "a flow is of one caller");
  flow.caller = stamp.from;
  flow.port = stamp.port;
  must(stamp.number > lane.last, "a caller's datagrams keep their order");
  lane.last = stamp.number;
  must(lane.sizes.at(stamp.number) == size, "a datagram keeps its size");
  must(datagram(stamp, size) == std::vector(bytes, bytes + size), "a datagram keeps its bytes");
  must(kernel_.sockets.at(socket).peer.port == 9 + stamp.port, "a port of a range has its own target port");
  lane.delivered++;
}

void World::deliver_out(const msghdr& head, const std::vector<std::byte>& control, const std::byte* bytes,
                        size_t size) {
  if (size < sizeof(Stamp)) return;
  Stamp stamp{};
  std::memcpy(&stamp, bytes, sizeof stamp);
  Flow& flow = flows_.at(stamp.from);
  must(flow.caller >= 0, "only who has spoken is answered");
  must(stamp.number > flow.last, "a target's datagrams keep their order");
  flow.last = stamp.number;
  must(datagram(stamp, size) == std::vector(bytes, bytes + size), "a reply keeps its bytes");
  socklen_t place_size = 0;
  const sockaddr_in6 place = place_of(flow.caller, place_size);
  const bool is_there = head.msg_namelen == place_size && std::memcmp(head.msg_name, &place, place_size) == 0;
  must(is_there, "it goes to its caller");
  const int reply_source = lanes_.at({flow.caller, flow.port}).reply_source;
  must(control == door_of(flow.caller, reply_source, true), "it comes from the address that was addressed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  World(bytes, size).play();
  return 0;
}
