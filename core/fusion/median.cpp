#include "fusion/median.hpp"

#include <algorithm>

#include "graphs/elimination.hpp"
#include "interrupt.hpp"

namespace fedbn {

namespace {

class Descent {
public:
    Descent(Dag& dag, std::span<const std::int64_t> gain, const Knowledge& known, int max_width)
        : dag_(dag), gain_(gain), known_(known), max_width_(max_width), n_(dag.n()), reasons_(std::size_t(n_) * n_) {
        for (int y = 0; y < n_; ++y) {
            const NodeSet parents = dag.pa[y];
            dag_.pa[y].clear();
            for (int x : members(parents)) toggle(x, y, 1);
        }
    }

    /// The change that lowers the sum most; false where none does.
    bool step();

private:
    enum class Change { add, remove, reverse };
    struct Move {
        std::int64_t sum;
        int x, y;
        Change change;
    };

    std::vector<Move> moves();
    void apply(const Move& move);
    void undo(const Move& move);
    bool is_within() const;

    int& reasons(int x, int y) { return reasons_[std::size_t(x) * n_ + y]; }
    std::int64_t gain(int x, int y) const { return gain_[std::size_t(x) * n_ + y]; }

    /// Change of the sum when x -> y is added (sign 1) or deleted (sign -1).
    std::int64_t delta(int x, int y, int sign) {
        const int before = sign > 0 ? 0 : 1;
        std::int64_t sum = reasons(x, y) == before ? gain(x, y) : 0;
        for (int p : members(dag_.pa[y]))
            if (p != x && reasons(x, p) == before) sum += gain(x, p);
        return sign * sum;
    }

    /// Add or delete x -> y, and keep the reasons.
    void toggle(int x, int y, int sign) {
        reasons(x, y) += sign, reasons(y, x) += sign;
        for (int p : members(dag_.pa[y]))
            if (p != x) reasons(x, p) += sign, reasons(p, x) += sign;
        if (sign > 0)
            dag_.pa[y].insert(x), dag_.ch[x].insert(y);
        else
            dag_.pa[y].erase(x), dag_.ch[x].erase(y);
    }

    std::int64_t delta_of_reversal(int x, int y, std::int64_t of_deletion) {
        toggle(x, y, -1);
        const auto sum = of_deletion + delta(y, x, 1);
        toggle(x, y, 1);
        return sum;
    }

    Dag& dag_;
    std::span<const std::int64_t> gain_;
    const Knowledge& known_;
    int max_width_;  // below 0: any
    int n_;
    std::vector<int> reasons_;  // how often a pair is joined: by an edge, or by a common child
};

/// The changes that lower the sum, in the order (x, y), deletion before reversal.
std::vector<Descent::Move> Descent::moves() {
    const auto ancestors = ancestors_of(dag_);
    std::vector<Move> found;
    const auto consider = [&](std::int64_t sum, int x, int y, Change kind) {
        if (sum < 0) found.push_back({sum, x, y, kind});
    };
    for (int x = 0; x < n_; ++x) {
        notice_interrupt();
        for (int y = 0; y < n_; ++y) {
            if (x == y) continue;
            if (dag_.pa[y].has(x)) {
                if (known_.required[y].has(x)) continue;
                const auto sum = delta(x, y, -1);
                consider(sum, x, y, Change::remove);
                const bool turns = !known_.forbidden[x].has(y);
                if (turns && !any((dag_.ch[x] & ancestors[y]) - y))  // x -> y is the only directed path
                    consider(delta_of_reversal(x, y, sum), x, y, Change::reverse);
            } else if (!ancestors[x].has(y) && !known_.forbidden[y].has(x)) {
                consider(delta(x, y, 1), x, y, Change::add);
            }
        }
    }
    return found;
}

void Descent::apply(const Move& move) {
    if (move.change != Change::add) toggle(move.x, move.y, -1);
    if (move.change == Change::add) toggle(move.x, move.y, 1);
    if (move.change == Change::reverse) toggle(move.y, move.x, 1);
}

void Descent::undo(const Move& move) {
    if (move.change == Change::reverse) toggle(move.y, move.x, -1);
    if (move.change == Change::add) toggle(move.x, move.y, -1);
    if (move.change != Change::add) toggle(move.x, move.y, 1);
}

/// Whether one of two elimination orders of the moral graph is within the bound.
bool Descent::is_within() const {
    if (max_width_ < 0) return true;
    NodeSets moral(n_, n_);
    for (int x = 0; x < n_; ++x)
        for (int y = 0; y < n_; ++y)
            if (x != y && reasons_[std::size_t(x) * n_ + y] > 0) moral[x].insert(y);
    return fill_order(moral).width <= max_width_ || order_width(moral, cardinality_order(moral)) <= max_width_;
}

bool Descent::step() {
    auto found = moves();
    std::ranges::stable_sort(found, {}, &Move::sum);
    for (const Move& move : found) {
        apply(move);
        if (is_within()) return true;
        undo(move);
    }
    return false;
}

}  // namespace

void descend_to_median(Dag& dag, std::span<const std::int64_t> gain, const Knowledge& known, int max_width) {
    Descent descent(dag, gain, known, max_width);
    while (descent.step()) {
    }
}

}  // namespace fedbn
