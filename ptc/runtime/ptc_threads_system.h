// Threads, locks and conditions of the system, for the one unit that implements the pool.
#ifndef PTC_THREADS_SYSTEM_H
#define PTC_THREADS_SYSTEM_H

#include <stdint.h>
#include <stdlib.h>

#if defined(_WIN32)

#include "ptc_windows.h"

namespace ptc {
namespace detail {

typedef SRWLOCK Lock;
typedef CONDITION_VARIABLE Condition;
typedef HANDLE Thread;

#define PTC_LOCK_INITIALIZER SRWLOCK_INIT

static inline void lock_init(Lock* lock) { InitializeSRWLock(lock); }
static inline void lock_destroy(Lock*) {}
static inline void lock_take(Lock* lock) { AcquireSRWLockExclusive(lock); }
static inline void lock_release(Lock* lock) { ReleaseSRWLockExclusive(lock); }
static inline void condition_init(Condition* condition) { InitializeConditionVariable(condition); }
static inline void condition_destroy(Condition*) {}
static inline void condition_wait(Condition* condition, Lock* lock) {
  SleepConditionVariableSRW(condition, lock, INFINITE, 0);
}
static inline void condition_wake_all(Condition* condition) { WakeAllConditionVariable(condition); }

struct ThreadStart {
  void (*run)(void*);
  void* argument;
};
static DWORD WINAPI run_thread(void* given) {
  const ThreadStart start = *(ThreadStart*)given;
  free(given);
  start.run(start.argument);
  return 0;
}
static inline bool thread_start(Thread* thread, void (*run)(void*), void* argument) {
  ThreadStart* start = (ThreadStart*)malloc(sizeof(ThreadStart));
  if (!start) return false;
  *start = {run, argument};
  *thread = CreateThread(nullptr, 0, run_thread, start, 0, nullptr);
  if (!*thread) free(start);
  return *thread != nullptr;
}
static inline void thread_join(Thread thread) {
  WaitForSingleObject(thread, INFINITE);
  CloseHandle(thread);
}
static inline int processor_count() { return (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS); }

// Signals of the application's that helpers must not take: there are none.
struct SignalsBlocked {};

static inline bool call_after_fork(void (*)()) { return true; }

}  // namespace detail
}  // namespace ptc

#else

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace ptc {
namespace detail {

typedef pthread_mutex_t Lock;
typedef pthread_cond_t Condition;
typedef pthread_t Thread;

#define PTC_LOCK_INITIALIZER PTHREAD_MUTEX_INITIALIZER

static inline void lock_init(Lock* lock) { pthread_mutex_init(lock, nullptr); }
static inline void lock_destroy(Lock* lock) { pthread_mutex_destroy(lock); }
static inline void lock_take(Lock* lock) { pthread_mutex_lock(lock); }
static inline void lock_release(Lock* lock) { pthread_mutex_unlock(lock); }
static inline void condition_init(Condition* condition) { pthread_cond_init(condition, nullptr); }
static inline void condition_destroy(Condition* condition) { pthread_cond_destroy(condition); }
static inline void condition_wait(Condition* condition, Lock* lock) { pthread_cond_wait(condition, lock); }
static inline void condition_wake_all(Condition* condition) { pthread_cond_broadcast(condition); }

struct ThreadStart {
  void (*run)(void*);
  void* argument;
};
static void* run_thread(void* given) {
  const ThreadStart start = *(ThreadStart*)given;
  free(given);
  start.run(start.argument);
  return nullptr;
}
static inline bool thread_start(Thread* thread, void (*run)(void*), void* argument) {
  ThreadStart* start = (ThreadStart*)malloc(sizeof(ThreadStart));
  if (!start) return false;
  *start = {run, argument};
  const bool started = pthread_create(thread, nullptr, run_thread, start) == 0;
  if (!started) free(start);
  return started;
}
static inline void thread_join(Thread thread) { pthread_join(thread, nullptr); }
static inline int processor_count() { return (int)sysconf(_SC_NPROCESSORS_ONLN); }

// Helpers take no signals: those are the application's business. They inherit what is blocked while they start.
struct SignalsBlocked {
  sigset_t before;
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
};

static inline bool call_after_fork(void (*function)()) {
  return pthread_atfork(nullptr, nullptr, function) == 0;
}

}  // namespace detail
}  // namespace ptc

#endif

#endif
