// JavaScript's plain data, read into the engine's. TypeScript has checked its shape; `native/index.ts` is the
// caller.
#pragma once

#include <napi.h>

#include <memory>
#include <optional>
#include <string>

#include "engine.h"

namespace sluice::plain {

/** None: a prefix in it is none; `wrong` says which. */
std::shared_ptr<const Filters> filters(const Napi::Object& raw, Reasons& reasons, std::string& wrong);
RulePlan rule(const Napi::Object& raw);
std::vector<int> numbers(const Napi::Value& raw);
Limits limits(const Napi::Object& raw, Reasons& reasons);
std::optional<Budget> budget(const Napi::Value& raw);
Answer answer(const Napi::Object& raw);
std::vector<Address> addresses(const Napi::Value& raw);
Napi::Object event(Napi::Env env, const Event& event, Engine& engine);
Napi::Float64Array doubles(Napi::Env env, const std::vector<double>& values);

}  // namespace sluice::plain
