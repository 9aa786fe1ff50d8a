// The bridge: one object of JavaScript's, all of whose calls come from its thread. No exception crosses it.
#include <napi.h>

#include "engine.h"
#include "plain.h"

namespace sluice {

namespace {

class NativeEngine final : public Napi::ObjectWrap<NativeEngine> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "NativeEngine",
                       {
                           InstanceMethod<&NativeEngine::open>("open"),
                           InstanceMethod<&NativeEngine::close>("close"),
                           InstanceMethod<&NativeEngine::filter>("filter"),
                           InstanceMethod<&NativeEngine::meter>("meter"),
                           InstanceMethod<&NativeEngine::budget>("budget"),
                           InstanceMethod<&NativeEngine::unmeter>("unmeter"),
                           InstanceMethod<&NativeEngine::resolved>("resolved"),
                           InstanceMethod<&NativeEngine::sample>("sample"),
                           InstanceMethod<&NativeEngine::reasons>("reasons"),
                           InstanceMethod<&NativeEngine::stop>("stop"),
                       });
  }

  /** ({bind, threads, splice}, onEvents) */
  explicit NativeEngine(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<NativeEngine>(info), env_(info.Env()) {
    const auto options = info[0].As<Napi::Object>();
    on_events_ = Napi::Persistent(info[1].As<Napi::Function>());
    waker_ = Waker::New(info.Env(), Napi::Function(), "sluice", 0, 1, listener_,
                        [](Napi::Env, void*, Listener* listener) { delete listener; });
    engine_ = std::make_unique<Engine>(Engine::Options{
        plain::addresses(options.Get("bind")), options.Get("threads").As<Napi::Number>().Uint32Value(),
        options.Get("splice").ToBoolean(), [waker = waker_] { waker.NonBlockingCall(); }});
    // Hooks run in reverse: the threads are joined before the function they call is taken away.
    napi_add_env_cleanup_hook(env_, &NativeEngine::on_exit, this);
    listener_->engine = this;
    if (const int error = engine_->start()) {
      end();
      fail(error == -EAGAIN ? "EAGAIN" : "EMFILE",
           std::string("the engine cannot start: ") + strerror(-error) +
               (error == -EAGAIN ? "; no thread is left to this user or service" : ""));
    }
  }
  ~NativeEngine() override { end(); }

 private:
  /** Who is woken; none when it has ended, which the waker outlives. */
  struct Listener {
    NativeEngine* engine;
  };
  static void on_wake(Napi::Env env, Napi::Function, Listener* listener, void*) {
    if (env != nullptr && listener->engine != nullptr) listener->engine->tell();
  }
  using Waker = Napi::TypedThreadSafeFunction<Listener, void, &NativeEngine::on_wake>;

  static void on_exit(void* self) {
    auto* engine = static_cast<NativeEngine*>(self);
    engine->leave();
    engine->engine_->stop();
  }

  void open(const Napi::CallbackInfo& info) {
    const auto raw = info[0].As<Napi::Object>();
    RulePlan plan = plain::rule(raw);
    std::string wrong;
    plan.filters = plain::filters(raw, engine_->reasons(), wrong);
    if (!plan.filters) return fail("EINVAL", wrong);
    const auto refusal = engine_->open(std::move(plan), plain::numbers(raw.Get("meters")));
    if (refusal) fail(refusal->code, refusal->message);
  }
  void close(const Napi::CallbackInfo& info) {
    engine_->close(info[0].As<Napi::Number>(), info[1].As<Napi::Number>().Int64Value());
  }
  void filter(const Napi::CallbackInfo& info) {
    std::string wrong;
    auto filters = plain::filters(info[1].As<Napi::Object>(), engine_->reasons(), wrong);
    if (!filters) return fail("EINVAL", wrong);
    engine_->filter(info[0].As<Napi::Number>(), std::move(filters));
  }
  void meter(const Napi::CallbackInfo& info) {
    engine_->meter(info[0].As<Napi::Number>(), plain::limits(info[1].As<Napi::Object>(), engine_->reasons()));
  }
  void budget(const Napi::CallbackInfo& info) {
    const int id = info[0].As<Napi::Number>();
    if (!engine_->budget(id, plain::budget(info[1])))
      fail("EINVAL", "meter " + std::to_string(id) + " is not there");
  }
  void unmeter(const Napi::CallbackInfo& info) { engine_->unmeter(info[0].As<Napi::Number>()); }
  void resolved(const Napi::CallbackInfo& info) {
    engine_->resolved(info[0].As<Napi::Number>().Int64Value(), plain::answer(info[1].As<Napi::Object>()));
  }
  Napi::Value sample(const Napi::CallbackInfo& info) {
    std::vector<double> values;
    engine_->write_sample(values);
    return plain::doubles(info.Env(), values);
  }
  Napi::Value reasons(const Napi::CallbackInfo& info) {
    const auto words = engine_->reasons().all();
    const auto array = Napi::Array::New(info.Env(), words.size());
    for (uint32_t i = 0; i < words.size(); i++) array.Set(i, words[i]);
    return array;
  }
  void stop(const Napi::CallbackInfo&) {
    if (listener_ == nullptr) return;
    engine_->stop();
    tell();
    end();
  }

  void tell() {
    const Napi::HandleScope scope(env_);
    const auto events = engine_->take_events();
    if (events.empty()) return;
    const auto batch = Napi::Array::New(env_, events.size());
    for (uint32_t i = 0; i < events.size(); i++) batch.Set(i, plain::event(env_, events[i], *engine_));
    on_events_.Call({batch});
  }
  void end() {
    if (listener_ == nullptr) return;
    leave();
    engine_->stop();
    napi_remove_env_cleanup_hook(env_, &NativeEngine::on_exit, this);
    waker_.Release();
    on_events_.Reset();  // which knows this object: neither would ever be collected
  }
  void leave() { std::exchange(listener_, nullptr)->engine = nullptr; }
  void fail(const std::string& code, const std::string& message) {
    const auto error = Napi::Error::New(env_, message);
    error.Set("code", code);
    error.ThrowAsJavaScriptException();
  }

  const Napi::Env env_;
  Napi::FunctionReference on_events_;
  Waker waker_;
  std::unique_ptr<Engine> engine_;
  Listener* listener_ = new Listener{nullptr};  // the waker's; null when this has ended
};

Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports.Set("NativeEngine", NativeEngine::define(env));
  return exports;
}

}  // namespace

NODE_API_MODULE(sluice, init)

}  // namespace sluice
