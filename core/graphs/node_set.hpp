// Sets of nodes as bits of 64-bit words, and expressions over them.
//
// `ne[y] & adj[x] - clique` is not computed until it is looked at, word by word: by `for (int v :
// members(e))`, `any(e)`, `count(e)`, or when it is assigned to a set. So no expression allocates.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

namespace fedbn {

using Word = std::uint64_t;

inline int words_for(int n) { return std::max(1, n / 64 + (n % 64 != 0)); }

template <class E>
concept Set = requires(const E e, int w) {
    { e.word(w) } -> std::convertible_to<Word>;
    { e.words() } -> std::convertible_to<int>;
};

/// A set that is stored somewhere else; cheap to copy.
class SetView {
public:
    SetView(const Word* data, int words) : data_(data), words_(words) {}
    Word word(int w) const { return data_[w]; }
    int words() const { return words_; }
    bool has(int v) const { return data_[v >> 6] >> (v & 63) & 1; }

protected:
    const Word* data_;
    int words_;
};

/// The same, to be written to.
class SetRef : public SetView {
public:
    SetRef(Word* data, int words) : SetView(data, words) {}
    SetRef(const SetRef&) = default;

    void insert(int v) const { at(v >> 6) |= Word{1} << (v & 63); }
    void erase(int v) const { at(v >> 6) &= ~(Word{1} << (v & 63)); }
    void clear() const { std::fill_n(&at(0), words_, Word{0}); }

    const SetRef& operator=(const Set auto& e) const { return each([&](int w) { return e.word(w); }); }
    const SetRef& operator=(const SetRef& e) const { return each([&](int w) { return e.word(w); }); }
    const SetRef& operator|=(const Set auto& e) const { return each([&](int w) { return word(w) | e.word(w); }); }
    const SetRef& operator&=(const Set auto& e) const { return each([&](int w) { return word(w) & e.word(w); }); }
    const SetRef& operator-=(const Set auto& e) const { return each([&](int w) { return word(w) & ~e.word(w); }); }

private:
    Word& at(int w) const { return const_cast<Word*>(data_)[w]; }
    const SetRef& each(auto f) const {
        if (words_ == 1) {  // most networks
            at(0) = f(0);
            return *this;
        }
        for (int w = 0; w < words_; ++w) at(w) = f(w);
        return *this;
    }
};

/// A set of its own; up to 512 nodes without an allocation.
class NodeSet {
public:
    explicit NodeSet(int n = 0) { resize(words_for(n)); }
    NodeSet(const NodeSet& e) { *this = e; }
    NodeSet& operator=(const NodeSet& e) {  // only the words that it has
        resize(e.words());
        ref() = SetView(e.data(), e.words());
        return *this;
    }
    NodeSet(NodeSet&&) = default;
    NodeSet& operator=(NodeSet&&) = default;
    template <Set E>
        requires(!std::same_as<E, NodeSet>)
    NodeSet(const E& e) { *this = e; }
    template <Set E>
        requires(!std::same_as<E, NodeSet>)
    NodeSet& operator=(const E& e) {
        resize(e.words());
        ref() = e;
        return *this;
    }

    Word word(int w) const { return data()[w]; }
    int words() const { return words_; }
    bool has(int v) const { return word(v >> 6) >> (v & 63) & 1; }
    void insert(int v) { ref().insert(v); }
    void erase(int v) { ref().erase(v); }
    void clear() { ref().clear(); }
    NodeSet& operator|=(const Set auto& e) { return ref() |= e, *this; }
    NodeSet& operator&=(const Set auto& e) { return ref() &= e, *this; }
    NodeSet& operator-=(const Set auto& e) { return ref() -= e, *this; }
    SetRef ref() { return {const_cast<Word*>(data()), words_}; }

private:
    static constexpr int kInside = 8;
    const Word* data() const { return words_ <= kInside ? inside_.data() : outside_.data(); }
    void resize(int words) {
        words_ = words;
        if (words > kInside) outside_.resize(words);
    }
    int words_ = 0;
    std::array<Word, kInside> inside_{};
    std::vector<Word> outside_;
};

/// Many sets of equal size: the rows of a square matrix of bits, say.
class NodeSets {
public:
    NodeSets() = default;
    NodeSets(int rows, int n) : rows_(rows), words_(words_for(n)), bits_(std::size_t(rows) * words_) {}
    int size() const { return rows_; }
    int words() const { return words_; }
    SetRef operator[](int v) { return {bits_.data() + std::size_t(v) * words_, words_}; }
    SetView operator[](int v) const { return {bits_.data() + std::size_t(v) * words_, words_}; }
    std::span<Word> bits() { return bits_; }
    std::span<const Word> bits() const { return bits_; }
    bool operator==(const NodeSets&) const = default;

    NodeSets transposed() const;

private:
    int rows_ = 0, words_ = 0;
    std::vector<Word> bits_;
};

struct Single {  // {v}
    int v, size;
    Word word(int w) const { return w == v >> 6 ? Word{1} << (v & 63) : 0; }
    int words() const { return size; }
};
struct AllBelow {  // {0, ..., n - 1}
    int n;
    Word word(int w) const {
        return n >= 64 * (w + 1) ? ~Word{0} : n > 64 * w ? (Word{1} << (n & 63)) - 1 : 0;
    }
    int words() const { return words_for(n); }
};

namespace detail {
template <Set E>
using Held = std::conditional_t<std::derived_from<E, SetRef>, SetView, E>;
template <Set L, Set R, class Op>
struct Combined {
    L left;
    R right;
    Word word(int w) const { return Op{}(left.word(w), right.word(w)); }
    int words() const { return left.words(); }
};
inline SetView view(const NodeSet& s) { return const_cast<NodeSet&>(s).ref(); }
template <Set E>
Held<E> view(const E& e) { return e; }
template <class Op>
auto combine(const auto& l, const auto& r) {
    return Combined<decltype(view(l)), decltype(view(r)), Op>{view(l), view(r)};
}
struct And { Word operator()(Word a, Word b) const { return a & b; } };
struct Or { Word operator()(Word a, Word b) const { return a | b; } };
struct Minus { Word operator()(Word a, Word b) const { return a & ~b; } };
}  // namespace detail

auto operator&(const Set auto& l, const Set auto& r) { return detail::combine<detail::And>(l, r); }
auto operator|(const Set auto& l, const Set auto& r) { return detail::combine<detail::Or>(l, r); }
auto operator-(const Set auto& l, const Set auto& r) { return detail::combine<detail::Minus>(l, r); }
auto operator-(const Set auto& l, int v) { return detail::combine<detail::Minus>(l, Single{v, l.words()}); }

bool any(const Set auto& e) {
    if (e.words() == 1) return e.word(0) != 0;
    for (int w = 0; w < e.words(); ++w)
        if (e.word(w)) return true;
    return false;
}
int count(const Set auto& e) {
    if (e.words() == 1) return std::popcount(e.word(0));
    int total = 0;
    for (int w = 0; w < e.words(); ++w) total += std::popcount(e.word(w));
    return total;
}
bool is_subset(const Set auto& l, const Set auto& r) { return !any(l - r); }
bool equal(const Set auto& l, const Set auto& r) {
    for (int w = 0; w < l.words(); ++w)
        if (l.word(w) != r.word(w)) return false;
    return true;
}
/// The smallest member, or -1.
int first(const Set auto& e) {
    for (int w = 0; w < e.words(); ++w)
        if (Word word = e.word(w)) return 64 * w + std::countr_zero(word);
    return -1;
}
/// Whether the sorted members of `l` come before those of `r`, as words of a dictionary do.
bool comes_before(const Set auto& l, const Set auto& r) {
    for (int w = 0; w < l.words(); ++w)
        if (Word differ = l.word(w) ^ r.word(w)) {
            int bit = std::countr_zero(differ);
            bool in_left = l.word(w) >> bit & 1;
            bool more = (in_left ? r.word(w) : l.word(w)) >> bit;
            for (int v = w + 1; v < l.words(); ++v) more |= (in_left ? r.word(v) : l.word(v)) != 0;
            return in_left == more;
        }
    return false;
}

/// The members of a set, ascending, to be gone through by a range-based for.
template <Set E>
class Members {
public:
    struct End {};
    class Iterator {
    public:
        explicit Iterator(const E& e) : e_(e), word_(e.word(0)) { skip(); }
        int operator*() const { return 64 * w_ + std::countr_zero(word_); }
        void operator++() { word_ &= word_ - 1, skip(); }
        bool operator!=(End) const { return word_ != 0; }

    private:
        void skip() {
            while (!word_ && ++w_ < e_.words()) word_ = e_.word(w_);
        }
        const E& e_;
        int w_ = 0;
        Word word_;
    };
    explicit Members(E e) : e_(e) {}
    Iterator begin() const { return Iterator(e_); }
    End end() const { return {}; }

private:
    E e_;
};
auto members(const Set auto& e) { return Members<decltype(detail::view(e))>(detail::view(e)); }

/// out := the members, ascending.
void list(const Set auto& e, std::vector<int>& out) {
    out.clear();
    for (int v : members(e)) out.push_back(v);
}

inline NodeSets NodeSets::transposed() const {
    NodeSets out(rows_, rows_);
    for (int v = 0; v < rows_; ++v)
        for (int u : members((*this)[v])) out[u].insert(v);
    return out;
}

}  // namespace fedbn
