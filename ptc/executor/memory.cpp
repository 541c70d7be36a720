#include "memory.h"

#include <stdlib.h>

#include <new>

namespace ptc::exec {

// A block: this head, padded to 64 bytes, the data, and room for vector loads behind the end.
constexpr int64_t kHead = 128, kTail = 64, kAlign = 64;
static_assert(sizeof(Storage) <= kHead, "the head of a block holds a Storage");

static thread_local Memory* current_memory = nullptr;

MemoryScope::MemoryScope(Memory* memory) : before_(current_memory) { current_memory = memory; }
MemoryScope::~MemoryScope() { current_memory = before_; }

// Four classes for each power of two from 256 on: at most a fifth of a block is unused.
static int class_of(int64_t bytes, int64_t* rounded) {
  if (bytes < 256) bytes = 256;
  const int power = 63 - __builtin_clzll((unsigned long long)(bytes - 1) | 255);  // 2^power < bytes <= 2^(power+1)
  const int64_t step = (int64_t)1 << (power > 2 ? power - 2 : 0);
  const int64_t base = (int64_t)1 << power;
  int64_t steps = (bytes - base + step - 1) / step;
  if (steps < 0) steps = 0;
  *rounded = base + steps * step;
  return (power - 7) * 4 + (int)steps;
}

static Storage* take_from_system(int64_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlign, (size_t)(kHead + bytes + kTail)) != 0) return nullptr;
  Storage* block = new (memory) Storage;
  block->bytes = bytes;
  block->data = (char*)memory + kHead;
  return block;
}

static void give_to_system(Storage* block) {
  block->~Storage();
  free((void*)block);
}

Memory* Memory::create(int64_t limit) { return new Memory(limit); }
Memory::~Memory() { drop_free_blocks(); }

void Memory::drop_free_blocks() {
  for (Storage*& head : free_)
    while (head) {
      Storage* next = head->next_free;
      give_to_system(head);
      head = next;
    }
  kept_ = 0;
}

void Memory::release() {
  lock();
  const bool last = --holders_ == 0;
  unlock();
  if (last) delete this;
}

StorageRef Memory::allocate(int64_t bytes) {
  if (bytes < 0 || bytes > limit_)
    fail_with(Status::Memory, "a tensor of %lld bytes: the limit is %lld", (long long)bytes, (long long)limit_);
  int64_t rounded;
  const int size_class = class_of(bytes, &rounded);
  lock();
  Storage* block = size_class < kClasses ? free_[size_class] : nullptr;
  const bool fits = in_use_ + rounded <= limit_;
  if (block && fits) {
    free_[size_class] = block->next_free;
    kept_ -= rounded;
  } else if (fits) {
    if (in_use_ + kept_ + rounded > limit_) drop_free_blocks();
    block = take_from_system(rounded);
    if (!block) {
      drop_free_blocks();
      block = take_from_system(rounded);
    }
  } else {
    block = nullptr;
  }
  if (block) {
    in_use_ += rounded;
    if (in_use_ > peak_) peak_ = in_use_;
    ++holders_;
  }
  unlock();
  if (!block)
    fail_with(Status::Memory, "no memory for %lld bytes: %lld are in use, the limit is %lld", (long long)bytes,
              (long long)in_use_, (long long)limit_);
  block->references.store(1, std::memory_order_relaxed);
  block->owner = this;
  block->size_class = size_class;
  block->next_free = nullptr;
  return StorageRef(block);
}

void Memory::free_block(Storage* block) {
  lock();
  in_use_ -= block->bytes;
  const bool last = --holders_ == 0;
  if (block->size_class < kClasses) {
    block->next_free = free_[block->size_class];
    free_[block->size_class] = block;
    kept_ += block->bytes;
    block = nullptr;
  }
  unlock();
  if (block) give_to_system(block);
  if (last) delete this;
}

void free_storage(Storage* storage) {
  if (storage->owner) {
    storage->owner->free_block(storage);
  } else if (storage->borrowed) {
    delete storage;
  } else {
    give_to_system(storage);
  }
}

StorageRef allocate_storage(int64_t bytes) {
  if (current_memory) return current_memory->allocate(bytes);
  Storage* block = bytes < 0 ? nullptr : take_from_system(bytes);
  if (!block) fail_with(Status::Memory, "no memory for %lld bytes", (long long)bytes);
  return StorageRef(block);
}

StorageRef borrow_storage(void* data, int64_t bytes) {
  Storage* storage = new Storage;
  storage->borrowed = true;
  storage->data = (char*)data;
  storage->bytes = bytes;
  return StorageRef(storage);
}

}  // namespace ptc::exec
