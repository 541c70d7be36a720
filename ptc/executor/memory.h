// The memory of a session: blocks of size classes that are kept when they are free, so that a run takes nothing from the
// system once its first iteration has. Counted, limited, safe to give blocks back to from any thread.
#ifndef PTC_EXECUTOR_MEMORY_H
#define PTC_EXECUTOR_MEMORY_H

#include "tensor.h"

namespace ptc::exec {

class Memory {
 public:
  // `limit`: bytes that live blocks may have together.
  static Memory* create(int64_t limit);
  // The creator's hold; blocks that still live keep the memory until they are freed.
  void release();

  StorageRef allocate(int64_t bytes);
  int64_t peak() const { return peak_; }
  int64_t in_use() const { return in_use_; }
  void free_block(Storage* block);

 private:
  static constexpr int kClasses = 4 * 48;
  explicit Memory(int64_t limit) : limit_(limit) {}
  ~Memory();
  void drop_free_blocks();
  void lock() { while (busy_.test_and_set(std::memory_order_acquire)) {} }
  void unlock() { busy_.clear(std::memory_order_release); }

  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  int64_t limit_, in_use_ = 0, peak_ = 0, kept_ = 0;
  int64_t holders_ = 1;  // the creator and every live block
  Storage* free_[kClasses] = {};
};

// While it lives, tensors made on this thread come from `memory`.
class MemoryScope {
 public:
  explicit MemoryScope(Memory* memory);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

 private:
  Memory* before_;
};

// A storage over memory of somebody else, which outlives it.
StorageRef borrow_storage(void* data, int64_t bytes);

}  // namespace ptc::exec

#endif
