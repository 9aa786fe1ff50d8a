// Recycles the memory of objects that exist once per connection, per thread.
#pragma once

#include <cstddef>
#include <new>

namespace sluice {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kMaxPooled = 0;  // sanitizers must see each use after free
#elif defined(__has_feature)
inline constexpr int kMaxPooled = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ? 0 : 256;
#else
inline constexpr int kMaxPooled = 256;
#endif

/** For final classes: `class Endpoint final : public Pooled<Endpoint>`. Each thread keeps at most `kMaxPooled`. */
template <class Self>
class Pooled {
 public:
  static void* operator new(size_t size) {
    Spare& spare = spares();
    if (spare.first == nullptr) return ::operator new(size);
    Node* const node = spare.first;
    spare.first = node->next;
    spare.count--;
    return node;
  }
  static void operator delete(void* object) {
    Spare& spare = spares();
    if (spare.count >= kMaxPooled) return ::operator delete(object);
    spare.first = new (object) Node{spare.first};
    spare.count++;
  }

 private:
  struct Node {
    Node* next;
  };
  struct Spare {
    Node* first = nullptr;
    int count = 0;
    ~Spare() {
      count = kMaxPooled;  // stop pooling: the thread ends
      while (first != nullptr) {
        Node* const node = first;
        first = node->next;
        ::operator delete(node);
      }
    }
  };
  static Spare& spares() {
    thread_local Spare spare;
    return spare;
  }
};

}  // namespace sluice
