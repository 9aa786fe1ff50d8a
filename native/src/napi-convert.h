// Converts between JavaScript values and the engine's. TypeScript has checked the shapes (`native/index.ts`).
#pragma once

#include <napi.h>

#include <memory>
#include <optional>
#include <string>

#include "engine.h"

namespace sluice::convert {

/** Returns null, and sets `error`, when an address prefix is malformed. */
std::shared_ptr<const Filters> filters(const Napi::Object& raw, Engine& engine, std::string& error);
std::vector<Divert> diverts(const Napi::Object& raw, Engine& engine);
std::shared_ptr<const FirstRead> first_read(const Napi::Object& raw, Reasons& reasons, std::string& error);
std::vector<Prefix> prefixes(const Napi::Value& raw, std::string& error);
RuleConfig rule(const Napi::Object& raw, Reasons& reasons);
std::vector<double> weights(const Napi::Value& raw);
std::vector<int> numbers(const Napi::Value& raw);
Limits limits(const Napi::Object& raw, Reasons& reasons);
std::optional<Budget> budget(const Napi::Value& raw);
ResolveAnswer answer(const Napi::Object& raw);
DialAnswer dial_answer(const Napi::Object& raw, Reasons& reasons);
ConnectionSelection selection(const Napi::Object& raw, std::string& error);
ConnectionQuery query(const Napi::Object& raw, std::string& error);
/** Returns {row, text}, as native/sample.ts reads it. */
Napi::Object connections(Napi::Env env, const ConnectionPage& page);
std::vector<Address> addresses(const Napi::Value& raw);
Napi::Object event(Napi::Env env, const EngineEvent& event, Engine& engine);
Napi::Float64Array doubles(Napi::Env env, const std::vector<double>& values);

}  // namespace sluice::convert
