// Counts of the configurations of sets of variables: one set, or one with many additions.
#pragma once

#include "scores/loops.hpp"
#include "scores/scratch.hpp"
#include "scores/table.hpp"

namespace fedbn {

/// Where one thread has the cells of one set after the other.
struct Cells {
    explicit Cells(const Table& table);

    /// The counts of P ∪ {y, x}, or without y, where they are in a dense table.
    std::span<const std::int32_t> whole() const;
    std::span<const std::int32_t> without_y();

    bool dense = false;
    int configurations = 0, r_y = 0, r_x = 0;  // the table is [configurations of P, r_y, r_x]
    Scratch<std::int32_t> counts, margin;
    Scratch<std::int64_t> hash_keys;
    Scratch<std::int32_t> hash_labels;
};

/// The rows that a counter sees: words of the bitmaps, and merged rows.
struct RowRange {
    std::size_t first_word, words;
    int first, number;
};

/// One of several parts of all rows, about as large as the others. Where equal rows are merged its bitmaps have other
/// rows than its merged rows are; over all parts they are the same.
RowRange part_of(const Table& table, int part, int parts);

class Counter {
public:
    using Counts = Scratch<std::int32_t>;
    using Configurations = std::span<const std::int64_t>;

    Counter(const Table& table, RowRange rows);

    /// The counts of the cells of a set, in no particular order; valid until the next call.
    std::span<const std::int32_t> count(std::span<const int> members, Cells& cells);
    /// Whether that is faster by bitmaps, as the last member with the others; else the cells have the numbers of
    /// their configurations, unless these would be too many.
    bool splits(std::span<const int> members) const;
    std::span<const std::int32_t> count_split(std::span<const int> members, Cells& cells);
    std::span<const std::int32_t> count_rows(std::span<const int> members, Cells& cells);

    /// Prepare what all pairs (P ∪ {y}, x) share, for the candidates xs together.
    void open(int y, std::span<const int> parents, std::span<const int> xs, Cells& cells);
    /// After `open`: the counts of P ∪ {y}, or of P; nothing where they would be too many.
    std::span<const std::int32_t> opened(bool with_y, Cells& cells) const;
    /// After `open`: count P ∪ {y, x}; then `whole` and `without_y` can be asked.
    void count_with(int x, Cells& cells) const;
    std::span<const std::int32_t> whole(int x, Cells& cells) const;
    std::span<const std::int32_t> without_y(int x, Cells& cells) const;

    // The steps of these, for several counters whose counts are added up: all must count an x in the same way, as merged
    // rows of a part are not the rows of its bitmaps.

    /// Split the rows by bitmaps; whether there are few enough classes for that.
    bool split_bitmaps(int y, std::span<const int> parents);
    void leave_bitmaps() { with_bitmaps_ = false; }
    /// Whether it pays to split merged rows, too.
    bool wants_rows(std::span<const int> xs);
    /// The number of the configuration of P of every merged row, and those that there are.
    void index_rows(Cells& cells) { row_range_ = index_rows(parents_, cells); }
    void observe_configurations(Cells& cells);
    /// So many configurations have classes; false for too many.
    bool begin_rows(std::size_t configurations);
    /// The class of every merged row that is indexed, where its configuration is one of these.
    void split_rows(Configurations observed, Cells& cells);
    void count_classes();
    bool has_bitmaps() const { return with_bitmaps_; }
    bool uses_bitmaps(int x) const { return with_bitmaps_ && (!with_rows_ || cost_by_bitmaps(x) <= cost_by_rows(x)); }
    /// The cells of P ∪ {y, x}: [observed configuration of P, state of y, state of x].
    std::size_t cells_with(int x, bool bitmaps) const { return std::size_t(classes(bitmaps)) * table_.columns[x].arity; }
    bool is_dense(int x, bool bitmaps) const { return cells_with(x, bitmaps) <= limit_; }
    /// All but those of the mode of x, which are 0: `count_modes` says what the others leave of each class.
    void count_others(int x, bool bitmaps, std::int32_t* cells) const;
    void count_modes(int x, std::span<const std::int32_t> class_counts, std::int32_t* cells) const;
    /// Whether every configuration of P has a number that says what it is.
    bool has_numbers() const { return radix_ <= std::int64_t(limit_); }
    /// The numbers of the observed ones, ascending, and the counts of each with each state of y.
    Configurations configurations(bool bitmaps) const;
    std::span<const std::int32_t> class_counts(bool bitmaps) const;

    /// How long it takes to count a set, or many P ∪ {y, x}, in visited rows; some nanoseconds each.
    double cost(std::span<const int> members) const;
    double cost(int y, std::span<const int> parents, std::size_t xs) const;

private:
    // By bitmaps: AND and popcount over 64 rows at a time, for few configurations.
    int split(int source, int number, int parent);
    int intersect_class(int source, int c, int v, int state, int target, int place);
    void count_by_bitmaps(int x, std::int32_t* cells) const;
    const Word* bitmap(int v, int state) const { return table_.bitmap(v, state) + rows_.first_word; }
    Word* class_bitmap(int buffer, int c) { return &bitmaps_[buffer][std::size_t(c) * rows_.words]; }
    const Word* class_bitmap(int buffer, int c) const { return &bitmaps_[buffer][std::size_t(c) * rows_.words]; }

    // By rows: every merged row has a class, cells are counted one row at a time.
    int index_rows(std::span<const int> members, Cells& cells);
    void split_rows(Cells& cells);
    int hash_column(const Column& column, Cells& cells);
    void count_by_rows(int x, std::int32_t* cells) const;
    std::span<const std::int32_t> count_hashed(int x, int divisor, Cells& cells) const;
    const std::uint16_t* codes(int v) const { return table_.columns[v].codes.data() + rows_.first; }
    const std::int32_t* weights() const { return table_.weights.data() + rows_.first; }

    int classes(bool by_bitmaps) const { return by_bitmaps ? bitmap_classes_ : row_classes_; }
    double cost_of_splitting(std::span<const int> members) const;
    double cost_by_bitmaps(int x) const;
    double cost_by_rows(int x) const;

    const Table& table_;
    const RowRange rows_;
    const std::size_t limit_;  // of the cells of a dense table
    struct Others { std::size_t begin, end; };
    std::vector<Others> others_;  // of each column, those that are among the rows

    // The context (P, y).
    int y_ = 0;
    std::span<const int> parents_;
    bool with_bitmaps_ = false, with_rows_ = false;
    std::int64_t radix_ = 0;  // how many configurations there could be
    int bitmap_classes_ = 0, row_classes_ = 0;  // observed configurations of P, times states of y
    int row_range_ = 0;                         // of the numbers of configurations before only the observed have one

    Counts row_class_, row_counts_;
    std::vector<std::int64_t> row_configurations_;
    int max_classes_;
    Scratch<Word> bitmaps_[3];  // of the classes: result, and two steps of its making
    Scratch<std::int64_t> configurations_[3];
    Counts class_counts_;
};

}  // namespace fedbn
