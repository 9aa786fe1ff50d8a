#include "plain.h"

#include <algorithm>
#include <cmath>

namespace sluice::plain {

namespace {

bool is_there(const Napi::Value& value) { return !value.IsNull() && !value.IsUndefined(); }
std::string text(const Napi::Value& value) { return value.As<Napi::String>().Utf8Value(); }
double number(const Napi::Value& value) { return value.As<Napi::Number>().DoubleValue(); }

/** Whatever a number of JavaScript is, it becomes a number of ours. */
int64_t whole(const Napi::Value& value) {
  constexpr double most = 1LL << 53;
  const double plain = number(value);
  return std::isnan(plain) ? 0 : static_cast<int64_t>(std::floor(std::clamp(plain, -most, most)));
}

/** 0 when it is no port. */
uint16_t port(const Napi::Value& value) {
  const double plain = number(value);
  return plain >= 1 && plain <= 65'535 && plain == std::floor(plain) ? static_cast<uint16_t>(plain) : 0;
}

template <class Each>
void each(const Napi::Value& list, Each&& take) {
  const auto array = list.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) take(Napi::Value(array.Get(i)));
}

Match match(const Napi::Object& raw, std::string& wrong) {
  Match match;
  if (const Napi::Value cidr = raw.Get("cidr"); is_there(cidr)) {
    match.prefix = Prefix::parse(text(cidr));
    if (!match.prefix) wrong = text(cidr) + " is no address prefix";
  }
  if (const Napi::Value host = raw.Get("host"); is_there(host)) match.host = text(host);
  if (const Napi::Value ports = raw.Get("ports"); is_there(ports)) {
    const auto pair = ports.As<Napi::Array>();
    const auto bound = [&](uint32_t i) {
      return static_cast<uint16_t>(std::clamp<int64_t>(whole(pair.Get(i)), 0, 65'535));
    };
    match.ports = {bound(0), bound(1)};
  }
  return match;
}

Filter filter(const Napi::Object& raw, Reasons& reasons, std::string& wrong) {
  Filter filter;
  const auto matches = [&](const Napi::Value& list) {
    std::vector<Match> found;
    each(list, [&](const Napi::Value& one) { found.push_back(match(one.As<Napi::Object>(), wrong)); });
    return found;
  };
  if (const Napi::Value allow = raw.Get("allow"); is_there(allow)) filter.allow = matches(allow);
  filter.deny = matches(raw.Get("deny"));
  filter.refusal = reasons.of(text(raw.Get("refusal")));
  return filter;
}

std::optional<Rate> rate(const Napi::Value& raw) {
  if (!is_there(raw)) return std::nullopt;
  const auto object = raw.As<Napi::Object>();
  return Rate{std::max(0.0, number(object.Get("perSec"))), std::max(0.0, number(object.Get("burst")))};
}

}  // namespace

std::shared_ptr<const Filters> filters(const Napi::Object& raw, Reasons& reasons, std::string& wrong) {
  auto all = std::make_shared<Filters>();
  if (const Napi::Value source = raw.Get("source"); is_there(source))
    all->source = filter(source.As<Napi::Object>(), reasons, wrong);
  each(raw.Get("target"), [&](const Napi::Value& one) {
    all->target.push_back(filter(one.As<Napi::Object>(), reasons, wrong));
  });
  return wrong.empty() ? all : nullptr;
}

RulePlan rule(const Napi::Object& raw) {
  RulePlan plan;
  plan.id = static_cast<int>(whole(raw.Get("id")));
  plan.is_udp = text(raw.Get("protocol")) == "udp";
  plan.from = port(raw.Get("from"));
  plan.to = port(raw.Get("to"));
  if (const Napi::Value name = raw.Get("name"); is_there(name)) plan.name = text(name);
  plan.is_fallback = raw.Get("fallback").ToBoolean();
  each(raw.Get("targets"), [&](const Napi::Value& one) {
    const auto target = one.As<Napi::Object>();
    const std::string host = text(target.Get("host"));
    plan.targets.push_back({host, port(target.Get("port")), Address::parse(host)});
  });
  plan.prefer_ipv6 = raw.Get("preferIpv6").ToBoolean();
  plan.probe_ms = std::max<int64_t>(0, whole(raw.Get("probeMs")));
  plan.idle_ms = std::max<int64_t>(0, whole(raw.Get("idleMs")));
  plan.flow_cap = std::max<int64_t>(0, whole(raw.Get("flowCap")));
  return plan;
}

std::vector<int> numbers(const Napi::Value& raw) {
  std::vector<int> all;
  each(raw, [&](const Napi::Value& one) { all.push_back(static_cast<int>(whole(one))); });
  return all;
}

Limits limits(const Napi::Object& raw, Reasons& reasons) {
  const auto refusals = raw.Get("refusals").As<Napi::Object>();
  const auto reason = [&](const char* key) { return reasons.of(text(refusals.Get(key))); };
  Limits limits;
  limits.bytes = {rate(raw.Get("bytesIn")), rate(raw.Get("bytesOut"))};
  if (const Napi::Value most = raw.Get("connections"); is_there(most)) limits.connections = whole(most);
  limits.new_connections = rate(raw.Get("newConnections"));
  limits.refusals = {reason("connections"), reason("newConnections"), reason("bytes"), reason("budget")};
  return limits;
}

std::optional<Budget> budget(const Napi::Value& raw) {
  if (!is_there(raw)) return std::nullopt;
  const auto object = raw.As<Napi::Object>();
  return Budget{whole(object.Get("mark")), whole(object.Get("holdMs"))};
}

Answer answer(const Napi::Object& raw) {
  if (!raw.Get("ok").ToBoolean()) return {false, {}, text(raw.Get("reason"))};
  return {true, addresses(raw.Get("addresses")), {}};
}

std::vector<Address> addresses(const Napi::Value& raw) {
  std::vector<Address> all;
  each(raw, [&](const Napi::Value& one) {
    if (const auto address = Address::parse(text(one))) all.push_back(*address);
  });
  return all;
}

Napi::Object event(Napi::Env env, const Event& event, Engine& engine) {
  const auto object = Napi::Object::New(env);
  object.Set("kind", static_cast<int>(event.kind));
  object.Set("id", event.id);
  object.Set("target", event.target);
  object.Set("number", static_cast<double>(event.number));
  object.Set("other", static_cast<double>(event.other));
  object.Set("words", event.words);
  object.Set("reason", event.reason);
  object.Set("from", static_cast<int>(event.from));
  object.Set("to", static_cast<int>(event.to));
  if (event.kind != Event::Kind::closed) return object;
  std::vector<double> counters;
  engine.write_rule(event.id, counters);
  object.Set("counters", doubles(env, counters));
  engine.forget(event.id);
  return object;
}

Napi::Float64Array doubles(Napi::Env env, const std::vector<double>& values) {
  auto array = Napi::Float64Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

}  // namespace sluice::plain
