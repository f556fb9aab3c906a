#include "scores/counter.hpp"

#include <algorithm>
#include <numeric>

#include "infinity.hpp"
#include "scores/loops.hpp"

namespace fedbn {

namespace {

constexpr double kWordCost = 0.085;  // AND and popcount of one word, in visited rows
constexpr double kSplitCost = 0.6, kIndexCost = 0.2;  // classes of rows, per row and parent
constexpr std::size_t kLeastCells = 4096;
constexpr int kMostClasses = 192;
constexpr std::size_t kClassBytes = 8 << 20;
constexpr int kRowBlock = 8192;  // rows that are indexed while they are at hand
constexpr int kAllRows = 0;      // the step before the first: a class of all rows, which needs no bitmap

std::size_t hash_of(std::int64_t key) { return (Word(key) * 0x9E3779B97F4A7C15) >> 20; }

std::size_t limit_of(int rows) { return std::max(kLeastCells, 4 * std::size_t(rows)); }

}  // namespace

Cells::Cells(const Table& table)
    : counts(limit_of(table.rows())),
      margin(counts.size()),
      hash_keys(std::bit_ceil(std::max(16u, 2u * table.rows()))),
      hash_labels(hash_keys.size()) {}

std::span<const std::int32_t> Cells::whole() const {
    return std::span(counts).first(std::size_t(configurations) * r_y * r_x);
}

std::span<const std::int32_t> Cells::without_y() {
    for (int j = 0; j < configurations; ++j)
        for (int state = 0; state < r_x; ++state) {
            const auto* cell = &counts[std::size_t(j) * r_y * r_x + state];
            std::int32_t total = 0;
            for (int k = 0; k < r_y; ++k) total += cell[k * r_x];
            margin[std::size_t(j) * r_x + state] = total;
        }
    return std::span(margin).first(std::size_t(configurations) * r_x);
}

RowRange part_of(const Table& table, int part, int parts) {
    const auto first_word = [&](int p) {
        return table.words / loops::kWordsTogether * p / parts * loops::kWordsTogether;
    };
    const auto first_row = [&](int p) {
        if (table.words && !table.merged()) return std::min(int(64 * first_word(p)), table.rows());
        return int(std::int64_t(table.rows()) * p / parts);
    };
    return {first_word(part), first_word(part + 1) - first_word(part), first_row(part),
            first_row(part + 1) - first_row(part)};
}

Counter::Counter(const Table& table, RowRange rows)
    : table_(table),
      rows_(rows),
      limit_(limit_of(rows.number)),
      row_class_(rows.number),
      row_counts_(limit_),
      max_classes_(table.words ? int(std::min<std::size_t>(kMostClasses, kClassBytes / (8 * table.words))) : 0),
      class_counts_(max_classes_) {
    for (auto& bitmaps : bitmaps_) bitmaps.resize(std::size_t(max_classes_) * rows.words);
    for (auto& configurations : configurations_) configurations.resize(max_classes_);
    for (const auto& column : table.columns) {
        const auto place = [&](int row) {
            return std::size_t(std::ranges::lower_bound(column.other_rows, row) - column.other_rows.begin());
        };
        others_.push_back({place(rows.first), place(rows.first + rows.number)});
    }
}

/// Of the last member all states but one are looked for, before it half as many bitmaps are made at a time.
double Counter::cost_of_splitting(std::span<const int> members) const {
    double classes = 1.5;
    for (int v : members) classes *= table_.columns[v].arity;
    return members.empty() || classes > max_classes_ ? kInfinity : classes * (1.0 + kWordCost * rows_.words);
}

bool Counter::splits(std::span<const int> members) const {
    return cost_of_splitting(members) < rows_.number * (1.0 + kIndexCost * members.size());
}

double Counter::cost(std::span<const int> members) const {
    return std::min(cost_of_splitting(members), rows_.number * (1.0 + kIndexCost * members.size()));
}

double Counter::cost(int y, std::span<const int> parents, std::size_t xs) const {
    double classes = table_.columns[y].arity;
    for (int p : parents) classes *= table_.columns[p].arity;
    const double by_bitmaps = classes * (1.0 + kWordCost * rows_.words);
    return xs * std::min(table_.words ? by_bitmaps : kInfinity, rows_.number / 2.0);
}

std::span<const std::int32_t> Counter::count(std::span<const int> members, Cells& cells) {
    return splits(members) ? count_split(members, cells) : count_rows(members, cells);
}

std::span<const std::int32_t> Counter::count_split(std::span<const int> members, Cells& cells) {
    const std::size_t others = members.size() - 1;
    if (others == 0) {
        split_bitmaps(members[0], {});
        return opened(true, cells);
    }
    split_bitmaps(members[others - 1], members.first(others - 1));
    count_with(members[others], cells);
    return cells.whole();
}

std::span<const std::int32_t> Counter::count_rows(std::span<const int> members, Cells& cells) {
    const auto counts = std::span(cells.counts).first(index_rows(members, cells));
    std::ranges::fill(counts, 0);
    for (int i = 0; i < rows_.number; ++i) counts[row_class_[i]] += weights()[i];
    return counts;
}

void Counter::open(int y, std::span<const int> parents, std::span<const int> xs, Cells& cells) {
    split_bitmaps(y, parents);
    if (wants_rows(xs)) split_rows(cells);
}

/// If they will pay, or for what is not dense.
bool Counter::wants_rows(std::span<const int> xs) {
    if (!with_bitmaps_) return true;
    row_classes_ = bitmap_classes_;
    double saved = -rows_.number * (kSplitCost + parents_.size() * kIndexCost);
    for (int x : xs) {
        if (!is_dense(x, true)) return true;
        saved += std::max(0.0, cost_by_bitmaps(x) - cost_by_rows(x));
    }
    return saved > 0;
}

Counter::Configurations Counter::configurations(bool bitmaps) const {
    const int number = classes(bitmaps) / table_.columns[y_].arity;
    return bitmaps ? Configurations(configurations_[0]).first(number) : Configurations(row_configurations_);
}

std::span<const std::int32_t> Counter::class_counts(bool bitmaps) const {
    return std::span(bitmaps ? class_counts_ : row_counts_).first(classes(bitmaps));
}

std::span<const std::int32_t> Counter::opened(bool with_y, Cells& cells) const {
    if (!with_bitmaps_ && std::size_t(row_classes_) > limit_) return {};
    const auto counts = class_counts(with_bitmaps_);
    if (with_y) return counts;
    cells.r_y = table_.columns[y_].arity, cells.r_x = 1;
    cells.configurations = static_cast<int>(counts.size()) / cells.r_y;
    std::ranges::copy(counts, cells.counts.begin());
    return cells.without_y();
}

void Counter::count_with(int x, Cells& cells) const {
    const bool bitmaps = uses_bitmaps(x);
    cells.dense = is_dense(x, bitmaps);
    if (!cells.dense) return;
    cells.r_y = table_.columns[y_].arity, cells.r_x = table_.columns[x].arity;
    cells.configurations = classes(bitmaps) / cells.r_y;
    count_others(x, bitmaps, cells.counts.data());
    count_modes(x, class_counts(bitmaps), cells.counts.data());
}

void Counter::count_others(int x, bool bitmaps, std::int32_t* cells) const {
    if (bitmaps)
        count_by_bitmaps(x, cells);
    else
        count_by_rows(x, cells);
}

void Counter::count_modes(int x, std::span<const std::int32_t> class_counts, std::int32_t* cells) const {
    const auto& column = table_.columns[x];
    for (const int count : class_counts) {
        cells[column.mode] = count - std::accumulate(cells, cells + column.arity, 0);
        cells += column.arity;
    }
}

std::span<const std::int32_t> Counter::whole(int x, Cells& cells) const {
    return cells.dense ? cells.whole() : count_hashed(x, 1, cells);
}

std::span<const std::int32_t> Counter::without_y(int x, Cells& cells) const {
    return cells.dense ? cells.without_y() : count_hashed(x, table_.columns[y_].arity, cells);
}

double Counter::cost_by_bitmaps(int x) const {
    return double(bitmap_classes_) * (table_.columns[x].arity - 1) * (1.0 + kWordCost * rows_.words);
}

double Counter::cost_by_rows(int x) const {
    return double(others_[x].end - others_[x].begin) + double(row_classes_) * table_.columns[x].arity;
}

/// A bitmap per (configuration of P, state of y), observed configurations only, ascending.
bool Counter::split_bitmaps(int y, std::span<const int> parents) {
    y_ = y, parents_ = parents;
    with_bitmaps_ = with_rows_ = false;
    radix_ = 1;
    for (int p : parents) radix_ = std::min<std::int64_t>(radix_ * table_.columns[p].arity, limit_ + 1);
    const int arity = table_.columns[y].arity;
    if (max_classes_ / arity == 0) return false;
    int number = 1, source = kAllRows;
    configurations_[kAllRows][0] = 0;
    for (int p : parents) {
        number = split(source, number, p);
        if (number < 0) return false;
        source = source == 2 ? 1 : 2;
    }
    bitmap_classes_ = number * arity;
    for (int c = 0; c < number; ++c) configurations_[0][c] = configurations_[source][c];
    for (int i = 0; i < bitmap_classes_; ++i)
        class_counts_[i] = intersect_class(source, i / arity, y, i % arity, 0, i);
    return with_bitmaps_ = true;
}

/// The bitmap of a place in step `target` := those rows of a class of step `source` that are in a state of v.
int Counter::intersect_class(int source, int c, int v, int state, int target, int place) {
    const Word* const in_state = bitmap(v, state);
    const Word* const in_class = source == kAllRows ? in_state : class_bitmap(source, c);
    return loops::intersect(in_class, in_state, rows_.words, class_bitmap(target, place));
}

/// Divide the classes of step `source` by the states of a parent; returns how many, -1 for too many.
int Counter::split(int source, int number, int parent) {
    const int target = source == 2 ? 1 : 2, arity = table_.columns[parent].arity;
    const int room = max_classes_ / table_.columns[y_].arity;
    int found = 0;
    for (int c = 0; c < number; ++c)
        for (int state = 0; state < arity; ++state) {
            if (found == room) return -1;
            if (intersect_class(source, c, parent, state, target, found))
                configurations_[target][found++] = configurations_[source][c] * arity + state;
        }
    return found;
}

/// A class is left once its rows are found.
void Counter::count_by_bitmaps(int x, std::int32_t* cells) const {
    const auto& column = table_.columns[x];
    for (int c = 0; c < bitmap_classes_; ++c, cells += column.arity) {
        int rest = class_counts_[c];
        for (int state = 0; state < column.arity; ++state) {
            cells[state] = rest > 0 && state != column.mode
                               ? loops::count_common(class_bitmap(0, c), bitmap(x, state), rows_.words)
                               : 0;
            rest -= cells[state];
        }
    }
}

/// row_class := configuration of the members for every merged row; returns the range. They are
/// numbered by mixed radix while that fits, and by hashing the observed ones beyond.
int Counter::index_rows(std::span<const int> members, Cells& cells) {
    std::size_t size = 1, digits = 0;
    while (digits < members.size() && size * table_.columns[members[digits]].arity <= limit_)
        size *= table_.columns[members[digits++]].arity;
    for (int begin = 0; begin < rows_.number; begin += kRowBlock) {
        const auto rows = std::span(row_class_).subspan(begin, std::min(kRowBlock, rows_.number - begin));
        for (std::size_t d = 0; d < digits; ++d) {
            if (d == 0)
                std::copy_n(codes(members[d]) + begin, rows.size(), rows.begin());
            else
                loops::append_digit(rows, codes(members[d]) + begin, table_.columns[members[d]].arity);
        }
        if (digits == 0) std::ranges::fill(rows, 0);
    }
    for (int v : members.subspan(digits)) {
        const auto& column = table_.columns[v];
        if (size * column.arity > limit_) {
            size = hash_column(column, cells);
        } else {
            loops::append_digit(row_class_, codes(v), column.arity);
            size *= column.arity;
        }
    }
    return static_cast<int>(size);
}

int Counter::hash_column(const Column& column, Cells& cells) {
    auto& keys = cells.hash_keys;
    const std::size_t mask = keys.size() - 1;
    std::ranges::fill(keys, -1);
    int labels = 0;
    for (int i = 0; i < rows_.number; ++i) {
        const auto key = std::int64_t(row_class_[i]) * column.arity + column.codes[rows_.first + i];
        std::size_t slot = hash_of(key) & mask;
        while (keys[slot] != key && keys[slot] >= 0) slot = (slot + 1) & mask;
        if (keys[slot] < 0) {
            keys[slot] = key;
            cells.hash_labels[slot] = labels++;
        }
        row_class_[i] = cells.hash_labels[slot];
    }
    return labels;
}

/// By bitmaps of the same rows, configurations and counts are known.
void Counter::split_rows(Cells& cells) {
    index_rows(cells);
    const bool known = with_bitmaps_ && has_numbers();
    if (!known) observe_configurations(cells);
    const auto observed = configurations(known);
    const bool fits = begin_rows(observed.size());
    split_rows(observed, cells);
    if (known)
        std::ranges::copy(class_counts(true), row_counts_.begin());
    else if (fits)
        count_classes();
}

/// Ascending.
void Counter::observe_configurations(Cells& cells) {
    auto& seen = cells.counts;
    row_configurations_.clear();
    std::fill_n(seen.begin(), row_range_, 0);
    for (auto c : row_class_) seen[c] = 1;
    for (int c = 0; c < row_range_; ++c)
        if (seen[c]) row_configurations_.push_back(c);
    row_classes_ = static_cast<int>(row_configurations_.size()) * table_.columns[y_].arity;
}

bool Counter::begin_rows(std::size_t configurations) {
    with_rows_ = true;
    row_classes_ = static_cast<int>(configurations) * table_.columns[y_].arity;
    return std::size_t(row_classes_) <= limit_;
}

/// row_class := class (place among the observed configurations, state of y) of every merged row.
void Counter::split_rows(Configurations observed, Cells& cells) {
    auto& number = cells.counts;
    for (std::size_t c = 0; c < observed.size(); ++c) number[observed[c]] = int(c);
    loops::renumber(row_class_, number.data(), codes(y_), table_.columns[y_].arity);
}

/// row_counts := rows per class.
void Counter::count_classes() {
    std::fill_n(row_counts_.begin(), row_classes_, 0);
    for (int i = 0; i < rows_.number; ++i) row_counts_[row_class_[i]] += weights()[i];
}

void Counter::count_by_rows(int x, std::int32_t* cells) const {
    const auto& column = table_.columns[x];
    const int arity = column.arity;
    std::fill_n(cells, std::size_t(row_classes_) * arity, 0);
    const auto visit = [&](auto weight_of) {
        for (std::size_t i = others_[x].begin; i < others_[x].end; ++i) {
            const int row = column.other_rows[i];
            cells[row_class_[row - rows_.first] * arity + column.other_codes[i]] += weight_of(row);
        }
    };
    if (table_.merged())
        visit([&](int row) { return table_.weights[row]; });
    else
        visit([](int) { return 1; });
}

/// The counts of the cells (row class / divisor, state of x), for tables that would be too large.
std::span<const std::int32_t> Counter::count_hashed(int x, int divisor, Cells& cells) const {
    const auto& column = table_.columns[x];
    auto& keys = cells.hash_keys;
    const std::size_t mask = keys.size() - 1;
    std::ranges::fill(keys, -1);
    std::ranges::fill(cells.hash_labels, 0);
    for (int i = 0; i < rows_.number; ++i) {
        const auto key = std::int64_t(row_class_[i] / divisor) * column.arity + codes(x)[i];
        std::size_t slot = hash_of(key) & mask;
        while (keys[slot] != key && keys[slot] >= 0) slot = (slot + 1) & mask;
        keys[slot] = key;
        cells.hash_labels[slot] += weights()[i];
    }
    return cells.hash_labels;
}

}  // namespace fedbn
