// The N-API class `NativeEngine`. All calls come from JavaScript's thread; no C++ exception crosses the boundary.
#include <napi.h>

#include "engine.h"
#include "error-name.h"
#include "idle-memory.h"
#include "napi-convert.h"
#include "notify.h"

namespace sluice {

namespace {

class NativeEngine final : public Napi::ObjectWrap<NativeEngine> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "NativeEngine",
                       {
                           InstanceMethod<&NativeEngine::open>("open"),
                           InstanceMethod<&NativeEngine::serve_opened>("serveOpened"),
                           InstanceMethod<&NativeEngine::close>("close"),
                           InstanceMethod<&NativeEngine::reset_targets>("resetTargets"),
                           InstanceMethod<&NativeEngine::reset>("reset"),
                           InstanceMethod<&NativeEngine::set_filters>("setFilters"),
                           InstanceMethod<&NativeEngine::set_weights>("setWeights"),
                           InstanceMethod<&NativeEngine::set_shares>("setShares"),
                           InstanceMethod<&NativeEngine::change_addresses>("changeAddresses"),
                           InstanceMethod<&NativeEngine::guard_refusal>("guardRefusal"),
                           InstanceMethod<&NativeEngine::divert_of>("divertOf"),
                           InstanceMethod<&NativeEngine::set_meter>("setMeter"),
                           InstanceMethod<&NativeEngine::set_budget>("setBudget"),
                           InstanceMethod<&NativeEngine::remove_meter>("removeMeter"),
                           InstanceMethod<&NativeEngine::resolved>("resolved"),
                           InstanceMethod<&NativeEngine::dialed>("dialed"),
                           InstanceMethod<&NativeEngine::reset_stream>("resetStream"),
                           InstanceMethod<&NativeEngine::is_stream_reset>("isStreamReset"),
                           InstanceMethod<&NativeEngine::release_stream>("releaseStream"),
                           InstanceMethod<&NativeEngine::sample>("sample"),
                           InstanceMethod<&NativeEngine::reasons>("reasons"),
                           InstanceMethod<&NativeEngine::connections>("connections"),
                           InstanceMethod<&NativeEngine::end_connections>("endConnections"),
                           InstanceMethod<&NativeEngine::reserve_descriptor>("reserveDescriptor"),
                           InstanceMethod<&NativeEngine::release_descriptor>("releaseDescriptor"),
                           InstanceMethod<&NativeEngine::stop>("stop"),
                       });
  }

  /** Arguments: ({bind, threads, splice, deadPeerMs}, onEvents). */
  explicit NativeEngine(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<NativeEngine>(info), env_(info.Env()) {
    const auto options = info[0].As<Napi::Object>();
    on_events_ = Napi::Persistent(info[1].As<Napi::Function>());
    waker_ = Waker::New(info.Env(), Napi::Function(), "sluice", 0, 1, wake_target_,
                        [](Napi::Env, void*, WakeTarget* target) { delete target; });
    engine_ = std::make_unique<Engine>(Engine::Options{
        convert::addresses(options.Get("bind")), options.Get("threads").As<Napi::Number>().Uint32Value(),
        options.Get("splice").ToBoolean(), options.Get("deadPeerMs").As<Napi::Number>().Int64Value(),
        [waker = waker_] { waker.NonBlockingCall(); }});
    // Cleanup hooks run in reverse order: the threads are joined before the ThreadSafeFunction is finalized.
    napi_add_env_cleanup_hook(env_, &NativeEngine::on_exit, this);
    wake_target_->engine = this;
    if (const int error = engine_->start()) {
      shut_down();
      throw_error(error == -EAGAIN ? "EAGAIN" : "EMFILE",
                  std::string("the engine cannot start: ") + strerror(-error) +
                      (error == -EAGAIN ? "; raise the thread limit of this user or service" : ""));
    }
  }
  ~NativeEngine() override { shut_down(); }

 private:
  /** Owned by the waker, which may outlive this object; `engine` is null after `detach`. */
  struct WakeTarget {
    NativeEngine* engine;
  };
  static void on_wake(Napi::Env env, Napi::Function, WakeTarget* target, void*) {
    if (env != nullptr && target->engine != nullptr) target->engine->deliver_events();
  }
  using Waker = Napi::TypedThreadSafeFunction<WakeTarget, void, &NativeEngine::on_wake>;

  static void on_exit(void* self) {
    auto* engine = static_cast<NativeEngine*>(self);
    engine->detach();
    engine->engine_->stop();
  }

  void open(const Napi::CallbackInfo& info) {
    const auto raw = info[0].As<Napi::Object>();
    RuleConfig config = convert::rule(raw, engine_->reasons());
    std::string error;
    config.filters = convert::filters(raw, *engine_, error);
    config.diverts = convert::diverts(raw, *engine_);
    config.first_read = convert::first_read(raw, engine_->reasons(), error);
    if (!error.empty()) return throw_error("EINVAL", error);
    const auto refused = engine_->open(std::move(config), convert::numbers(raw.Get("meters")));
    if (refused) throw_error(refused->code, refused->message);
  }
  void serve_opened(const Napi::CallbackInfo&) { engine_->serve_opened(); }
  void close(const Napi::CallbackInfo& info) {
    engine_->close(info[0].As<Napi::Number>(), info[1].As<Napi::Number>().Int64Value());
  }
  void reset_targets(const Napi::CallbackInfo& info) {
    engine_->reset_targets(info[0].As<Napi::Number>(), convert::numbers(info[1]));
  }
  void reset(const Napi::CallbackInfo& info) {
    engine_->reset(info[0].As<Napi::Number>(),
                   {info[1].As<Napi::Number>().Int32Value(), info[2].As<Napi::Number>().Int32Value()});
  }
  void set_filters(const Napi::CallbackInfo& info) {
    std::string error;
    auto filters = convert::filters(info[1].As<Napi::Object>(), *engine_, error);
    if (!filters) return throw_error("EINVAL", error);
    engine_->set_filters(info[0].As<Napi::Number>(), std::move(filters));
  }
  void change_addresses(const Napi::CallbackInfo& info) {
    std::string error;
    const auto add = convert::prefixes(info[1], error);
    const auto remove = convert::prefixes(info[2], error);
    if (!error.empty()) return throw_error("EINVAL", error);
    engine_->change_addresses(info[0].As<Napi::String>(), add, remove);
  }
  Napi::Value guard_refusal(const Napi::CallbackInfo& info) {
    const auto source = Address::parse(info[1].As<Napi::String>().Utf8Value());
    return Napi::Number::New(info.Env(), source ? engine_->guard_refusal(info[0].As<Napi::Number>(), *source) : kNoReason);
  }
  Napi::Value divert_of(const Napi::CallbackInfo& info) {
    const auto source = Address::parse(info[1].As<Napi::String>().Utf8Value());
    return Napi::String::New(info.Env(), source ? engine_->divert_of(info[0].As<Napi::Number>(), *source) : "");
  }
  void set_weights(const Napi::CallbackInfo& info) {
    if (!engine_->set_weights(info[0].As<Napi::Number>(), convert::weights(info[1])))
      throw_error("EINVAL", "weights must have one number from 0 to 1000000 for each target");
  }
  void set_shares(const Napi::CallbackInfo& info) {
    if (!engine_->set_shares(info[0].As<Napi::Number>(), convert::weights(info[1])))
      throw_error("EINVAL", "shares must have one number from 0 to 1 for each target");
  }
  void set_meter(const Napi::CallbackInfo& info) {
    engine_->set_meter(info[0].As<Napi::Number>(),
                       convert::limits(info[1].As<Napi::Object>(), engine_->reasons()));
  }
  void set_budget(const Napi::CallbackInfo& info) {
    const int id = info[0].As<Napi::Number>();
    if (!engine_->set_budget(id, convert::budget(info[1])))
      throw_error("EINVAL", "meter " + std::to_string(id) + " does not exist");
  }
  void remove_meter(const Napi::CallbackInfo& info) { engine_->remove_meter(info[0].As<Napi::Number>()); }
  void resolved(const Napi::CallbackInfo& info) {
    engine_->resolved(info[0].As<Napi::Number>().Int64Value(), convert::answer(info[1].As<Napi::Object>()));
  }
  void dialed(const Napi::CallbackInfo& info) {
    engine_->dialed(info[0].As<Napi::Number>().Int64Value(),
                    convert::dial_answer(info[1].As<Napi::Object>(), engine_->reasons()));
  }
  void reset_stream(const Napi::CallbackInfo& info) { engine_->reset_stream(info[0].As<Napi::Number>().Int64Value()); }
  Napi::Value is_stream_reset(const Napi::CallbackInfo& info) {
    return Napi::Boolean::New(info.Env(), engine_->is_stream_reset(info[0].As<Napi::Number>().Int64Value()));
  }
  void release_stream(const Napi::CallbackInfo& info) {
    engine_->release_stream(info[0].As<Napi::Number>().Int64Value());
  }
  Napi::Value sample(const Napi::CallbackInfo& info) {
    std::vector<double> values;
    engine_->write_sample(values);
    return convert::doubles(info.Env(), values);
  }
  Napi::Value connections(const Napi::CallbackInfo& info) {
    std::string error;
    const ConnectionQuery query = convert::query(info[0].As<Napi::Object>(), error);
    if (!error.empty()) {
      throw_error("EINVAL", error);
      return info.Env().Undefined();
    }
    return convert::connections(info.Env(), engine_->connections(query));
  }
  Napi::Value end_connections(const Napi::CallbackInfo& info) {
    std::string error;
    const ConnectionSelection selection = convert::selection(info[0].As<Napi::Object>(), error);
    if (!error.empty()) {
      throw_error("EINVAL", error);
      return info.Env().Undefined();
    }
    return Napi::Number::New(info.Env(), static_cast<double>(engine_->end_connections(selection)));
  }
  Napi::Value reserve_descriptor(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), engine_->reserve_descriptor(info[0].As<Napi::String>()));
  }
  void release_descriptor(const Napi::CallbackInfo& info) {
    engine_->release_descriptor(info[0].As<Napi::Number>().Uint32Value());
  }
  Napi::Value reasons(const Napi::CallbackInfo& info) {
    const auto names = engine_->reasons().names();
    const auto array = Napi::Array::New(info.Env(), names.size());
    for (uint32_t i = 0; i < names.size(); i++) array.Set(i, names[i]);
    return array;
  }
  void stop(const Napi::CallbackInfo&) {
    if (wake_target_ == nullptr) return;
    engine_->stop();
    deliver_events();
    shut_down();
  }

  void deliver_events() {
    const Napi::HandleScope scope(env_);
    const auto events = engine_->take_events();
    if (events.empty()) return;
    const auto batch = Napi::Array::New(env_, events.size());
    for (uint32_t i = 0; i < events.size(); i++) batch.Set(i, convert::event(env_, events[i], *engine_));
    on_events_.Call({batch});
  }
  void shut_down() {
    if (wake_target_ == nullptr) return;
    detach();
    engine_->stop();
    napi_remove_env_cleanup_hook(env_, &NativeEngine::on_exit, this);
    waker_.Release();
    on_events_.Reset();  // breaks a reference cycle that would keep both objects from garbage collection
  }
  void detach() { std::exchange(wake_target_, nullptr)->engine = nullptr; }
  void throw_error(const std::string& code, const std::string& message) {
    const auto error = Napi::Error::New(env_, message);
    error.Set("code", code);
    error.ThrowAsJavaScriptException();
  }

  const Napi::Env env_;
  Napi::FunctionReference on_events_;
  Waker waker_;
  std::unique_ptr<Engine> engine_;
  WakeTarget* wake_target_ = new WakeTarget{nullptr};  // owned by the waker; null after `detach`
};

Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports.Set("NativeEngine", NativeEngine::define(env));
  exports.Set("giveBackMemory", Napi::Function::New(env, [](const Napi::CallbackInfo&) { give_back_memory(); }));
  exports.Set("notify", Napi::Function::New(env, [](const Napi::CallbackInfo& info) -> Napi::Value {
                const int error = notify(info[0].As<Napi::String>(), info[1].As<Napi::String>());
                return Napi::String::New(info.Env(), error == 0 ? "" : error_name(-error));
              }));
  return exports;
}

}  // namespace

NODE_API_MODULE(sluice, init)

}  // namespace sluice
