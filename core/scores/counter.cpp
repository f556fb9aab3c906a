#include "scores/counter.hpp"

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
constexpr int kRowBlock = 8192;                 // rows that are indexed while they are at hand
constexpr int kAllRows = -1;                 // in place of a bitmap
constexpr double kWorthThreads = 30'000;     // visited rows: from some ten microseconds on
constexpr std::size_t kCellsOfParts = 1 << 18;

std::size_t hash_of(std::int64_t key) { return (Word(key) * 0x9E3779B97F4A7C15) >> 20; }

/// sums := what the parts have from a place on.
void sum_parts(std::span<const Scratch<std::int32_t>> parts, std::size_t from, std::span<std::int32_t> sums) {
    std::copy_n(parts[0].begin() + from, sums.size(), sums.begin());
    for (const auto& part : parts.subspan(1))
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part[from + i];
}

std::size_t limit_of(const Table& table) { return std::max(kLeastCells, 4 * std::size_t(table.rows())); }

}  // namespace

Cells::Cells(const Table& table)
    : counts(limit_of(table)),
      margin(limit_of(table)),
      hash_keys(std::bit_ceil(std::max(16u, 2u * table.rows()))),
      hash_labels(hash_keys.size()) {}

Counter::Counter(const Table& table)
    : table_(table),
      limit_(limit_of(table)),
      row_class_(table.rows()),
      row_counts_(limit_),
      max_classes_(table.words ? int(std::min<std::size_t>(kMostClasses, kClassBytes / (8 * table.words))) : 0),
      class_counts_(max_classes_) {
    for (auto& bitmaps : bitmaps_) bitmaps.resize(std::size_t(max_classes_) * table.words);
    for (auto& configurations : configurations_) configurations.resize(max_classes_);
    for (auto& places : places_) places.resize(max_classes_);
}

std::span<const std::int32_t> Counter::count(std::span<const int> members, Cells& cells, Workers* workers) {
    const auto counts = std::span(cells.counts).first(index_rows(members, cells, workers));
    const auto add_rows = [&](std::span<std::int32_t> to, int begin, int end) {
        std::ranges::fill(to, 0);
        for (int i = begin; i < end; ++i) to[row_class_[i]] += table_.weights[i];
    };
    if (!workers || counts.size() > kRowBlock) {
        add_rows(counts, 0, table_.rows());
        return counts;
    }
    const int parts = workers->threads();
    parts_.resize(parts);
    workers->share(parts, [&](int, int part) {
        parts_[part].resize(counts.size());
        add_rows(parts_[part], first_row(part, parts), first_row(part + 1, parts));
    });
    sum_parts(parts_, 0, counts);
    return counts;
}

void Counter::open(int y, std::span<const int> parents, std::span<const int> xs, Cells& cells,
                   Workers* workers) {
    y_ = y, parents_ = parents;
    with_rows_ = false;
    with_bitmaps_ = split_bitmaps(workers);
    bool wanted = !with_bitmaps_;
    if (with_bitmaps_) {  // rows too, if they will pay, or for what is not dense
        double saved = -table_.rows() * (kSplitCost + parents.size() * kIndexCost);
        for (int x : xs) {
            saved += std::max(0.0, cost_by_bitmaps(x) - cost_by_rows(x));
            wanted |= !is_dense(x);
        }
        wanted |= saved > 0;
    }
    if (wanted) split_rows(cells, workers);
}

std::span<const std::int32_t> Counter::opened(bool with_y, Cells& cells) const {
    if (!with_bitmaps_ && std::size_t(classes_) > limit_) return {};
    const auto whole = std::span(with_bitmaps_ ? class_counts_ : row_counts_).first(classes_);
    if (with_y) return whole;
    const int r_y = table_.columns[y_].arity, configurations = classes_ / r_y;
    for (int j = 0; j < configurations; ++j) {
        std::int32_t total = 0;
        for (int k = 0; k < r_y; ++k) total += whole[j * r_y + k];
        cells.margin[j] = total;
    }
    return std::span(cells.margin).first(configurations);
}

bool Counter::is_worth_threads(std::size_t members) const {
    return table_.rows() * (1.0 + kIndexCost * members) >= kWorthThreads;
}

bool Counter::is_worth_threads(int y, std::span<const int> parents, std::size_t xs) const {
    double classes = table_.columns[y].arity;
    for (int p : parents) classes *= table_.columns[p].arity;
    const double by_bitmaps = classes * (1.0 + kWordCost * table_.words);
    return xs * std::min(table_.words ? by_bitmaps : kInfinity, table_.rows() / 2.0) >= kWorthThreads;
}

void Counter::count_with(int x, Cells& cells) const {
    cells.x = x;
    cells.dense = is_dense(x);
    if (!cells.dense) return;
    if (uses_bitmaps(x)) return count_by_bitmaps(x, class_counts_, 0, table_.words, cells.counts.data());
    const auto& column = table_.columns[x];
    std::fill_n(cells.counts.begin(), cells_with(x), 0);
    visit_others(column, 0, column.other_rows.size(), cells.counts.data());
    give_rest_to_mode(x, row_counts_, cells.counts.data());
}

std::span<const std::int32_t> Counter::whole(Cells& cells) const {
    if (!cells.dense) return count_hashed(1, cells);
    return std::span(cells.counts).first(std::size_t(classes_) * table_.columns[cells.x].arity);
}

std::span<const std::int32_t> Counter::margin(Cells& cells) const {
    const int r_y = table_.columns[y_].arity, r_x = table_.columns[cells.x].arity;
    if (!cells.dense) return count_hashed(r_y, cells);
    const int configurations = classes_ / r_y;
    for (int j = 0; j < configurations; ++j)
        for (int state = 0; state < r_x; ++state) {
            const auto* cell = &cells.counts[std::size_t(j) * r_y * r_x + state];
            std::int32_t total = 0;
            for (int k = 0; k < r_y; ++k) total += cell[k * r_x];
            cells.margin[std::size_t(j) * r_x + state] = total;
        }
    return std::span(cells.margin).first(std::size_t(configurations) * r_x);
}

double Counter::cost_by_bitmaps(int x) const {
    return double(classes_) * (table_.columns[x].arity - 1) * (1.0 + kWordCost * table_.words);
}

double Counter::cost_by_rows(int x) const {
    return double(table_.columns[x].other_rows.size()) + double(classes_) * table_.columns[x].arity;
}

/// A bitmap per (configuration of P, state of y), observed configurations only, ascending; false
/// where there are too many of them for bitmaps to pay.
bool Counter::split_bitmaps(Workers* workers) {
    const int arity = table_.columns[y_].arity;
    if (max_classes_ / arity == 0) return false;
    configurations_[1][0] = 0;
    places_[1][0] = kAllRows;
    int number = 1, source = 1;
    radix_ = 1;
    for (int p : parents_) {
        number = split(source, number, p, workers);
        if (number < 0) return false;
        source = 3 - source;
        radix_ = std::min<std::int64_t>(radix_ * table_.columns[p].arity, limit_ + 1);
    }
    classes_ = number * arity;
    for (int c = 0; c < number; ++c) configurations_[0][c] = configurations_[source][c];
    intersect_all(source, number, y_, workers);
    return true;
}

/// The bitmap of a place in step `target` := those rows of a class of step `source`, of some words, in a state of v.
int Counter::intersect_class(int source, int c, int v, int state, int target, int place, std::size_t begin,
                             std::size_t end) {
    const Word* const in_state = table_.bitmap(v, state);
    const Word* const in_class = places_[source][c] == kAllRows ? in_state : class_bitmap(source, places_[source][c]);
    return loops::intersect(in_class + begin, in_state + begin, end - begin, class_bitmap(target, place) + begin);
}

/// class_counts := rows of each class of step `source` in each state of v, and their bitmaps, those of y in the result.
void Counter::intersect_all(int source, int number, int v, Workers* workers) {
    const int target = v == y_ ? 0 : 3 - source, arity = table_.columns[v].arity, all = number * arity;
    const auto intersect = [&](int i, std::size_t begin, std::size_t end) {
        return intersect_class(source, i / arity, v, i % arity, target, i, begin, end);
    };
    if (!workers) {
        for (int i = 0; i < all; ++i) class_counts_[i] = intersect(i, 0, table_.words);
        return;
    }
    const int parts = workers->threads();
    class_parts_.resize(parts);
    workers->share(parts, [&](int, int part) {
        class_parts_[part].resize(all);
        for (int i = 0; i < all; ++i)
            class_parts_[part][i] = intersect(i, first_word(part, parts), first_word(part + 1, parts));
    });
    sum_parts(class_parts_, 0, std::span(class_counts_).first(all));
}

/// Divide the classes of step `source` by the states of a parent; returns how many, -1 for too many.
int Counter::split(int source, int number, int parent, Workers* workers) {
    const int target = 3 - source, arity = table_.columns[parent].arity;
    const int room = max_classes_ / table_.columns[y_].arity;
    int found = 0;
    const auto keep = [&](int c, int state, int place) {
        places_[target][found] = place;
        configurations_[target][found++] = configurations_[source][c] * arity + state;
    };
    if (workers && number * arity <= max_classes_) {
        intersect_all(source, number, parent, workers);
        for (int i = 0; i < number * arity; ++i) {
            if (class_counts_[i] == 0) continue;
            if (found == room) return -1;
            keep(i / arity, i % arity, i);
        }
        return found;
    }
    for (int c = 0; c < number; ++c)
        for (int state = 0; state < arity; ++state) {
            if (found == room) return -1;
            if (intersect_class(source, c, parent, state, target, found, 0, table_.words)) keep(c, state, found);
        }
    return found;
}

/// Within some words, where the rows of the classes are known; a class is left once its rows are found.
void Counter::count_by_bitmaps(int x, const Counts& totals, std::size_t first_word, std::size_t words,
                               std::int32_t* cells) const {
    const auto& column = table_.columns[x];
    for (int c = 0; c < classes_; ++c, cells += column.arity) {
        int rest = totals[c];
        for (int state = 0; state < column.arity; ++state) {
            cells[state] = rest > 0 && state != column.mode
                               ? loops::count_common(class_bitmap(0, c) + first_word,
                                                     table_.bitmap(x, state) + first_word, words)
                               : 0;
            rest -= cells[state];
        }
        cells[column.mode] = rest;
    }
}

/// row_class := configuration of the members for every merged row; returns the range. They are
/// numbered by mixed radix while that fits, and by hashing the observed ones beyond.
int Counter::index_rows(std::span<const int> members, Cells& cells, Workers* workers) {
    std::size_t size = 1, digits = 0;
    while (digits < members.size() && size * table_.columns[members[digits]].arity <= limit_)
        size *= table_.columns[members[digits++]].arity;
    for_each_block(workers, [&](int begin, loops::Counts rows) {
        for (std::size_t d = 0; d < digits; ++d) {
            const auto& column = table_.columns[members[d]];
            if (d == 0)
                std::copy_n(column.codes.begin() + begin, rows.size(), rows.begin());
            else
                loops::append_digit(rows, column.codes.data() + begin, column.arity);
        }
        if (digits == 0) std::ranges::fill(rows, 0);
    });
    for (int v : members.subspan(digits)) {
        const auto& column = table_.columns[v];
        if (size * column.arity > limit_) {
            size = hash_column(column, cells);
        } else {
            loops::append_digit(row_class_, column.codes.data(), column.arity);
            size *= column.arity;
        }
    }
    return static_cast<int>(size);
}

/// visit(first row, their classes) for blocks of rows.
void Counter::for_each_block(Workers* workers, auto visit) {
    const auto visit_from = [&](int begin, int end) {
        for (; begin < end; begin += kRowBlock)
            visit(begin, std::span(row_class_).subspan(begin, std::min(kRowBlock, end - begin)));
    };
    if (!workers) return visit_from(0, table_.rows());
    const int parts = workers->threads();
    workers->share(parts, [&](int, int part) { visit_from(first_row(part, parts), first_row(part + 1, parts)); });
}

std::size_t Counter::countable(std::span<const int> xs) const {
    std::size_t cells = 0, number = 0;
    while (number < xs.size() && is_dense(xs[number]) && (cells += cells_with(xs[number])) <= kCellsOfParts) ++number;
    return number;
}

void Counter::count_parts(std::span<const int> xs, Workers& workers) {
    part_xs_.assign(xs.begin(), xs.end());
    part_starts_.assign(1, 0);
    for (int x : xs) part_starts_.push_back(part_starts_.back() + cells_with(x));
    const int parts = workers.threads();
    parts_.resize(parts);
    workers.share(parts, [&](int, int part) {
        parts_[part].resize(part_starts_.back());
        for (std::size_t i = 0; i < part_xs_.size(); ++i)
            count_part(part_xs_[i], part, parts, &parts_[part][part_starts_[i]]);
    });
}

/// The cells of x in one part of the rows; by rows those of its mode are left out.
void Counter::count_part(int x, int part, int parts, std::int32_t* cells) const {
    if (uses_bitmaps(x)) {
        const std::size_t begin = first_word(part, parts);
        return count_by_bitmaps(x, class_parts_[part], begin, first_word(part + 1, parts) - begin, cells);
    }
    const auto& column = table_.columns[x];
    const auto& rows = column.other_rows;
    const auto place_of = [&](int row) { return std::ranges::lower_bound(rows, row) - rows.begin(); };
    std::fill_n(cells, cells_with(x), 0);
    visit_others(column, place_of(first_row(part, parts)), place_of(first_row(part + 1, parts)), cells);
}

/// Of the x at a place among those that were counted in parts.
void Counter::gather(std::size_t place, Cells& of) const {
    of.x = part_xs_[place];
    of.dense = true;
    sum_parts(parts_, part_starts_[place], std::span(of.counts).first(cells_with(of.x)));
    if (!uses_bitmaps(of.x)) give_rest_to_mode(of.x, row_counts_, of.counts.data());
}

int Counter::hash_column(const Column& column, Cells& cells) {
    auto& keys = cells.hash_keys;
    const std::size_t mask = keys.size() - 1;
    std::ranges::fill(keys, -1);
    int labels = 0;
    for (int i = 0; i < table_.rows(); ++i) {
        const auto key = std::int64_t(row_class_[i]) * column.arity + column.codes[i];
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

/// row_class := class (observed configuration of P, state of y) of every merged row; row_counts :=
/// rows per class. Where there are bitmaps both are known.
void Counter::split_rows(Cells& cells, Workers* workers) {
    const auto& column = table_.columns[y_];
    const int size = index_rows(parents_, cells, workers);
    const bool known = with_bitmaps_ && radix_ == size;
    with_rows_ = true;
    auto& number = cells.counts;
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
    for_each_block(workers, [&](int begin, loops::Counts rows) {
        loops::renumber(rows, number.data(), column.codes.data() + begin, column.arity);
    });
    if (known) {
        std::copy_n(class_counts_.begin(), classes_, row_counts_.begin());
    } else if (std::size_t(classes_) <= limit_) {
        std::fill_n(row_counts_.begin(), classes_, 0);
        for (int i = 0; i < table_.rows(); ++i) row_counts_[row_class_[i]] += table_.weights[i];
    }
}

/// cells += rows of each class and state, of some of the rows where x is not in its mode.
void Counter::visit_others(const Column& column, std::size_t begin, std::size_t end, std::int32_t* cells) const {
    const int arity = column.arity;
    const auto visit = [&](auto weight_of) {
        for (std::size_t i = begin; i < end; ++i) {
            const int row = column.other_rows[i];
            cells[row_class_[row] * arity + column.other_codes[i]] += weight_of(row);
        }
    };
    if (table_.merged())
        visit([&](int row) { return table_.weights[row]; });
    else
        visit([](int) { return 1; });
}

/// cells[mode] := what the other states leave of the rows of each class.
void Counter::give_rest_to_mode(int x, const Counts& totals, std::int32_t* cells) const {
    const auto& column = table_.columns[x];
    for (int c = 0; c < classes_; ++c, cells += column.arity)
        cells[column.mode] = totals[c] - std::accumulate(cells, cells + column.arity, 0);
}

/// The counts of the cells (row class / divisor, state of x), for tables that would be too large.
std::span<const std::int32_t> Counter::count_hashed(int divisor, Cells& cells) const {
    const auto& column = table_.columns[cells.x];
    auto& keys = cells.hash_keys;
    const std::size_t mask = keys.size() - 1;
    std::ranges::fill(keys, -1);
    std::ranges::fill(cells.hash_labels, 0);
    for (int i = 0; i < table_.rows(); ++i) {
        const auto key = std::int64_t(row_class_[i] / divisor) * column.arity + column.codes[i];
        std::size_t slot = hash_of(key) & mask;
        while (keys[slot] != key && keys[slot] >= 0) slot = (slot + 1) & mask;
        keys[slot] = key;
        cells.hash_labels[slot] += table_.weights[i];
    }
    return cells.hash_labels;
}

}  // namespace fedbn
