// Threads that share the tasks of a job: run(n_tasks, n_threads, task) calls task(i) for every i from 0 to n_tasks.
//
// Helper threads start with the first job that needs them and sleep between jobs. There is one job at a time: a caller
// that finds the helpers busy, or cannot start any, works alone, so that no caller ever waits for another.
#pragma once
#include <atomic>
#include <exception>
#include <thread>
#include <utility>
#ifndef _WIN32
#include <pthread.h>
#endif

#include "electorate/array.hpp"

namespace electorate {

class Team {
 public:
  // The team of this process. It is never destroyed, for its helpers live until the process ends; a forked child, which
  // has none of these threads, forgets it and makes its own.
  static Team& here() {
    static_cast<void>(forgets);
    Team* team = current.load(std::memory_order_acquire);
    if (team == nullptr) {
      Team* mine = new Team;
      if (current.compare_exchange_strong(team, mine)) return *mine;
      delete mine;  // another thread was first
    }
    return *team;
  }

  // Call the tasks with at most so many helpers; false, with nothing done, if none are to be had. What a task throws
  // first, in any thread, is thrown here, and the tasks that nobody took by then are left.
  template <class F>
  bool share(i64 n_tasks, i64 n_helpers, F& task) {
    if (busy.exchange(true, std::memory_order_acquire)) return false;
    n_helpers = start(n_helpers);
    std::exception_ptr thrown;
    if (n_helpers > 0) {
      call = [](void* what, i64 i) { (*static_cast<F*>(what))(i); };
      called = &task;
      total = n_tasks;
      next.store(0, std::memory_order_relaxed);
      failed.store(false, std::memory_order_relaxed);
      finished.store(0, std::memory_order_relaxed);
      seats.store(static_cast<u32>(n_helpers), std::memory_order_release);
      wake(n_helpers);
      take_tasks();
      // Whoever has not come by now need not come: there are no tasks left.
      const u32 joined = static_cast<u32>(n_helpers) - seats.exchange(0, std::memory_order_relaxed);
      look([&] { return finished.load(std::memory_order_relaxed) == joined; });
      for (u32 n; (n = finished.load(std::memory_order_acquire)) != joined;) finished.wait(n, std::memory_order_acquire);
      thrown = std::exchange(error, nullptr);
    }
    busy.store(false, std::memory_order_release);
    if (thrown) std::rethrow_exception(thrown);
    return n_helpers > 0;
  }

 private:
  static inline std::atomic<Team*> current{nullptr};
#ifdef _WIN32
  static constexpr int forgets = 0;
#else
  static inline const int forgets = pthread_atfork(nullptr, nullptr, [] { current.store(nullptr, std::memory_order_relaxed); });
#endif

  static constexpr int looks = 1000;
  std::atomic<bool> busy{false};
  i64 n_started = 0;
  // The job. It is written while there are no seats, and read by those who took one.
  void (*call)(void*, i64) = nullptr;
  void* called = nullptr;
  i64 total = 0;
  std::exception_ptr error;
  std::atomic<bool> failed{false};
  alignas(64) std::atomic<i64> next{0};  // the first task that nobody took
  alignas(64) std::atomic<u32> seats{0};  // how many helpers may still join; they sleep while it is 0
  alignas(64) std::atomic<u32> finished{0};  // how many have joined and found no more tasks

  // Have so many helpers, or as many as may be started; return how many of them there are.
  i64 start(i64 n_helpers) {
    try {
      for (; n_started < n_helpers; n_started++) std::thread(&Team::serve, this).detach();
    } catch (const std::exception&) {  // no permission, or no memory, for more threads
    }
    return least(n_started, n_helpers);
  }

  // Wait some 0.3 ms, offering the core to other threads, before sleeping: waking up takes longer than most jobs of a
  // round are apart.
  template <class F>
  static void look(F is_there) {
    for (int k = 0; k < looks && !is_there(); k++) std::this_thread::yield();
  }

  void wake(i64 n_helpers) {
    if (n_helpers == n_started) return seats.notify_all();
    for (i64 k = 0; k < n_helpers; k++) seats.notify_one();
  }

  void serve() {
    for (;;) {
      look([this] { return seats.load(std::memory_order_relaxed) > 0; });
      u32 n = seats.load(std::memory_order_relaxed);
      if (n == 0) {
        seats.wait(0, std::memory_order_relaxed);
      } else if (seats.compare_exchange_weak(n, n - 1, std::memory_order_acquire, std::memory_order_relaxed)) {
        take_tasks();
        finished.fetch_add(1, std::memory_order_release);
        finished.notify_one();
      }
    }
  }

  void take_tasks() {
    const i64 n = total;
    for (i64 i; (i = next.fetch_add(1, std::memory_order_relaxed)) < n;) {
      try {
        call(called, i);
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
        next.store(n, std::memory_order_relaxed);
      }
    }
  }
};

template <class F>
void run(i64 n_tasks, i64 n_threads, F task) {
  const i64 n_helpers = least(n_tasks, n_threads) - 1;
  if (n_helpers > 0 && Team::here().share(n_tasks, n_helpers, task)) return;
  for (i64 i = 0; i < n_tasks; i++) task(i);
}

}  // namespace electorate
