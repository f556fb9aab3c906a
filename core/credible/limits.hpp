// What ends a computation early: whoever started it says so, or its memory does not suffice.
#pragma once

#include <atomic>
#include <cstddef>
#include <stdexcept>

namespace fedbn {

/// A flag that another thread sets.
struct Stop {
    std::atomic<bool> set{false};
};

/// What Python sees as fedbn.credible.limits.DiagramLimit.
struct DiagramLimit : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Limits {
    std::size_t memory;  // bytes
    const Stop& stop;
    void require_time() const {
        if (stop.set.load(std::memory_order_relaxed)) throw DiagramLimit("stopped");
    }
};

}  // namespace fedbn
