// The long loops: compiled for several kinds of processor, of which the best is chosen at run time.
#pragma once

#include <cstdint>
#include <span>

#include "graphs/node_set.hpp"

namespace fedbn::loops {

using Counts = std::span<std::int32_t>;

/// out := left ∩ right; returns its size.
int intersect(const Word* left, const Word* right, std::size_t words, Word* out);
/// |left ∩ right|
int count_common(const Word* left, const Word* right, std::size_t words);
/// row_class := row_class * arity + code, for every row.
void append_digit(Counts row_class, const std::uint16_t* codes, int arity);
/// row_class := number[row_class] * arity + code, for every row.
void renumber(Counts row_class, const std::int32_t* number, const std::uint16_t* codes, int arity);

}  // namespace fedbn::loops
