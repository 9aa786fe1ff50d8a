#include "napi-convert.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sluice::convert {

namespace {

bool is_present(const Napi::Value& value) { return !value.IsNull() && !value.IsUndefined(); }
std::string text(const Napi::Value& value) { return value.As<Napi::String>().Utf8Value(); }
double number(const Napi::Value& value) { return value.As<Napi::Number>().DoubleValue(); }

/** Converts any JavaScript number: NaN becomes 0, others are clamped to 2^53 and rounded down. */
int64_t to_int64(const Napi::Value& value) {
  constexpr double max = 1LL << 53;
  const double raw = number(value);
  return std::isnan(raw) ? 0 : static_cast<int64_t>(std::floor(std::clamp(raw, -max, max)));
}

/** Returns 0 when the value is not a port number. */
uint16_t port(const Napi::Value& value) {
  const double raw = number(value);
  return raw >= 1 && raw <= 65'535 && raw == std::floor(raw) ? static_cast<uint16_t>(raw) : 0;
}

template <class Each>
void each(const Napi::Value& list, Each&& take) {
  const auto array = list.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) take(Napi::Value(array.Get(i)));
}

Match match(const Napi::Object& raw, std::string& error) {
  Match match;
  if (const Napi::Value cidr = raw.Get("cidr"); is_present(cidr)) {
    match.prefix = Prefix::parse(text(cidr));
    if (!match.prefix) error = text(cidr) + " is not an address prefix";
  }
  if (const Napi::Value host = raw.Get("host"); is_present(host)) match.host = text(host);
  if (const Napi::Value ports = raw.Get("ports"); is_present(ports)) {
    const auto pair = ports.As<Napi::Array>();
    const auto bound = [&](uint32_t i) {
      return static_cast<uint16_t>(std::clamp<int64_t>(to_int64(pair.Get(i)), 0, 65'535));
    };
    match.ports = {bound(0), bound(1)};
  }
  match.is_own = raw.Get("isOwn").ToBoolean();
  return match;
}

Filter filter(const Napi::Object& raw, Reasons& reasons, std::string& error) {
  Filter filter;
  const auto matches = [&](const Napi::Value& list) {
    std::vector<Match> found;
    each(list, [&](const Napi::Value& one) { found.push_back(match(one.As<Napi::Object>(), error)); });
    return found;
  };
  if (const Napi::Value allow = raw.Get("allow"); is_present(allow)) filter.allow = matches(allow);
  filter.deny = matches(raw.Get("deny"));
  filter.refusal = reasons.id_of(text(raw.Get("refusal")));
  return filter;
}

std::optional<Rate> rate(const Napi::Value& raw) {
  if (!is_present(raw)) return std::nullopt;
  const auto object = raw.As<Napi::Object>();
  return Rate{std::max(0.0, number(object.Get("perSec"))), std::max(0.0, number(object.Get("burst")))};
}

std::vector<PreamblePart> preamble_parts(const Napi::Value& list);

std::string bytes(const Napi::Value& raw) {
  const auto array = raw.As<Napi::Uint8Array>();
  return {array.Data(), array.Data() + array.ByteLength()};
}

PreamblePart preamble_part(const Napi::Object& raw) {
  using Kind = PreamblePart::Kind;
  if (raw.Has("bytes")) return {.kind = Kind::bytes, .bytes = bytes(raw.Get("bytes"))};
  if (raw.Has("of"))
    return {.kind = Kind::length,
            .length_bytes = static_cast<int>(to_int64(raw.Get("length"))),
            .parts = preamble_parts(raw.Get("of"))};
  if (raw.Has("whenNamed"))
    return {.kind = Kind::when_named, .parts = preamble_parts(raw.Get("whenNamed"))};
  if (raw.Has("crc32c")) return {.kind = Kind::crc32c};
  static const std::map<std::string, Kind> fields{
      {"source_address", Kind::source_address}, {"source_port", Kind::source_port},
      {"listen_address", Kind::listen_address}, {"listen_port", Kind::listen_port},
      {"server_name", Kind::server_name},       {"connection_id", Kind::connection_id}};
  return {.kind = fields.at(text(raw.Get("field"))), .is_text = text(raw.Get("form")) == "text"};
}

std::vector<PreamblePart> preamble_parts(const Napi::Value& list) {
  std::vector<PreamblePart> parts;
  each(list, [&](const Napi::Value& one) { parts.push_back(preamble_part(one.As<Napi::Object>())); });
  return parts;
}

std::shared_ptr<const Preamble> preamble(const Napi::Object& raw) {
  auto preamble = std::make_shared<Preamble>();
  preamble->ipv4 = preamble_parts(raw.Get("ipv4"));
  preamble->ipv6 = preamble_parts(raw.Get("ipv6"));
  preamble->is_for_each_datagram = text(raw.Get("datagrams")) == "each";
  if (const Napi::Value probe = raw.Get("probe"); is_present(probe)) preamble->probe = bytes(probe);
  return preamble;
}

Balance balance(const Napi::Object& raw, const Napi::Value& shares) {
  using By = Balance::By;
  const std::string by = text(raw.Get("by"));
  Balance balance;
  balance.by = by == "least_connections" ? By::least_connections
               : by == "source_hash"     ? By::source_hash
               : by == "random_two"      ? By::random_two
                                         : By::round_robin;
  each(raw.Get("tiers"), [&](const Napi::Value& tier) { balance.tiers.push_back(to_int64(tier)); });
  if (const Napi::Value prefix = raw.Get("ipv6Prefix"); is_present(prefix))
    balance.ipv6_prefix = static_cast<unsigned>(to_int64(prefix));
  TargetWeights by_target{weights(raw.Get("weights")), {}};
  by_target.shares = is_present(shares) ? weights(shares) : std::vector<double>(by_target.weights.size(), 1);
  balance.weights = std::make_shared<const TargetWeights>(std::move(by_target));
  return balance;
}

/** Returns the dialer and its path as one text; empty: none. */
std::string dialer(const Napi::Object& target) {
  const Napi::Value name = target.Get("dialer");
  if (!is_present(name)) return {};
  const Napi::Value path = target.Get("path");
  return text(name) + ' ' + (is_present(path) ? text(path) : "");
}

std::vector<Target> targets(const Napi::Value& raw) {
  std::vector<Target> all;
  each(raw, [&](const Napi::Value& one) {
    const auto target = one.As<Napi::Object>();
    const std::string host = text(target.Get("host"));
    all.push_back({host, port(target.Get("port")), Address::parse(host), dialer(target)});
  });
  return all;
}

AddressGuard::Sets address_sets(const Napi::Value& names, Engine& engine) {
  AddressGuard::Sets sets;
  each(names, [&](const Napi::Value& name) { sets.push_back(engine.address_set(text(name))); });
  return sets;
}

/** Writes a row of numbers, and addresses and names as one text, which is far cheaper than objects. See `readEnded`. */
void set_ended(Napi::Object object, const std::vector<EndedConnection>& ended) {
  std::string text;
  std::vector<double> row{static_cast<double>(ended.size())};
  const auto put = [&](auto value) { row.push_back(static_cast<double>(value)); };
  for (const EndedConnection& one : ended) {
    for (const Address& address : {one.source, one.listen, one.target}) {
      text += address.text() + '\n';
      put(address.port);
    }
    text += one.server_name + '\n' + one.divert + '\n';
    put(one.target_index);
    put(one.rule);
    for (const int64_t value : {one.opened_at_ms, one.duration_ms, one.bytes[0], one.bytes[1]}) put(value);
    put(one.end);
    put(one.refusal);
  }
  object.Set("text", text);
  object.Set("row", doubles(object.Env(), row));
}

}  // namespace

std::vector<Prefix> prefixes(const Napi::Value& raw, std::string& error) {
  std::vector<Prefix> all;
  each(raw, [&](const Napi::Value& one) {
    if (const auto prefix = Prefix::parse(text(one)))
      all.push_back(*prefix);
    else
      error = text(one) + " is not an address prefix";
  });
  return all;
}

std::shared_ptr<const FirstRead> first_read(const Napi::Object& raw, Reasons& reasons, std::string& error) {
  const Napi::Value value = raw.Get("firstRead");
  if (!is_present(value)) return nullptr;
  const auto object = value.As<Napi::Object>();
  auto first_read = std::make_shared<FirstRead>();
  first_read->from = prefixes(object.Get("from"), error);
  const auto refusals = object.Get("refusals").As<Napi::Object>();
  first_read->header = reasons.id_of(text(refusals.Get("header")));
  first_read->untrusted = reasons.id_of(text(refusals.Get("untrusted")));
  return first_read;
}

AddressGuard address_guard(const Napi::Object& raw, Engine& engine) {
  AddressGuard guard{.allow = {},
                     .deny = address_sets(raw.Get("deny"), engine),
                     .keeps_live = text(raw.Get("live")) == "keep",
                     .refusal = engine.reasons().id_of(text(raw.Get("refusal")))};
  if (const Napi::Value allow = raw.Get("allow"); is_present(allow)) guard.allow = address_sets(allow, engine);
  return guard;
}

std::vector<Divert> diverts(const Napi::Object& raw, Engine& engine) {
  std::vector<Divert> all;
  each(raw.Get("diverts"), [&](const Napi::Value& value) {
    const auto one = value.As<Napi::Object>();
    Divert divert{.name = text(one.Get("name")),
                  .from = address_sets(one.Get("from"), engine),
                  .targets = targets(one.Get("targets"))};
    if (const Napi::Value beyond = one.Get("refusalBeyond"); is_present(beyond)) {
      const auto limit = beyond.As<Napi::Object>();
      divert.max = to_int64(limit.Get("max"));
      divert.refusal = engine.reasons().id_of(text(limit.Get("reason")));
    }
    all.push_back(std::move(divert));
  });
  return all;
}

SourceLimit source_limit(const Napi::Object& raw, Engine& engine) {
  using Of = SourceLimit::Of;
  const std::string of = text(raw.Get("of"));
  const Napi::Value refusal = raw.Get("refusal");
  SourceLimit limit{.of = of == "open" ? Of::open : of == "new" ? Of::fresh : Of::failed,
                    .name = text(raw.Get("name")),
                    .id = 0,
                    .open = nullptr,
                    .max = std::max<int64_t>(0, to_int64(raw.Get("max"))),
                    .per_ms = std::max<int64_t>(1, to_int64(raw.Get("perMs"))),
                    .refusal = is_present(refusal) ? engine.reasons().id_of(text(refusal)) : kNoReason};
  engine.join_counts(limit);
  return limit;
}

std::shared_ptr<const Filters> filters(const Napi::Object& raw, Engine& engine, std::string& error) {
  Reasons& reasons = engine.reasons();
  auto all = std::make_shared<Filters>();
  if (const Napi::Value source = raw.Get("source"); is_present(source))
    all->source = filter(source.As<Napi::Object>(), reasons, error);
  each(raw.Get("target"), [&](const Napi::Value& one) {
    all->target.push_back(filter(one.As<Napi::Object>(), reasons, error));
  });
  each(raw.Get("addressGuards"), [&](const Napi::Value& one) {
    all->address_guards.push_back(address_guard(one.As<Napi::Object>(), engine));
  });
  each(raw.Get("sourceLimits"), [&](const Napi::Value& one) {
    all->source_limits.push_back(source_limit(one.As<Napi::Object>(), engine));
  });
  return error.empty() ? all : nullptr;
}

RuleConfig rule(const Napi::Object& raw, Reasons& reasons) {
  RuleConfig config;
  config.id = static_cast<int>(to_int64(raw.Get("id")));
  if (const Napi::Value replaces = raw.Get("replaces"); is_present(replaces))
    config.replaces = static_cast<int>(to_int64(replaces));
  config.owner = text(raw.Get("owner"));
  config.is_udp = text(raw.Get("protocol")) == "udp";
  config.from = port(raw.Get("from"));
  config.to = port(raw.Get("to"));
  if (const Napi::Value name = raw.Get("name"); is_present(name)) config.name = text(name);
  config.is_fallback = raw.Get("fallback").ToBoolean();
  config.targets = targets(raw.Get("targets"));
  if (const Napi::Value raw_balance = raw.Get("balance"); is_present(raw_balance))
    config.balance = balance(raw_balance.As<Napi::Object>(), raw.Get("shares"));
  config.prefer_ipv6 = raw.Get("preferIpv6").ToBoolean();
  if (const Napi::Value from = raw.Get("dialFrom"); is_present(from)) {
    const auto address = [&](const char* family) -> std::optional<Address> {
      const Napi::Value own = from.As<Napi::Object>().Get(family);
      return is_present(own) ? Address::parse(text(own)) : std::nullopt;
    };
    config.dial_from = {address("ipv4"), address("ipv6")};
  }
  config.probe_ms = std::max<int64_t>(0, to_int64(raw.Get("probeMs")));
  config.idle_ms = std::max<int64_t>(0, to_int64(raw.Get("idleMs")));
  config.unanswered_ms = std::max<int64_t>(0, to_int64(raw.Get("unansweredMs")));
  config.flow_cap = std::max<int64_t>(0, to_int64(raw.Get("flowCap")));
  if (const Napi::Value cap = raw.Get("replyCap"); is_present(cap)) {
    const auto object = cap.As<Napi::Object>();
    config.reply_cap = {number(object.Get("ratio")), to_int64(object.Get("provenAfter")),
                        reasons.id_of(text(object.Get("refusal")))};
  }
  config.report_ends = raw.Get("reportEnds").ToBoolean();
  if (const Napi::Value raw_preamble = raw.Get("preamble"); is_present(raw_preamble))
    config.preamble = preamble(raw_preamble.As<Napi::Object>());
  return config;
}

std::vector<double> weights(const Napi::Value& raw) {
  std::vector<double> all;
  each(raw, [&](const Napi::Value& one) { all.push_back(number(one)); });
  return all;
}

std::vector<int> numbers(const Napi::Value& raw) {
  std::vector<int> all;
  each(raw, [&](const Napi::Value& one) { all.push_back(static_cast<int>(to_int64(one))); });
  return all;
}

Limits limits(const Napi::Object& raw, Reasons& reasons) {
  const auto refusals = raw.Get("refusals").As<Napi::Object>();
  const auto reason = [&](const char* key) { return reasons.id_of(text(refusals.Get(key))); };
  Limits limits;
  limits.bytes = {rate(raw.Get("bytesIn")), rate(raw.Get("bytesOut"))};
  if (const Napi::Value max = raw.Get("connections"); is_present(max)) limits.connections = to_int64(max);
  limits.new_connections = rate(raw.Get("newConnections"));
  limits.refusals = {reason("connections"), reason("newConnections"), reason("bytes"), reason("budget")};
  return limits;
}

std::optional<Budget> budget(const Napi::Value& raw) {
  if (!is_present(raw)) return std::nullopt;
  const auto object = raw.As<Napi::Object>();
  return Budget{to_int64(object.Get("mark")), to_int64(object.Get("holdMs"))};
}

ResolveAnswer answer(const Napi::Object& raw) {
  const auto ms = [&](const char* name) {
    const Napi::Value value = raw.Get(name);
    return is_present(value) ? to_int64(value) : 0;
  };
  const bool is_ok = raw.Get("ok").ToBoolean();
  return {.is_ok = is_ok,
          .addresses = is_ok ? addresses(raw.Get("addresses")) : std::vector<Address>{},
          .reason = is_ok ? "" : text(raw.Get("reason")),
          .fresh_ms = ms("freshMs"),
          .usable_ms = ms("usableMs")};
}

DialAnswer dial_answer(const Napi::Object& raw, Reasons& reasons) {
  if (raw.Get("ok").ToBoolean()) {
    const auto address = Address::parse(text(raw.Get("address")), port(raw.Get("port")));
    return {.is_ok = true, .address = address.value_or(Address{})};
  }
  const std::string reason = text(raw.Get("reason"));
  if (raw.Get("isRefusal").ToBoolean()) return {.refusal = reasons.id_of(reason)};
  return {.failure = reason};
}

ConnectionSelection selection(const Napi::Object& raw, std::string& error) {
  ConnectionSelection selection;
  if (const Napi::Value ids = raw.Get("ids"); is_present(ids)) {
    selection.ids.emplace();
    each(ids, [&](const Napi::Value& one) { selection.ids->push_back(to_int64(one)); });
    std::ranges::sort(*selection.ids);
  }
  if (const Napi::Value rules = raw.Get("rules"); is_present(rules)) {
    selection.rules = numbers(rules);
    std::ranges::sort(*selection.rules);
  }
  if (const Napi::Value sources = raw.Get("sources"); is_present(sources)) {
    selection.sources.emplace();
    each(sources, [&](const Napi::Value& one) {
      const auto prefix = Prefix::parse(text(one));
      if (prefix) selection.sources->push_back(*prefix);
      else error = text(one) + " is not an address prefix";
    });
  }
  if (const Napi::Value target = raw.Get("target"); is_present(target)) {
    const auto object = target.As<Napi::Object>();
    const Napi::Value at = object.Get("port");
    selection.target = Address::parse(text(object.Get("address")), is_present(at) ? port(at) : uint16_t{0});
    if (!selection.target) error = text(object.Get("address")) + " is not an address";
  }
  if (const Napi::Value targets = raw.Get("ruleTargets"); is_present(targets)) {
    selection.rule_targets.emplace();
    each(targets, [&](const Napi::Value& one) {
      const auto object = one.As<Napi::Object>();
      selection.rule_targets->emplace_back(static_cast<int>(to_int64(object.Get("rule"))),
                                           static_cast<int>(to_int64(object.Get("target"))));
    });
    std::ranges::sort(*selection.rule_targets);
  }
  return selection;
}

ConnectionQuery query(const Napi::Object& raw, std::string& error) {
  ConnectionQuery query;
  query.selection = selection(raw, error);
  query.sort = static_cast<ConnectionQuery::Sort>(to_int64(raw.Get("sortIndex")));
  query.limit = static_cast<size_t>(to_int64(raw.Get("limit")));
  if (const Napi::Value after = raw.Get("after"); is_present(after)) {
    query.after_key = number(after.As<Napi::Object>().Get("key"));
    query.after_id = to_int64(after.As<Napi::Object>().Get("id"));
  }
  return query;
}

Napi::Object connections(Napi::Env env, const ConnectionPage& page) {
  std::string text;
  std::vector<double> row;
  const auto put = [&](auto value) { row.push_back(static_cast<double>(value)); };
  put(page.matched);
  for (const int64_t bytes : page.bytes) put(bytes);
  put(page.rows.size());
  for (const OpenConnection& one : page.rows) {
    for (const Address& address : {one.source, one.listen, one.target}) {
      text += address.text() + '\n';
      put(address.port);
    }
    text += one.divert + '\n';
    put(one.target_index);
    put(one.id);
    put(one.key);
    put(one.rule);
    for (const int64_t value : {one.age_ms, one.idle_ms, one.bytes[0], one.bytes[1]}) put(value);
    put(one.held_by);
    for (const auto& [rtt_us, retransmits] : one.figures) {
      put(rtt_us);
      put(retransmits);
    }
  }
  const auto object = Napi::Object::New(env);
  object.Set("text", text);
  object.Set("row", doubles(env, row));
  return object;
}

std::vector<Address> addresses(const Napi::Value& raw) {
  std::vector<Address> all;
  each(raw, [&](const Napi::Value& one) {
    if (const auto address = Address::parse(text(one))) all.push_back(*address);
  });
  return all;
}

Napi::Object event(Napi::Env env, const EngineEvent& event, Engine& engine) {
  const auto object = Napi::Object::New(env);
  object.Set("kind", static_cast<int>(event.kind));
  object.Set("id", event.id);
  object.Set("target", event.target);
  object.Set("value", static_cast<double>(event.value));
  if (event.kind == EngineEvent::Kind::dialed)
    object.Set("otherValue", event.dialer_end ? engine.take_socket(event.dialer_end) : -1);
  else
    object.Set("otherValue", static_cast<double>(event.other_value));
  if (event.kind == EngineEvent::Kind::connections_ended) {
    set_ended(object, event.ended);
    return object;
  }
  object.Set("text", event.text);
  object.Set("reason", event.reason);
  object.Set("from", static_cast<int>(event.from));
  object.Set("to", static_cast<int>(event.to));
  if (event.kind != EngineEvent::Kind::closed) return object;
  std::vector<double> counters;
  engine.write_rule(event.id, counters);
  object.Set("row", doubles(env, counters));
  engine.forget(event.id);
  return object;
}

Napi::Float64Array doubles(Napi::Env env, const std::vector<double>& values) {
  auto array = Napi::Float64Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

}  // namespace sluice::convert
