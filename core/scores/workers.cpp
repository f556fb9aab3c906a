#include "scores/workers.hpp"

#include <utility>

namespace fedbn {

namespace {

constexpr std::uint64_t kLoop = std::uint64_t{1} << 32;
constexpr int kPauses = 1000;  // some ten microseconds, before a thread that waits makes room for others,
constexpr int kLooks = 1500;   // and some hundred, before it goes to sleep

std::uint32_t left_of(std::uint64_t offered) { return static_cast<std::uint32_t>(offered); }

void pause(int looks) {
    if (looks > kPauses) return std::this_thread::yield();
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_ia32_pause();
#endif
}

}  // namespace

Workers::Workers(int threads) {
    for (int worker = 1; worker < threads; ++worker)
        threads_.emplace_back([this, worker] { serve(worker); });
}

Workers::~Workers() {
    ended_.store(true);
    offered_.fetch_add(kLoop);
    offered_.notify_all();
    for (auto& thread : threads_) thread.join();
}

/// One of the turns that are offered; false if it was taken by another thread.
bool Workers::take_turn(int worker, std::uint64_t& offered) {
    if (!offered_.compare_exchange_weak(offered, offered - 1, std::memory_order_acq_rel)) return false;
    try {
        call_(of_, worker, turns_ - static_cast<int>(left_of(offered)));
    } catch (...) {
        if (!failed_.exchange(true)) failure_ = std::current_exception();
    }
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
    return true;
}

void Workers::run(int turns, Call call, const void* of) {
    if (turns <= 0) return;
    turns_ = turns, call_ = call, of_ = of;
    unfinished_.store(turns, std::memory_order_relaxed);
    auto offered = (offered_.load(std::memory_order_relaxed) & ~(kLoop - 1)) + kLoop + std::uint64_t(turns);
    offered_.store(offered, std::memory_order_release);
    if (!threads_.empty()) offered_.notify_all();
    while (left_of(offered) > 0)
        if (take_turn(0, offered)) offered = offered_.load(std::memory_order_acquire);
    int left = unfinished_.load(std::memory_order_acquire);
    for (int looks = 0; left > 0; left = unfinished_.load(std::memory_order_acquire))
        if (++looks < kLooks)
            pause(looks);
        else
            unfinished_.wait(left, std::memory_order_acquire);
    if (failed_.exchange(false)) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Workers::serve(int worker) {
    int looks = 0;
    while (!ended_.load()) {
        auto offered = offered_.load(std::memory_order_acquire);
        if (left_of(offered) > 0) {
            take_turn(worker, offered);
            looks = 0;
        } else if (++looks < kLooks) {
            pause(looks);
        } else {
            offered_.wait(offered, std::memory_order_acquire);
            looks = 0;
        }
    }
}

}  // namespace fedbn
