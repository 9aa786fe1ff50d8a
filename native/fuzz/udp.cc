// Fuzzes UdpRuleShard on a fake kernel against a model: no datagram is split, altered, misdirected or silently lost.
#include <netinet/udp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "../src/udp-rule-shard.h"
#include "fake-sys.h"
#include "input.h"
#include "udp-traffic.h"

namespace {

using namespace sluice;
using namespace sluice::fake;

class Simulation final : public MeterListener {
 public:
  Simulation(const uint8_t* bytes, size_t size) : input_(bytes, size) {
    kernel_.step = [this] { step(); };
    kernel_.on_receive = [this](int socket, Arrival&) {
      if (const auto flow = flows_.find(socket); flow != flows_.end()) flow->second.newest = {};
    };
    kernel_.on_receive_error = [this](int socket, int error) { refuse(socket, error); };
    kernel_.on_send = [this](int socket, const msghdr& head) { return send(socket, head); };
  }
  void play();

 private:
  struct CallerPort {  // a caller on one port and local address of the rule
    uint32_t sent_count = 0;      // also the number in the last stamp
    uint32_t last_delivered = 0;  // number in its stamp
    int64_t delivered_count = 0;
    std::map<uint32_t, size_t> sizes;  // by number
  };
  struct Traffic {
    int64_t bytes = 0;
    int64_t datagrams = 0;
  };
  struct Flow {  // a socket connected to a target
    int caller = -1;
    int port = 0;
    int local = 0;
    uint32_t sent_count = 0;  // as in CallerPort
    uint32_t last_delivered = 0;
    Traffic newest;           // the last message to the target, until a reply
    bool is_refused = false;  // by ICMP
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
  int send(int socket, const msghdr& head);
  void refuse(int socket, int error);
  std::vector<size_t> segment(const msghdr& head, std::vector<std::byte>& control) const;
  void deliver_in(int socket, const std::byte* bytes, size_t size);
  void deliver_out(const msghdr& head, const std::vector<std::byte>& control, const std::byte* bytes, size_t size);
  int pick_flow();

  Input input_;
  fake::Kernel kernel_;
  std::unique_ptr<EngineContext> context_;
  std::unique_ptr<Worker> worker_;
  std::shared_ptr<Rule> rule_;
  std::shared_ptr<Meter> meter_;
  std::map<int, std::pair<int, bool>> listeners_;  // port, is IPv4
  std::map<std::array<int, 3>, CallerPort> caller_ports_;
  std::map<int, Flow> flows_;
  std::deque<int> errors_;  // of the next sends; 0: none
  int64_t bytes_[2]{};
  int64_t datagrams_[2]{};
  Traffic refused_;  // upper bound of the traffic that ICMP reported as refused before it was counted
  int64_t replies_ = 0;
  bool may_lose_ = false;  // datagrams may be dropped
  bool is_closed_ = false;
};

void Simulation::open() {
  context_ = std::make_unique<EngineContext>(std::vector<Address>{}, false, 0, [] {}, [](auto&&...) {});
  context_->descriptors.init();
  worker_ = std::make_unique<Worker>(*context_, 0, 1);
  must(worker_->loop.open() == 0, "the event loop opens");
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
  config.flow_cap = shape & 1 ? 4 : kCallers * kPorts * kLocalAddresses;
  if (shape & 1) may_lose_ = true;
  if (shape & 2) config.targets.push_back({"late.test", 9, std::nullopt});
  config.targets.push_back({"192.0.2.1", 9, Address::parse("192.0.2.1")});
  if (shape & 4) config.targets.push_back({"192.0.2.2", 9, Address::parse("192.0.2.2")});
  if (shape & 16) {
    Divert divert;
    divert.name = "tarpit";
    divert.targets.push_back({"192.0.2.3", 9, Address::parse("192.0.2.3")});
    if (shape & 32) divert.targets.push_back({"late.test", 9, std::nullopt});
    divert.from.push_back(std::make_shared<AddressSet>());
    divert.from[0]->change({*Prefix::parse(shape & 64 ? "0.0.0.0/0" : "::/0")}, {});
    config.diverts.push_back(std::move(divert));
    if (shape & 32) may_lose_ = true;  // as below
  }
  if (shape & 8) config.unanswered_ms = 50;
  if (shape & 8) may_lose_ = true;  // a flow that is dialed again drops late replies
  if (shape & 2) may_lose_ = true;  // only few datagrams are buffered while a name is resolved
  rule_ = std::make_shared<Rule>(std::move(config), 1, [](auto&&...) {}, context_->descriptors.share_of("ann"));

  std::vector<BoundSocket> sockets;
  for (int port = 0; port < kPorts; port++)
    for (const char* any : {"0.0.0.0", "::"}) {
      const int fd = kernel_.open();
      listeners_[fd] = {port, any[0] == '0'};
      const auto number = static_cast<uint16_t>(kFirstPort + port);
      sockets.push_back({std::make_shared<Fd>(fd), *Address::parse(any, number), false});
    }
  worker_->open(rule_, std::move(sockets), nullptr);  // only TCP callers wait for their first bytes
}

void Simulation::play() {
  fake::kernel = &kernel_;
  open();
  worker_->loop.run();
  must(is_closed_, "the input has been used up");
  int64_t lost = 0;
  for (const auto& [key, caller_port] : caller_ports_) lost += caller_port.sent_count - caller_port.delivered_count;
  must(may_lose_ || lost == 0, "every datagram of a caller is delivered");
  must(may_lose_ || replies_ == datagrams_[1], "every reply is delivered");
  worker_.reset();
  must(kernel_.sockets.empty(), "every socket is closed");
}

void Simulation::step() {
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

void Simulation::call() {
  const int count = 1 + input_.next() % 80;
  for (int i = 0; i < count && !input_.has_ended(); i++) {
    const uint8_t who = input_.next();
    const uint8_t shape = input_.next();
    const int caller = who % kCallers;
    const int port = who / kCallers % kPorts;
    const int local = who >> 6;
    CallerPort& caller_port = caller_ports_[{caller, port, local}];
    // Runs of one caller, which are sent with segmentation.
    for (int run = shape >> 5; run >= 0; run--) {
      const size_t size = kSizes[(shape & 31) % kSizes.size()];
      Arrival arrival;
      const Stamp stamp{static_cast<uint16_t>(caller), static_cast<uint8_t>(port), static_cast<uint8_t>(local),
                        ++caller_port.sent_count};
      arrival.bytes = datagram(stamp, size);
      arrival.from = source_of(caller, arrival.from_size);
      arrival.control = pktinfo_of(caller, local, false);
      caller_port.sizes[stamp.number] = size;
      for (auto& [fd, listener] : listeners_)
        if (listener == std::pair{port, is_ipv4(caller)}) kernel_.sockets.at(fd).arrivals.push_back(arrival);
    }
  }
}

int Simulation::pick_flow() {
  std::vector<int> candidates;
  for (const auto& [fd, flow] : flows_)
    if (flow.caller >= 0 && kernel_.sockets.contains(fd)) candidates.push_back(fd);
  return candidates.empty() ? -1 : candidates[input_.next() % candidates.size()];
}

void Simulation::reply() {
  const int fd = pick_flow();
  if (fd < 0) return;
  Flow& flow = flows_[fd];
  const uint8_t shape = input_.next();
  for (int run = shape >> 3; run >= 0; run--) {
    Arrival arrival;
    const Stamp stamp{static_cast<uint16_t>(fd), static_cast<uint8_t>(flow.port), 0, ++flow.sent_count};
    arrival.bytes = datagram(stamp, kSizes[(shape + run / 8) % kSizes.size()]);
    kernel_.sockets.at(fd).arrivals.push_back(std::move(arrival));
    replies_++;
  }
}

void Simulation::break_target() {
  constexpr std::array<int, 8> errors{ECONNREFUSED, EAGAIN, EIO, EINVAL, EMSGSIZE, ENOBUFS, EINTR, EHOSTUNREACH};
  const uint8_t options = input_.next();
  const int error = errors[options % errors.size()];
  if (options & 64) {
    for (int i = options >> 7; i > 0; i--) errors_.push_back(0);
    errors_.push_back(error);
    // Datagrams are lost with every errno but EINTR; after a refused segmentation they are sent one by one.
    may_lose_ = may_lose_ || error != EINTR;
    return;
  }
  may_lose_ = true;
  const int fd = pick_flow();
  if (fd >= 0) kernel_.sockets.at(fd).error = error;
}

void Simulation::change_limits() {
  may_lose_ = true;
  const uint8_t options = input_.next();
  Limits limits{};
  limits.refusals = {context_->reasons.id_of("c"), context_->reasons.id_of("n"), context_->reasons.id_of("b"),
                     context_->reasons.id_of("u")};
  if (options & 1) limits.bytes[0] = Rate{1000, 2000};
  if (options & 2) limits.bytes[1] = Rate{1000, 2000};
  if (options & 4) limits.connections = 3;
  if (options & 8) limits.new_connections = Rate{1, 1};
  meter_->set_limits(limits, kernel_.now_us);
  if (options & 16) meter_->set_budget(Budget{bytes_[0] + bytes_[1] + 500, 10});
  else meter_->set_budget(std::nullopt);
}

void Simulation::change_filters() {
  may_lose_ = true;
  const uint8_t options = input_.next();
  auto filters = std::make_shared<Filters>();
  Match match;
  match.prefix = Prefix::parse(options & 1 ? "198.51.100.0/24" : "fe80::/10");
  Filter filter;
  filter.deny = {match};
  filter.refusal = context_->reasons.id_of("f");
  if (options & 2) filters->source = filter;
  if (options & 4) filters->target = {filter};
  rule_->replace_filters(filters);
  worker_->filters_changed(1);
}

void Simulation::answer_names() {
  for (const EngineEvent& event : context_->events.take()) {
    if (event.kind != EngineEvent::Kind::resolve) continue;
    ResolveAnswer answer;
    const uint8_t options = input_.next();
    answer.is_ok = options % 4 != 0;
    if (options & 8) answer.addresses.push_back(*Address::parse("0.0.0.0"));  // connect fails
    if (options & 16) answer.addresses.push_back(*Address::parse("2001:db8::1"));
    answer.reason = "nxdomain";
    worker_->names.answered(event.value, answer);
  }
}

void Simulation::finish() {
  is_closed_ = true;
  worker_->close(1, 60'000);
  int closed = 0;
  for (const EngineEvent& event : context_->events.take()) closed += event.kind == EngineEvent::Kind::closed;
  must(closed == 1, "the rule is reported as closed once");
  const RuleCounters& counters = *rule_->counters[0];
  int64_t counted[2][2]{};
  for (const PortCounters& row : counters.ports) {
    must(row.active.value() == 0, "no flow is active");
    for (size_t d = 0; d < 2; d++) counted[0][d] += row.bytes[d].value();
    for (size_t d = 0; d < 2; d++) counted[1][d] += row.datagrams[d].value();
  }
  const int64_t uncounted_bytes = bytes_[0] - counted[0][0];
  const int64_t uncounted_datagrams = datagrams_[0] - counted[1][0];
  must(uncounted_bytes >= 0 && uncounted_bytes <= refused_.bytes, "bytes are counted unless ICMP refused them");
  must(uncounted_datagrams >= 0 && uncounted_datagrams <= refused_.datagrams,
       "datagrams are counted unless ICMP refused them");
  must(counted[0][1] == bytes_[1], "delivered bytes of replies are counted");
  must(counted[1][1] == datagrams_[1], "delivered replies are counted");
  const Meter::Counters metered = meter_->counters(kernel_.now_us);
  must(metered.active == 0, "the meter has no active flow");
  must(metered.bytes_in == counted[0][0] && metered.bytes_out == bytes_[1], "the meter counts the same bytes");
  must(rule_->flows->load() == 0, "no flow counts against the cap");
  must(context_->descriptors.reserve(136) && !context_->descriptors.reserve(1), "descriptors are released");
}

int Simulation::send(int socket, const msghdr& head) {
  must(kernel_.sockets.contains(socket), "datagrams are sent through open sockets");
  if (!errors_.empty()) {
    const int error = errors_.front();
    errors_.pop_front();
    if (error != 0) {
      refuse(socket, error);
      return error;
    }
  }
  std::vector<std::byte> control;
  const std::vector<size_t> sizes = segment(head, control);
  std::vector<std::byte> all;
  for (size_t i = 0; i < head.msg_iovlen; i++) {
    const auto* part = static_cast<const std::byte*>(head.msg_iov[i].iov_base);
    all.insert(all.end(), part, part + head.msg_iov[i].iov_len);
  }
  const std::byte* at = all.data();
  if (!listeners_.contains(socket)) {
    Flow& flow = flows_[socket];
    flow.newest = {static_cast<int64_t>(all.size()), static_cast<int64_t>(sizes.size())};
    if (flow.is_refused) refuse(socket, ECONNREFUSED);
  }
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

/** Adds the flow's newest message to the traffic that may be uncounted. Later messages may also be. */
void Simulation::refuse(int socket, int error) {
  const bool is_icmp = error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH;
  const auto flow = flows_.find(socket);
  if (!is_icmp || flow == flows_.end()) return;
  const auto [bytes, datagrams] = std::exchange(flow->second.newest, {});
  refused_.bytes += bytes;
  refused_.datagrams += datagrams;
  flow->second.is_refused = true;
}

/** Segments a message as the kernel would; the other control message names the local address. */
std::vector<size_t> Simulation::segment(const msghdr& head, std::vector<std::byte>& control) const {
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
      control.assign(bytes, bytes + one->cmsg_len);
      control.resize(CMSG_SPACE(one->cmsg_len - CMSG_LEN(0)));  // the kernel does not read the padding
    }
  }
  must(segment > 0 || head.msg_iovlen == 1, "several buffers are sent only with segmentation");
  must(total <= 65'507, "a message is no longer than a datagram may be");
  if (segment == 0) return {total};
  std::vector<size_t> sizes;
  for (size_t left = total; left > 0; left -= sizes.back()) sizes.push_back(std::min(segment, left));
  must(sizes.size() == head.msg_iovlen && sizes.size() <= 64, "segments match the buffers");
  for (size_t i = 0; i < sizes.size(); i++) must(sizes[i] == head.msg_iov[i].iov_len, "each buffer is a datagram");
  return sizes;
}

void Simulation::deliver_in(int socket, const std::byte* bytes, size_t size) {
  Flow& flow = flows_[socket];
  if (size < sizeof(Stamp)) {
    if (flow.caller >= 0) caller_ports_[{flow.caller, flow.port, flow.local}].delivered_count++;
    else may_lose_ = true;  // too short for a stamp
    return;
  }
  Stamp stamp{};
  std::memcpy(&stamp, bytes, sizeof stamp);
  CallerPort& caller_port = caller_ports_.at({stamp.from, stamp.port, stamp.local});
  must(flow.caller < 0 || (flow.caller == stamp.from && flow.port == stamp.port && flow.local == stamp.local),
       "a flow belongs to one caller, and to one address that it sends to");
  flow.caller = stamp.from;
  flow.port = stamp.port;
  flow.local = stamp.local;
  must(stamp.number > caller_port.last_delivered, "a caller's datagrams keep their order");
  caller_port.last_delivered = stamp.number;
  must(caller_port.sizes.at(stamp.number) == size, "a datagram keeps its size");
  must(datagram(stamp, size) == std::vector(bytes, bytes + size), "a datagram keeps its bytes");
  must(kernel_.sockets.at(socket).target.port == 9 + stamp.port, "each port of a range has its own target port");
  caller_port.delivered_count++;
}

void Simulation::deliver_out(const msghdr& head, const std::vector<std::byte>& control, const std::byte* bytes,
                             size_t size) {
  if (size < sizeof(Stamp)) return;
  Stamp stamp{};
  std::memcpy(&stamp, bytes, sizeof stamp);
  Flow& flow = flows_.at(stamp.from);
  must(flow.caller >= 0, "only a caller that has sent gets replies");
  must(stamp.number > flow.last_delivered, "a target's datagrams keep their order");
  flow.last_delivered = stamp.number;
  must(datagram(stamp, size) == std::vector(bytes, bytes + size), "a reply keeps its bytes");
  socklen_t source_size = 0;
  const sockaddr_in6 source = source_of(flow.caller, source_size);
  const bool is_to_caller = head.msg_namelen == source_size && std::memcmp(head.msg_name, &source, source_size) == 0;
  must(is_to_caller, "a reply goes to its caller");
  must(control == pktinfo_of(flow.caller, flow.local, true),
       "a reply leaves from the address that the caller has sent to");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  Simulation(bytes, size).play();
  return 0;
}
