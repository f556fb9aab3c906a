// Counts that workers make together: each in its own part of the rows, then the counts of the parts are added up.
//
// A worker sees its part in all loops, and bitmaps that it made itself: no cache waits for another.
#pragma once

#include <vector>

#include "scores/counter.hpp"
#include "scores/workers.hpp"

namespace fedbn {

class Parts {
public:
    Parts(const Table& table, Workers& workers);

    /// Whether counting a set, or many P ∪ {y, x}, takes so long that workers may help.
    bool are_worth(std::span<const int> members) const;
    bool are_worth(int y, std::span<const int> parents, std::size_t xs) const;

    /// The counts of the cells of a set; nothing where they would be too many.
    std::span<const std::int32_t> count(std::span<const int> members, Cells& cells);

    /// Begin with (P, y) for the candidates xs together.
    void open(int y, std::span<const int> parents, std::span<const int> xs);
    /// Count P ∪ {y, x} for the first of these xs; returns for how many, 0 where the first needs a counter of all rows.
    std::size_t count_with(std::span<const int> xs);
    /// Of one of these x; threads may ask for one each, in cells of their own.
    void gather(std::size_t place, Cells& cells) const;
    /// The counts of P ∪ {y}, or of P.
    std::span<const std::int32_t> opened(bool with_y, Cells& cells) const;

private:
    struct alignas(kCacheLine) Part {
        Counter counter;
        Cells cells;
        Counter::Counts counts;           // of the xs, one after the other; of bitmaps for the configurations of the part
        std::vector<std::size_t> starts;  // of the counts of each x
        std::vector<int> places;          // of the part's configurations by bitmaps among all
    };

    void split_rows(Part& part) const;
    void count_in(Part& part, std::span<const int> xs) const;
    void find_configurations();
    void add_classes(bool bitmaps);
    std::span<std::int32_t> begin_sum(int x, Cells& cells) const;
    void add(const Part& part, bool bitmaps, const std::int32_t* counts, std::span<std::int32_t> sums) const;

    const Table& table_;
    Workers& workers_;
    std::vector<Part> parts_;

    // The context (P, y).
    int y_ = 0;
    bool wants_rows_ = false;                   // which are not split yet
    std::vector<std::int64_t> configurations_;  // observed in any part, ascending
    std::vector<std::int32_t> class_counts_;    // of these and the states of y
    std::vector<int> xs_;                       // that are counted
};

}  // namespace fedbn
