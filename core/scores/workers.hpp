// Threads that share the turns of a loop.
//
// They belong to one score, wait between its loops, and end with it. What a turn computes must not depend on who takes
// it: then the result has the same bytes with any number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace fedbn {

/// What one thread writes often shall be in no line that another reads.
constexpr std::size_t kCacheLine = 64;

class Workers {
public:
    /// threads: at least 1, with that of the caller.
    explicit Workers(int threads);
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    int threads() const { return static_cast<int>(threads_.size()) + 1; }

    /// turn(worker, i) once for each i from 0 to below `turns`. A worker, from 0 to below threads(), has one turn at a
    /// time; the caller is worker 0, and takes all of them if no other thread is free. Of what turns throw the first
    /// is thrown again, after all of them.
    void share(int turns, const auto& turn) {
        using Turn = const std::remove_cvref_t<decltype(turn)>;
        run(turns, [](const void* of, int worker, int i) { (*static_cast<Turn*>(of))(worker, i); }, &turn);
    }

    /// The same of turns so short that a thread takes some that follow one another together.
    void share_in_blocks(int turns, const auto& turn) {
        const int size = std::max(1, turns / (kBlocks * threads()));
        share((turns + size - 1) / size, [&](int worker, int block) {
            for (int i = block * size; i < std::min(turns, (block + 1) * size); ++i) turn(worker, i);
        });
    }

private:
    static constexpr int kBlocks = 8;  // for each thread
    using Call = void (*)(const void*, int, int);

    void run(int turns, Call call, const void* of);
    void serve(int worker);
    bool take_turn(int worker, std::uint64_t& offered);

    // The number of the loop in the upper half, how many of its turns nobody took in the lower one. A turn that was
    // taken keeps the loop from ending, so its fields are read after that only.
    alignas(kCacheLine) std::atomic<std::uint64_t> offered_{0};
    int turns_ = 0;
    Call call_ = nullptr;
    const void* of_ = nullptr;
    std::atomic<bool> ended_{false};
    alignas(kCacheLine) std::atomic<int> unfinished_{0};
    std::atomic<bool> failed_{false};
    std::exception_ptr failure_;
    std::vector<std::thread> threads_;
};

/// turn(i) once for each i from 0 to below `turns`, by the workers if there are any.
void share(Workers* workers, int turns, const auto& turn) {
    if (workers) return workers->share(turns, [&](int, int i) { turn(i); });
    for (int i = 0; i < turns; ++i) turn(i);
}

/// None where the caller is alone.
inline std::unique_ptr<Workers> workers_of(int threads) {
    return threads > 1 ? std::make_unique<Workers>(threads) : nullptr;
}

}  // namespace fedbn
