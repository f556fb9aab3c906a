// Counts of the configurations of sets of variables: one set, or one with many additions.
#pragma once

#include <memory>

#include "scores/loops.hpp"
#include "scores/table.hpp"
#include "scores/workers.hpp"

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

/// Where one thread counts the cells of one set after the other.
struct Cells {
    explicit Cells(const Table& table);

    int x = 0;           // that was counted last,
    bool dense = false;  // in a dense table
    Scratch<std::int32_t> counts, margin;
    Scratch<std::int64_t> hash_keys;
    Scratch<std::int32_t> hash_labels;
};

class Counter {
public:
    explicit Counter(const Table& table);

    /// The counts of the cells of a set, in no particular order; valid until the next call.
    std::span<const std::int32_t> count(std::span<const int> members, Cells& cells, Workers* workers);

    /// Prepare what all pairs (P ∪ {y}, x) share, for the candidates xs together, with the help of workers if given.
    void open(int y, std::span<const int> parents, std::span<const int> xs, Cells& cells, Workers* workers);
    /// After `open`: the counts of P ∪ {y}, or of P; nothing where they would be too many.
    std::span<const std::int32_t> opened(bool with_y, Cells& cells) const;
    /// Whether counting a set of so many takes so long that workers may help.
    bool is_worth_threads(std::size_t members) const;
    /// Whether counting as many P ∪ {y, x} takes so long that workers may help.
    bool is_worth_threads(int y, std::span<const int> parents, std::size_t xs) const;
    /// After `open`: count P ∪ {y, x}; then `whole` and `margin`, which is without y, can be asked.
    void count_with(int x, Cells& cells) const;
    /// How many of the first of these xs `count_parts` can count together; 0 where the first needs `count_with`.
    std::size_t countable(std::span<const int> xs) const;
    /// After `open`: count P ∪ {y, x} for these xs, each worker in a part of the rows, which it sees in all loops: so no
    /// cache waits for another. Then threads may `gather` the counts of one x each, in cells of their own.
    void count_parts(std::span<const int> xs, Workers& workers);
    void gather(std::size_t place, Cells& cells) const;
    std::span<const std::int32_t> whole(Cells& cells) const;
    std::span<const std::int32_t> margin(Cells& cells) const;

private:
    using Counts = Scratch<std::int32_t>;

    // By bitmaps: AND and popcount over 64 rows at a time, for few configurations.
    bool split_bitmaps(Workers* workers);
    int split(int source, int number, int parent, Workers* workers);
    int intersect_class(int source, int c, int v, int state, int target, int place, std::size_t begin, std::size_t end);
    void intersect_all(int source, int number, int v, Workers* workers);
    std::size_t first_word(int part, int parts) const {
        return table_.words / loops::kWordsTogether * part / parts * loops::kWordsTogether;
    }
    void count_by_bitmaps(int x, const Counts& totals, std::size_t first_word, std::size_t words,
                          std::int32_t* cells) const;
    Word* class_bitmap(int buffer, int c) { return &bitmaps_[buffer][std::size_t(c) * table_.words]; }
    const Word* class_bitmap(int buffer, int c) const { return &bitmaps_[buffer][std::size_t(c) * table_.words]; }

    // By rows: every merged row has a class, cells are counted one row at a time.
    int index_rows(std::span<const int> members, Cells& cells, Workers* workers);
    int hash_column(const Column& column, Cells& cells);
    void split_rows(Cells& cells, Workers* workers);
    void for_each_block(Workers* workers, auto visit);
    void count_part(int x, int part, int parts, std::int32_t* cells) const;
    void give_rest_to_mode(int x, const Counts& totals, std::int32_t* cells) const;
    void visit_others(const Column& column, std::size_t begin, std::size_t end, std::int32_t* cells) const;
    int first_row(int part, int parts) const { return int(std::int64_t(table_.rows()) * part / parts); }
    std::span<const std::int32_t> count_hashed(int divisor, Cells& cells) const;

    std::size_t cells_with(int x) const { return std::size_t(classes_) * table_.columns[x].arity; }
    bool uses_bitmaps(int x) const { return with_bitmaps_ && (!with_rows_ || cost_by_bitmaps(x) <= cost_by_rows(x)); }
    bool is_dense(int x) const { return std::size_t(classes_) * table_.columns[x].arity <= limit_; }
    double cost_by_bitmaps(int x) const;
    double cost_by_rows(int x) const;

    const Table& table_;
    const std::size_t limit_;  // of the cells of a dense table

    // The context (P, y).
    int y_ = 0;
    std::span<const int> parents_;
    int classes_ = 0;  // observed configurations of P, times states of y
    bool with_bitmaps_ = false, with_rows_ = false;
    std::int64_t radix_ = 0;  // how many configurations there could be

    Counts row_class_, row_counts_;
    int max_classes_;
    Scratch<Word> bitmaps_[3];  // of the classes: result, and two steps of its making
    Scratch<std::int64_t> configurations_[3];
    Scratch<int> places_[3];  // of the bitmap of each class
    Counts class_counts_;

    // What workers counted in their parts of the rows.
    std::vector<int> part_xs_;
    std::vector<std::size_t> part_starts_;  // of the cells of each x
    std::vector<Counts> parts_, class_parts_;  // of the cells, and of the classes by bitmaps
};

}  // namespace fedbn
