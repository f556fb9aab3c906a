// The long loops: compiled for several kinds of processor, of which the best is chosen at run time.
#pragma once

#include <cstdint>
#include <span>

#include "graphs/node_set.hpp"

namespace fedbn::loops {

using Counts = std::span<std::int32_t>;
using Codes = std::span<const std::uint16_t>;

/// out := left ∩ right; returns its size. Bitmaps have a multiple of `kWordsTogether` words.
constexpr std::size_t kWordsTogether = 8;
int intersect(const Word* left, const Word* right, std::size_t words, Word* out);
/// |left ∩ right|
int count_common(const Word* left, const Word* right, std::size_t words);
/// row_class := row_class * arity + code, for every row.
void append_digit(Counts row_class, const std::uint16_t* codes, int arity);
/// row_class := number[row_class] * arity + code, for every row.
void renumber(Counts row_class, const std::int32_t* number, const std::uint16_t* codes, int arity);

// Preparation of tables.

/// The largest code; 0 of no rows.
int largest(Codes codes);
/// How many rows are in a state.
int count_state(Codes codes, int state);
/// bitmap := the rows that are in a state; it has a bit for every row, those beyond become 0.
void mark_state(Codes codes, int state, Word* bitmap);
/// packed := packed with the codes from bit `shift` on, for every row.
void pack(Codes codes, int shift, Word* packed);
/// codes := the bits of the mask from bit `shift` on, of every row.
void unpack(const Word* packed, int shift, Word mask, std::span<std::uint16_t> codes);

}  // namespace fedbn::loops
