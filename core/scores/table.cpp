#include "scores/table.hpp"

#include <array>
#include <numeric>

#include "arguments.hpp"
#include "scores/loops.hpp"
#include "scores/scratch.hpp"

namespace fedbn {

namespace {

constexpr int kRowsAtHand = 4096;  // rows that are looked at while they are in a cache, a multiple of 64
constexpr int kAhead = 16;         // rows whose place is fetched before it is looked at
constexpr int kFewStates = 16;     // states are looked for one after the other; beyond, row by row

using loops::Codes;

/// Rows as words, so that two of them are compared at once.
class PackedRows {
public:
    PackedRows(std::span<const int> arities, int rows) : rows_(rows), hashes_(rows) {
        int used = 0;
        for (int arity : arities) {
            const int bits = std::bit_width(unsigned(std::max(arity, 1) - 1));
            if (used + std::max(bits, 1) > 64) ++width_, used = 0;
            places_.push_back({width_ - 1, used, (Word{1} << bits) - 1});
            used += bits;
        }
        words_.resize(std::size_t(rows) * width_);
    }

    /// Some rows, of which all columns are then packed.
    void begin(int first, int number) {
        for (int w = 0; w < width_; ++w) std::fill_n(word(w, first), number, 0);
    }
    void pack(int v, int first, Codes codes) { loops::pack(codes, places_[v].shift, word(places_[v].word, first)); }
    void hash(int first, int number) {
        for (int i = first; i < first + number; ++i) hashes_[i] = hash_of(i);
    }

    Word hash(int i) const { return hashes_[i]; }
    bool equal(int i, int j) const {
        for (int w = 0; w < width_; ++w)
            if (*word(w, i) != *word(w, j)) return false;
        return true;
    }
    /// From now on these rows alone, ascending.
    void keep(std::span<const int> rows) {
        for (int w = 0; w < width_; ++w)
            for (std::size_t i = 0; i < rows.size(); ++i) *word(w, int(i)) = *word(w, rows[i]);
    }
    void unpack(int v, std::span<std::uint16_t> codes) const {
        const auto& [w, shift, mask] = places_[v];
        loops::unpack(word(w, 0), shift, mask, codes);
    }

private:
    struct Place {
        int word, shift;
        Word mask;
    };
    Word* word(int w, int i) { return words_.data() + std::size_t(w) * rows_ + i; }
    const Word* word(int w, int i) const { return words_.data() + std::size_t(w) * rows_ + i; }
    Word hash_of(int i) const {
        Word hash = 0;
        for (int w = 0; w < width_; ++w) {
            hash = (hash ^ *word(w, i)) * 0x9E3779B97F4A7C15;
            hash ^= hash >> 29;
        }
        return hash;
    }
    int rows_, width_ = 1;
    std::vector<Place> places_;
    Scratch<Word> words_, hashes_;
};

/// The first row of every kind, and how many equal it.
std::pair<std::vector<int>, std::vector<std::int32_t>> merge_rows(const PackedRows& packed, int rows) {
    std::vector<std::int32_t> slots(std::bit_ceil(std::max(16u, 2u * rows)), -1), weights;
    std::vector<int> first;
    const std::size_t mask = slots.size() - 1;
    for (int i = 0; i < rows; ++i) {
        if (i + kAhead < rows) __builtin_prefetch(&slots[packed.hash(i + kAhead) & mask]);
        std::size_t slot = packed.hash(i) & mask;
        while (slots[slot] >= 0 && !packed.equal(first[slots[slot]], i))
            slot = (slot + 1) & mask;
        if (slots[slot] < 0) {
            slots[slot] = static_cast<std::int32_t>(first.size());
            first.push_back(i);
            weights.push_back(0);
        }
        ++weights[slots[slot]];
    }
    return {std::move(first), std::move(weights)};
}

/// The bitmaps of all states from a word on, for the rows of these codes; no row is in the words after theirs.
void mark_states(Column& column, std::size_t words, std::size_t begin, std::size_t end, Codes codes) {
    const auto bitmap = [&](int state) { return column.bitmaps.data() + std::size_t(state) * words; };
    for (int state = 0; state < column.arity; ++state) {
        const auto marked = column.arity <= kFewStates ? begin + words_for(static_cast<int>(codes.size())) : begin;
        if (marked > begin) loops::mark_state(codes, state, bitmap(state) + begin);
        std::fill(bitmap(state) + marked, bitmap(state) + end, 0);
    }
    if (column.arity > kFewStates)
        for (std::size_t i = 0; i < codes.size(); ++i) bitmap(codes[i])[begin + i / 64] |= Word{1} << (i & 63);
}

/// `number` codes from `first` on, narrow ones where they are, others in `room`.
Codes narrow(const GivenCodes& given, std::size_t first, std::size_t number, std::span<std::uint16_t> room) {
    if (const auto* codes = std::get_if<Codes>(&given)) return codes->subspan(first, number);
    const auto codes = std::get<1>(given).subspan(first, number);
    std::uint32_t seen = 0;
    for (std::size_t i = 0; i < number; ++i) {
        seen |= std::uint32_t(codes[i]);
        room[i] = static_cast<std::uint16_t>(codes[i]);
    }
    require(seen >> 16 == 0, "a code must be from 0 to 65535");
    return room.first(number);
}

std::vector<int> state_counts(Codes codes, int arity) {
    std::vector<int> counts(arity);
    if (arity <= kFewStates)
        for (int state = 0; state < arity; ++state) counts[state] = loops::count_state(codes, state);
    else
        for (const auto code : codes) ++counts[code];
    return counts;
}

/// The mode, which is the first of the states that most rows are in, and the rows outside it.
void find_others(Column& column) {
    const Codes codes = column.codes;
    std::vector<Word> in_mode(words_for(static_cast<int>(codes.size())));
    const auto counts = state_counts(codes, column.arity);
    column.mode = static_cast<int>(std::ranges::max_element(counts) - counts.begin());
    const std::size_t others = codes.size() - counts[column.mode];
    column.other_rows.resize(others);
    column.other_codes.resize(others);
    loops::mark_state(codes, column.mode, in_mode.data());
    std::size_t found = 0;
    for (std::size_t begin = 0; begin < codes.size(); begin += 64) {
        Word rest = ~in_mode[begin / 64];
        if (codes.size() - begin < 64) rest &= (Word{1} << (codes.size() - begin)) - 1;
        for (; rest; rest &= rest - 1, ++found) {
            const auto row = begin + std::countr_zero(rest);
            column.other_rows[found] = static_cast<std::int32_t>(row);
            column.other_codes[found] = codes[row];
        }
    }
}

}  // namespace

Table::Table(GivenCodes codes, std::span<const int> arities, std::size_t bitmap_bytes, Workers* workers)
    : all_rows(static_cast<int>(std::visit([](auto given) { return given.size(); }, codes) /
                                std::max<std::size_t>(1, arities.size()))),
      columns(arities.size()) {
    const int together = 64 * loops::kWordsTogether;
    const int needed = (all_rows + together - 1) / together * loops::kWordsTogether;
    const std::size_t states = std::accumulate(arities.begin(), arities.end(), std::size_t{0});
    if (states * needed * sizeof(Word) <= bitmap_bytes) words = needed;
    for (int v = 0; v < n(); ++v) {
        columns[v].arity = arities[v];
        columns[v].bitmaps.resize(std::size_t(arities[v]) * words);
    }
    PackedRows packed(arities, all_rows);
    share(workers, (all_rows + kRowsAtHand - 1) / kRowsAtHand, [&](int block) {
        const int first = block * kRowsAtHand, number = std::min(kRowsAtHand, all_rows - first);
        const bool is_last = first + number == all_rows;
        std::array<std::uint16_t, kRowsAtHand> room;
        packed.begin(first, number);
        for (int v = 0; v < n(); ++v) {
            const auto some = narrow(codes, std::size_t(v) * all_rows + first, number, room);
            require(loops::largest(some) < arities[v], "a code must be below its variable's arity");
            packed.pack(v, first, some);
            if (words) mark_states(columns[v], words, first / 64, is_last ? words : (first + number) / 64, some);
        }
        packed.hash(first, number);
    });
    auto [first, merged_weights] = merge_rows(packed, all_rows);
    weights = std::move(merged_weights);
    if (merged()) packed.keep(first);
    share(workers, n(), [&](int v) {
        columns[v].codes.resize(rows());
        packed.unpack(v, columns[v].codes);
        find_others(columns[v]);
    });
}

}  // namespace fedbn
