#include "consensus/states.hpp"

#include <tuple>
#include <unordered_map>

#include "arguments.hpp"
#include "fusion/minimal_imap.hpp"
#include "fusion/order_heuristic.hpp"
#include "fusion/union.hpp"
#include "interrupt.hpp"

namespace fedbn {

PairVotes pair_votes(std::span<const Dag> inputs, std::span<const std::int64_t> weights) {
    struct Said {
        std::int32_t b, of;
        std::int64_t weight;
    };
    const int n = inputs[0].n();
    std::vector<std::vector<Said>> rows(n);  // of every a, about pairs with a later b
    NodeSet row(n);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        notice_interrupt();
        const Pdag g = cpdag_of(inputs[i]);
        for (int a = 0; a < n; ++a) {
            const auto say = [&](const Set auto& around, PairVotes::Of of) {
                for (int b : members(around - AllBelow{a + 1})) rows[a].push_back({b, of, weights[i]});
            };
            moral_row(inputs[i], a, row.ref());
            say(row, PairVotes::moral);
            say(g.ch[a], PairVotes::compelled), say(g.pa[a], PairVotes::compelled_back), say(g.ne[a], PairVotes::open);
            say(inputs[i].ch[a], PairVotes::arc), say(inputs[i].pa[a], PairVotes::arc_back);
        }
    }
    PairVotes found;
    for (int a = 0; a < n; ++a) {
        std::ranges::stable_sort(rows[a], {}, &Said::b);
        for (std::size_t k = 0; k < rows[a].size(); ++k)
            if (!k || rows[a][k].b != rows[a][k - 1].b) found.pairs.insert(found.pairs.end(), {a, rows[a][k].b});
    }
    const std::size_t m = found.pairs.size() / 2;
    found.numbers.resize(PairVotes::kinds * m);
    std::size_t place = 0;
    for (int a = 0; a < n; ++a)
        for (const Said& said : rows[a]) {
            while (found.pairs[2 * place] != a || found.pairs[2 * place + 1] != said.b) ++place;
            found.numbers[said.of * m + place] += said.weight;
        }
    return found;
}

VotesOnPairs::VotesOnPairs(int n, std::span<const std::int32_t> pairs, std::span<const std::int64_t> votes,
                           std::int64_t total, std::span<const std::int64_t> seen)
    : pairs_(pairs), votes_(votes), seen_(seen), size_(std::int64_t(pairs.size() / 2)), total_(total), starts_(n + 1) {
    for (std::int64_t k = 0; k < size_; ++k) ++starts_[pairs[2 * k] + 1];
    for (int a = 0; a < n; ++a) starts_[a + 1] += starts_[a];
}

std::int64_t VotesOnPairs::sum() const {
    std::int64_t sum = 0;
    for (std::int64_t vote : votes_) sum += vote;
    return sum;
}

std::int64_t VotesOnPairs::place(int a, int b) const {
    std::int64_t low = starts_[a], high = starts_[a + 1];
    while (low < high) {
        const std::int64_t middle = (low + high) / 2;
        (pairs_[2 * middle + 1] < b ? low : high) = pairs_[2 * middle + 1] < b ? middle + 1 : middle;
    }
    return low < starts_[a + 1] && pairs_[2 * low + 1] == b ? low : -1;
}

std::int64_t smhd_sum(const Dag& dag, const VotesOnPairs& votes) {
    notice_interrupt();
    std::int64_t sum = votes.sum();
    NodeSet row(dag.n());
    for (int a = 0; a < dag.n(); ++a) {
        moral_row(dag, a, row.ref());
        for (int b : members(row - AllBelow{a + 1})) sum += votes.seen(a, b) - 2 * votes.vote(0, votes.place(a, b));
    }
    return sum;
}

std::int64_t shd_sum(const Dag& dag, const VotesOnPairs& votes) {
    notice_interrupt();
    const Pdag g = cpdag_of(dag);
    std::int64_t sum = votes.sum();
    for (int a = 0; a < dag.n(); ++a)
        for (int b : members(g.adjacent(a) - AllBelow{a + 1})) {
            const auto place = votes.place(a, b);
            const int way = g.ch[a].has(b) ? 0 : g.pa[a].has(b) ? 1 : 2;
            sum += votes.seen(a, b) - votes.vote(way, place);
            for (int kind = 0; kind < 3; ++kind) sum -= votes.vote(kind, place);
        }
    return sum;
}

SmallDag small(NodeSets parents) {
    std::size_t m = 0;
    for (int y = 0; y < parents.size(); ++y) m += count(parents[y]);
    if (2 * m * sizeof(std::int32_t) >= parents.bits().size_bytes()) return parents;
    std::vector<std::vector<std::int32_t>> children(parents.size());
    for (int y = 0; y < parents.size(); ++y)
        for (int x : members(parents[y])) children[x].push_back(y);
    std::vector<std::int32_t> arcs;
    arcs.reserve(2 * m);
    for (int x = 0; x < parents.size(); ++x)
        for (auto y : children[x]) arcs.insert(arcs.end(), {x, y});
    return arcs;
}

std::vector<SmallDag> search_states(Dag fusion, std::span<const Step> steps, std::span<const std::int64_t> cuts,
                                    const Knowledge& known) {
    Pattern pattern(std::move(fusion));
    std::vector<SmallDag> states;
    NodeSet left_out(pattern.n());
    std::int64_t done = 0;
    for (auto cut : cuts) {
        for (; done < cut; ++done) {
            notice_interrupt();
            const auto& [x, y, psi, h, s] = steps[done];
            left_out.clear();
            for (int v : h) left_out.insert(v);
            const Pdag& p = pattern.pdag();
            require((p.pa[x].has(y) || p.ch[x].has(y) || p.ne[x].has(y)) && pattern.remove(x, y, left_out).has_value(),
                    "every deletion must be valid after those before it");
        }
        auto dag = constrained_extension(pattern.pdag(), known);
        require(dag.has_value(), "every deletion must keep the knowledge");
        states.push_back(small(std::move(dag->pa)));
    }
    return states;
}

namespace {

/// An input as it is pruned, and what its last fusion found that holds until it loses an arc.
struct Pruned {
    std::shared_ptr<Dag> dag;
    std::shared_ptr<SinkRemovals> removals;
    std::optional<MinimalImap> imap;

    void lose(int tail, int head) {
        removals.reset(), imap.reset();
        dag->pa[head].erase(tail), dag->ch[tail].erase(head);
    }
    void prepare() {
        if (!removals) removals = std::make_shared<SinkRemovals>(dag);
        if (!imap) imap.emplace(*dag);
    }
};

/// The first of every class of equal graphs over the same nodes, and the class of every graph.
struct Classes {
    std::vector<std::size_t> first, of;
};

Classes equal_graphs(std::span<const Pruned> inputs, const NodeSets& observed) {
    struct Key {
        const NodeSets* parents;
        int input;
    };
    const auto hash = [](const Key& key) {
        Word hash = 0;
        for (Word word : key.parents->bits()) {
            hash = (hash ^ word) * 0x9E3779B97F4A7C15;
            hash ^= hash >> 29;
        }
        return std::size_t(hash);
    };
    const auto same = [&](const Key& a, const Key& b) {
        return *a.parents == *b.parents && equal(observed[a.input], observed[b.input]);
    };
    std::unordered_map<Key, std::size_t, decltype(hash), decltype(same)> known(inputs.size(), hash, same);
    Classes found;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto [place, is_new] = known.try_emplace({&inputs[i].dag->pa, int(i)}, found.first.size());
        if (is_new) found.first.push_back(i);
        found.of.push_back(place->second);
    }
    return found;
}

std::vector<std::int64_t> sums_of(const Classes& classes, std::span<const std::int64_t> values) {
    std::vector<std::int64_t> sums(classes.first.size());
    for (std::size_t i = 0; i < values.size(); ++i) sums[classes.of[i]] += values[i];
    return sums;
}

}  // namespace

// Inputs that have become equal are fused as one.
std::vector<SmallDag> refusion_states(std::vector<Dag> dags, std::span<const std::int64_t> weights,
                                      const NodeSets& observed, std::span<const LostArc> arcs,
                                      std::span<const std::int64_t> cuts, std::span<const std::int64_t> members,
                                      std::int64_t quorum, const Precedence& start) {
    const int n = dags[0].n();
    std::vector<SmallDag> states;
    bool is_whole = true;
    for (int i = 0; i < observed.size(); ++i) is_whole = is_whole && equal(observed[i], AllBelow{n});
    std::vector<Pruned> inputs;
    for (Dag& dag : dags) inputs.push_back({std::make_shared<Dag>(std::move(dag)), nullptr, std::nullopt});
    auto arc = arcs.begin();
    for (auto cut : cuts) {
        for (; arc != arcs.end() && arc->step < cut; ++arc) inputs[arc->input].lose(arc->tail, arc->head);
        const Classes classes = equal_graphs(inputs, observed);
        std::vector<std::shared_ptr<SinkRemovals>> removals;
        NodeSets observed_by(int(classes.first.size()), n);
        for (auto i : classes.first) {
            inputs[i].prepare();
            observed_by[int(removals.size())] = observed[int(i)];
            removals.push_back(inputs[i].removals);
        }
        const auto units = sums_of(classes, weights), counts = sums_of(classes, members);
        Precedence precedence = start;
        NodeSets fused;
        do {
            OrderHeuristic heuristic(removals, units, {}, precedence.after(), observed_by);
            heuristic.extend(n);
            std::vector<const NodeSets*> maps;
            for (auto i : classes.first) maps.push_back(&inputs[i].imap->under(*inputs[i].dag, heuristic.order()));
            fused = arcs_of_quorum(maps, counts, quorum, is_whole ? nullptr : &observed_by);
        } while (precedence.settle(fused));
        states.push_back(small(precedence.kept(fused)));
    }
    return states;
}

void reverse_covered(NodeSets& pa, const VotesOnPairs& margins) {
    const int n = pa.size();
    const auto margin_of = [&](int x, int y) {
        return x < y ? margins.vote(0, margins.place(x, y)) : -margins.vote(0, margins.place(y, x));
    };
    while (true) {
        notice_interrupt();
        std::int64_t least = 0;
        int best_x = -1, best_y = -1;
        for (int y = 0; y < n; ++y)
            for (int x : members(pa[y])) {
                const auto margin = margin_of(x, y);
                if (margin >= 0 || std::tuple(margin, x, y) > std::tuple(least, best_x, best_y)) continue;
                if (equal(pa[y] - x, pa[x])) least = margin, best_x = x, best_y = y;
            }
        if (best_x < 0) return;
        pa[best_y].erase(best_x);
        pa[best_x].insert(best_y);
    }
}

}  // namespace fedbn
