#include "consensus/states.hpp"

#include <tuple>
#include <unordered_map>

#include "arguments.hpp"
#include "fusion/minimal_imap.hpp"
#include "fusion/order_heuristic.hpp"
#include "fusion/union.hpp"
#include "interrupt.hpp"

namespace fedbn {

Votes moral_votes(std::span<const Dag> inputs, std::span<const std::int64_t> weights) {
    const int n = inputs[0].n();
    Votes votes(std::size_t(n) * n);
    NodeSet row(n);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        for (int v = 0; v < n; ++v) {
            moral_row(inputs[i], v, row.ref());
            for (int u : members(row)) votes[std::size_t(v) * n + u] += weights[i];
        }
    return votes;
}

Votes class_votes(std::span<const Dag> inputs, std::span<const std::int64_t> weights) {
    const std::size_t n = inputs[0].n();
    Votes votes(2 * n * n);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Pdag g = cpdag_of(inputs[i]);
        for (std::size_t a = 0; a < n; ++a) {
            for (int b : members(g.ch[a])) votes[a * n + b] += weights[i];
            for (int b : members(g.ne[a])) votes[(n + a) * n + b] += weights[i];
        }
    }
    return votes;
}

std::int64_t smhd_sum(const Dag& dag, std::span<const std::int64_t> votes, std::span<const std::int64_t> seen) {
    const int n = dag.n();
    std::int64_t sum = 0;
    NodeSet row(n);
    for (int v = 0; v < n; ++v) {
        moral_row(dag, v, row.ref());
        for (int u = 0; u < v; ++u) {
            const std::size_t pair = std::size_t(v) * n + u;
            sum += row.has(u) ? seen[pair] - votes[pair] : votes[pair];
        }
    }
    return sum;
}

std::int64_t shd_sum(const Dag& dag, std::span<const std::int64_t> votes, std::span<const std::int64_t> seen) {
    const std::size_t n = dag.n();
    const auto directed = [&](std::size_t a, std::size_t b) { return votes[a * n + b]; };
    const auto open = [&](std::size_t a, std::size_t b) { return votes[(n + a) * n + b]; };
    const Pdag g = cpdag_of(dag);
    std::int64_t sum = 0;
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < a; ++b) {
            if (g.ch[a].has(b))
                sum += seen[a * n + b] - directed(a, b);
            else if (g.pa[a].has(b))
                sum += seen[a * n + b] - directed(b, a);
            else if (g.ne[a].has(b))
                sum += seen[a * n + b] - open(a, b);
            else
                sum += directed(a, b) + directed(b, a) + open(a, b);
        }
    return sum;
}

std::vector<NodeSets> search_states(Dag fusion, std::span<const Step> steps, std::span<const std::int64_t> cuts,
                                    const Knowledge& known) {
    Pattern pattern(std::move(fusion));
    std::vector<NodeSets> states;
    std::int64_t done = 0;
    for (auto cut : cuts) {
        for (; done < cut; ++done) {
            notice_interrupt();
            const auto& [x, y, psi, h, s] = steps[done];
            const Pdag& p = pattern.pdag();
            require((p.pa[x].has(y) || p.ch[x].has(y) || p.ne[x].has(y)) && pattern.remove(x, y, h).has_value(),
                    "every deletion must be valid after those before it");
        }
        const auto dag = constrained_extension(pattern.pdag(), known);
        require(dag.has_value(), "every deletion must keep the knowledge");
        states.push_back(dag->pa);
    }
    return states;
}

namespace {

/// An input as it is pruned, and what its last fusion found that holds until it loses an arc.
struct Pruned {
    Dag dag;
    std::shared_ptr<SinkRemovals> removals;
    std::optional<MinimalImap> imap;

    void lose(int tail, int head) {
        dag.pa[head].erase(tail), dag.ch[tail].erase(head);
        removals.reset(), imap.reset();
    }
    void prepare() {
        if (!removals) removals = std::make_shared<SinkRemovals>(dag);
        if (!imap) imap.emplace(dag);
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
        const auto [place, is_new] = known.try_emplace({&inputs[i].dag.pa, int(i)}, found.first.size());
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
std::vector<NodeSets> refusion_states(std::vector<Dag> dags, std::span<const std::int64_t> weights,
                                      const NodeSets& observed, std::span<const LostArc> arcs, std::span<const std::int64_t> cuts,
                                      std::span<const std::int64_t> members, std::int64_t quorum,
                                      const Precedence& start) {
    const int n = dags[0].n();
    std::vector<NodeSets> states;
    bool is_whole = true;
    for (int i = 0; i < observed.size(); ++i) is_whole = is_whole && equal(observed[i], AllBelow{n});
    std::vector<Pruned> inputs;
    for (Dag& dag : dags) inputs.push_back({std::move(dag), nullptr, std::nullopt});
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
            for (auto i : classes.first) maps.push_back(&inputs[i].imap->under(inputs[i].dag, heuristic.order()));
            fused = arcs_of_quorum(maps, counts, quorum, is_whole ? nullptr : &observed_by);
        } while (precedence.settle(fused));
        states.push_back(precedence.kept(fused));
    }
    return states;
}

void reverse_covered(NodeSets& pa, std::span<const std::int64_t> margins) {
    const int n = pa.size();
    while (true) {
        notice_interrupt();
        std::int64_t least = 0;
        int best_x = -1, best_y = -1;
        for (int y = 0; y < n; ++y)
            for (int x : members(pa[y])) {
                const auto margin = margins[std::size_t(x) * n + y];
                if (margin >= 0 || std::tuple(margin, x, y) > std::tuple(least, best_x, best_y)) continue;
                if (equal(pa[y] - x, pa[x])) least = margin, best_x = x, best_y = y;
            }
        if (best_x < 0) return;
        pa[best_y].erase(best_x);
        pa[best_x].insert(best_y);
    }
}

}  // namespace fedbn
