// What an algorithm may be asked: `require` says what must hold.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fedbn {

/// What Python sees as fedbn.errors.ArgumentError.
struct ArgumentError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

/// A part of a message: a text or a whole number.
struct Part {
    Part() = default;
    Part(std::string_view text) : text(text) {}
    Part(const char* text) : text(text) {}
    Part(const std::string& text) : text(text) {}
    Part(std::integral auto number) : number(static_cast<std::int64_t>(number)) {}
    std::string_view text;
    std::optional<std::int64_t> number;
};

[[noreturn]] void refuse(std::initializer_list<Part> message);

/// What must hold is given in parts, which are joined only where it does not.
inline void require(bool holds, Part a, Part b = {}, Part c = {}, Part d = {}, Part e = {}, Part f = {}) {
    if (!holds) [[unlikely]] refuse({a, b, c, d, e, f});
}

/// Limits, budgets, numbers of turns.
inline void require_at_least(std::int64_t least, std::int64_t value, const char* name) {
    require(value >= least, name, " must be at least ", least, ", not ", value);
}

}  // namespace fedbn
