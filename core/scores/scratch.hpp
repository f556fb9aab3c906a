// Memory for results that are written before they are read.
#pragma once

#include <memory>
#include <vector>

namespace fedbn {

/// A vector whose new elements have no value yet: memory that is not needed is not touched.
template <class T>
struct WithoutValue : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = WithoutValue<U>;
    };
    template <class U>
    void construct(U* place) { ::new (static_cast<void*>(place)) U; }
};
template <class T>
using Scratch = std::vector<T, WithoutValue<T>>;

}  // namespace fedbn
