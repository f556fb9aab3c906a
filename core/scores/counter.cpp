#include "scores/counter.hpp"

#include "scores/loops.hpp"

namespace fedbn {

namespace {

constexpr double kWordCost = 0.085;  // AND and popcount of one word, in visited rows
constexpr double kSplitCost = 0.6, kIndexCost = 0.2;  // classes of rows, per row and parent
constexpr std::size_t kLeastCells = 4096;
constexpr int kMostClasses = 192;
constexpr std::size_t kClassBytes = 8 << 20;

std::size_t hash_of(std::int64_t key) { return (Word(key) * 0x9E3779B97F4A7C15) >> 20; }

}  // namespace

Counter::Counter(const Table& table)
    : table_(table),
      limit_(std::max(kLeastCells, 4 * std::size_t(table.rows()))),
      row_class_(table.rows()),
      row_counts_(limit_),
      cells_(limit_),
      margin_(limit_),
      hash_keys_(std::bit_ceil(std::max(16u, 2u * table.rows()))),
      hash_labels_(hash_keys_.size()),
      max_classes_(table.words ? int(std::min<std::size_t>(kMostClasses, kClassBytes / (8 * table.words))) : 0),
      class_counts_(max_classes_) {
    for (auto& bitmaps : bitmaps_) bitmaps.resize(std::size_t(max_classes_) * table.words);
    for (auto& configurations : configurations_) configurations.resize(max_classes_);
}

std::span<const std::int32_t> Counter::count(std::span<const int> members) {
    const auto cells = std::span(cells_).first(index_rows(members));
    std::ranges::fill(cells, 0);
    for (int i = 0; i < table_.rows(); ++i) cells[row_class_[i]] += table_.weights[i];
    return cells;
}

void Counter::open(int y, std::span<const int> parents, std::span<const int> xs) {
    y_ = y, parents_ = parents;
    with_rows_ = false;
    with_bitmaps_ = split_bitmaps();
    if (with_bitmaps_) {  // rows too, if they will pay
        double saved = -table_.rows() * (kSplitCost + parents.size() * kIndexCost);
        for (int x : xs) saved += std::max(0.0, cost_by_bitmaps(x) - cost_by_rows(x));
        if (saved <= 0) return;
    }
    split_rows();
}

void Counter::count_with(int x) {
    x_ = x;
    dense_ = std::size_t(classes_) * table_.columns[x].arity <= limit_;
    if (!dense_) {
        if (!with_rows_) split_rows();
    } else if (with_bitmaps_ && (!with_rows_ || cost_by_bitmaps(x) <= cost_by_rows(x))) {
        count_by_bitmaps(x);
    } else {
        count_by_rows(x);
    }
}

std::span<const std::int32_t> Counter::whole() {
    if (!dense_) return count_hashed(x_, 1);
    return std::span(cells_).first(std::size_t(classes_) * table_.columns[x_].arity);
}

std::span<const std::int32_t> Counter::margin() {
    const int r_y = table_.columns[y_].arity, r_x = table_.columns[x_].arity;
    if (!dense_) return count_hashed(x_, r_y);
    const int configurations = classes_ / r_y;
    for (int j = 0; j < configurations; ++j)
        for (int state = 0; state < r_x; ++state) {
            const auto* cell = &cells_[std::size_t(j) * r_y * r_x + state];
            std::int32_t total = 0;
            for (int k = 0; k < r_y; ++k) total += cell[k * r_x];
            margin_[std::size_t(j) * r_x + state] = total;
        }
    return std::span(margin_).first(std::size_t(configurations) * r_x);
}

double Counter::cost_by_bitmaps(int x) const {
    return double(classes_) * (table_.columns[x].arity - 1) * (1.0 + kWordCost * table_.words);
}

double Counter::cost_by_rows(int x) const {
    return double(table_.columns[x].other_rows.size()) + double(classes_) * table_.columns[x].arity;
}

/// A bitmap per (configuration of P, state of y), observed configurations only, ascending; false
/// where there are too many of them for bitmaps to pay.
bool Counter::split_bitmaps() {
    const int arity = table_.columns[y_].arity;
    if (max_classes_ / arity == 0) return false;
    std::fill_n(class_bitmap(1, 0), table_.words, ~Word{0});
    configurations_[1][0] = 0;
    int number = 1, source = 1;
    radix_ = 1;
    for (int p : parents_) {
        number = split(source, number, p);
        if (number < 0) return false;
        source = 3 - source;
        radix_ = std::min<std::int64_t>(radix_ * table_.columns[p].arity, limit_ + 1);
    }
    for (int c = 0; c < number; ++c) {
        configurations_[0][c] = configurations_[source][c];
        for (int state = 0; state < arity; ++state)
            class_counts_[c * arity + state] =
                loops::intersect(class_bitmap(source, c), table_.bitmap(y_, state), table_.words,
                                 class_bitmap(0, c * arity + state));
    }
    classes_ = number * arity;
    return true;
}

/// Divide the classes of step `source` by the states of a parent; returns how many, -1 for too many.
int Counter::split(int source, int number, int parent) {
    const int target = 3 - source, arity = table_.columns[parent].arity;
    const int room = max_classes_ / table_.columns[y_].arity;
    int found = 0;
    for (int c = 0; c < number; ++c)
        for (int state = 0; state < arity; ++state) {
            if (found == room) return -1;
            if (loops::intersect(class_bitmap(source, c), table_.bitmap(parent, state), table_.words,
                                 class_bitmap(target, found)))
                configurations_[target][found++] = configurations_[source][c] * arity + state;
        }
    return found;
}

/// The mode gets what the other states leave.
void Counter::count_by_bitmaps(int x) {
    const auto& column = table_.columns[x];
    for (int c = 0; c < classes_; ++c) {
        int rest = class_counts_[c];
        auto* cells = &cells_[std::size_t(c) * column.arity];
        for (int state = 0; state < column.arity; ++state) {
            cells[state] = rest > 0 && state != column.mode
                               ? loops::count_common(class_bitmap(0, c), table_.bitmap(x, state), table_.words)
                               : 0;
            rest -= cells[state];
        }
        cells[column.mode] = rest;
    }
}

/// row_class := configuration of the members for every merged row; returns the range. They are
/// numbered by mixed radix while that fits, and by hashing the observed ones beyond.
int Counter::index_rows(std::span<const int> members) {
    std::size_t size = 1;
    std::ranges::fill(row_class_, 0);
    for (int v : members) {
        const auto& column = table_.columns[v];
        if (size * column.arity > limit_) {
            size = hash_column(column);
        } else {
            loops::append_digit(row_class_, column.codes.data(), column.arity);
            size *= column.arity;
        }
    }
    return static_cast<int>(size);
}

int Counter::hash_column(const Column& column) {
    const std::size_t mask = hash_keys_.size() - 1;
    std::ranges::fill(hash_keys_, -1);
    int labels = 0;
    for (int i = 0; i < table_.rows(); ++i) {
        const auto key = std::int64_t(row_class_[i]) * column.arity + column.codes[i];
        std::size_t slot = hash_of(key) & mask;
        while (hash_keys_[slot] != key && hash_keys_[slot] >= 0) slot = (slot + 1) & mask;
        if (hash_keys_[slot] < 0) {
            hash_keys_[slot] = key;
            hash_labels_[slot] = labels++;
        }
        row_class_[i] = hash_labels_[slot];
    }
    return labels;
}

/// row_class := class (observed configuration of P, state of y) of every merged row; row_counts :=
/// rows per class. Where there are bitmaps both are known.
void Counter::split_rows() {
    const auto& column = table_.columns[y_];
    const int size = index_rows(parents_);
    const bool known = with_bitmaps_ && radix_ == size;
    with_rows_ = true;
    auto& number = cells_;
    if (known) {
        for (int c = 0; c < classes_ / column.arity; ++c)
            number[configurations_[0][c]] = c;
    } else {
        std::fill_n(number.begin(), size, -1);
        int found = 0;
        for (auto c : row_class_)
            if (number[c] < 0) number[c] = found++;
        classes_ = found * column.arity;
    }
    loops::renumber(row_class_, number.data(), column.codes.data(), column.arity);
    if (known) {
        std::copy_n(class_counts_.begin(), classes_, row_counts_.begin());
    } else if (std::size_t(classes_) <= limit_) {
        std::fill_n(row_counts_.begin(), classes_, 0);
        for (int i = 0; i < table_.rows(); ++i) row_counts_[row_class_[i]] += table_.weights[i];
    }
}

/// Visits the rows where x is not in its mode; the mode gets what they leave.
void Counter::count_by_rows(int x) {
    const auto& column = table_.columns[x];
    const int arity = column.arity;
    auto* const cells = cells_.data();
    std::fill_n(cells, std::size_t(classes_) * arity, 0);
    const auto visit = [&](auto weight_of) {
        for (std::size_t i = 0; i < column.other_rows.size(); ++i) {
            const int row = column.other_rows[i];
            cells[row_class_[row] * arity + column.other_codes[i]] += weight_of(row);
        }
    };
    if (table_.merged())
        visit([&](int row) { return table_.weights[row]; });
    else
        visit([](int) { return 1; });
    for (int c = 0; c < classes_; ++c) {
        int rest = row_counts_[c];
        for (int state = 0; state < arity; ++state) rest -= cells[c * arity + state];
        cells[c * arity + column.mode] = rest;
    }
}

/// The counts of the cells (row class / divisor, state of x), for tables that would be too large.
std::span<const std::int32_t> Counter::count_hashed(int x, int divisor) {
    const auto& column = table_.columns[x];
    const std::size_t mask = hash_keys_.size() - 1;
    std::ranges::fill(hash_keys_, -1);
    std::ranges::fill(hash_labels_, 0);
    for (int i = 0; i < table_.rows(); ++i) {
        const auto key = std::int64_t(row_class_[i] / divisor) * column.arity + column.codes[i];
        std::size_t slot = hash_of(key) & mask;
        while (hash_keys_[slot] != key && hash_keys_[slot] >= 0) slot = (slot + 1) & mask;
        hash_keys_[slot] = key;
        hash_labels_[slot] += table_.weights[i];
    }
    return hash_labels_;
}

}  // namespace fedbn
