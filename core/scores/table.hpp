// Categorical data as the counters read it: equal rows merged, bitmaps of states, modes.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "graphs/node_set.hpp"
#include "scores/scratch.hpp"
#include "scores/workers.hpp"

namespace fedbn {

/// Column after column; the wide ones are narrowed while they are at hand, so that no copy is made.
using GivenCodes = std::variant<std::span<const std::uint16_t>, std::span<const std::int32_t>>;

struct Column {
    int arity = 0;
    int mode = 0;                            // the state of most merged rows
    Scratch<std::uint16_t> codes;        // of every merged row
    Scratch<std::int32_t> other_rows;    // the merged rows that are not in the mode,
    Scratch<std::uint16_t> other_codes;  // and the state that they are in
    Scratch<Word> bitmaps;               // one after the other for each state, over all rows
};

struct Table {
    /// codes: every one below the arity of its column (else ArgumentError); bitmaps only within so many bytes. The
    /// workers help, if there are any.
    Table(GivenCodes codes, std::span<const int> arities, std::size_t bitmap_bytes, Workers* workers = nullptr);

    int n() const { return static_cast<int>(columns.size()); }
    int rows() const { return static_cast<int>(weights.size()); }  // merged ones
    bool merged() const { return rows() < all_rows; }
    const Word* bitmap(int v, int state) const { return &columns[v].bitmaps[std::size_t(state) * words]; }

    int all_rows;
    int words = 0;  // of a bitmap; 0 where there are none
    std::vector<Column> columns;
    std::vector<std::int32_t> weights;  // how many rows were merged
};

}  // namespace fedbn
