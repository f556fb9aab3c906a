// Counts of the configurations of sets of variables: one set, or one with many additions.
#pragma once

#include <memory>

#include "scores/table.hpp"

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

class Counter {
public:
    explicit Counter(const Table& table);

    /// The counts of the cells of a set, in no particular order; valid until the next call.
    std::span<const std::int32_t> count(std::span<const int> members);

    /// Prepare what all pairs (P ∪ {y}, x) share, for the candidates xs together.
    void open(int y, std::span<const int> parents, std::span<const int> xs);
    /// After `open`: count P ∪ {y, x}; then `whole` and `margin`, which is without y, can be asked.
    void count_with(int x);
    std::span<const std::int32_t> whole();
    std::span<const std::int32_t> margin();

private:
    using Counts = Scratch<std::int32_t>;

    // By bitmaps: AND and popcount over 64 rows at a time, for few configurations.
    bool split_bitmaps();
    int split(int source, int number, int parent);
    void count_by_bitmaps(int x);
    Word* class_bitmap(int buffer, int c) { return &bitmaps_[buffer][std::size_t(c) * table_.words]; }

    // By rows: every merged row has a class, cells are counted one row at a time.
    int index_rows(std::span<const int> members);
    int hash_column(const Column& column);
    void split_rows();
    void count_by_rows(int x);
    std::span<const std::int32_t> count_hashed(int x, int divisor);

    double cost_by_bitmaps(int x) const;
    double cost_by_rows(int x) const;

    const Table& table_;
    const std::size_t limit_;  // of the cells of a dense table

    // The context (P, y).
    int y_ = 0, x_ = 0;
    std::span<const int> parents_;
    int classes_ = 0;  // observed configurations of P, times states of y
    bool with_bitmaps_ = false, with_rows_ = false, dense_ = false;
    std::int64_t radix_ = 0;  // how many configurations there could be

    Counts row_class_, row_counts_, cells_, margin_;
    Scratch<std::int64_t> hash_keys_;
    Counts hash_labels_;
    int max_classes_;
    Scratch<Word> bitmaps_[3];  // of the classes: result, and two steps of its making
    Scratch<std::int64_t> configurations_[3];
    Counts class_counts_;
};

}  // namespace fedbn
