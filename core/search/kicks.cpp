#include "search/kicks.hpp"

#include "interrupt.hpp"
#include "search/totals.hpp"

namespace fedbn {

namespace {

constexpr int kNear = 2;    // edges between the pair that is kicked and the nodes of a walk
constexpr int kBeside = 1;  // edges between that pair and the nodes that lose edges, too
constexpr int kDraws = 4;   // for each edge of a kick

}  // namespace

Kicks::Kicks(Score& score, Dag start, HillRules rules, KickRules kick_rules, std::uint64_t seed)
    : hill_(score, std::move(start), std::move(rules)),
      tried_(hill_.n(), hill_.n()),
      rules_(kick_rules),
      random_{seed} {}

/// Row y has the parents of y, its children, and the other parents of these.
NodeSets Kicks::markov_blankets() const {
    const auto& [pa, ch] = hill_.place.dag;
    NodeSets blankets(hill_.n(), hill_.n());
    for (int v = 0; v < hill_.n(); ++v) {
        blankets[v] |= pa[v] | ch[v];
        for (int p : members(pa[v])) blankets[p] |= pa[v];
    }
    for (int v = 0; v < hill_.n(); ++v) blankets[v].erase(v);
    return blankets;
}

/// For every node its Markov blanket, and those that would gain most as a further parent, of equals
/// the first (Friedman, Nachman & Pe'er 1999).
void Kicks::choose_candidates() {
    const double tolerance = tolerance_at(hill_.place.score);
    NodeSets chosen = markov_blankets();
    for (int y = 0; y < hill_.n(); ++y) {
        NodeSet left = hill_.candidates[y] - hill_.place.dag.pa[y];
        for (auto number = rules_.candidates; number > 0 && any(left); --number) {
            int best = first(left);
            for (int x : members(left))
                if (hill_.change(y, x) > hill_.change(y, best) + tolerance) best = x;
            left.erase(best);
            chosen[y].insert(best), chosen[best].insert(y);
        }
    }
    hill_.candidates = std::move(chosen);
}

/// The edge that costs least, of equals the first, among those that are not required and not tried.
std::optional<Kicks::Edge> Kicks::cheapest_edge() const {
    const double tolerance = tolerance_at(hill_.place.score);
    double least = kInfinity;
    std::optional<Edge> cheapest;
    for (int y = 0; y < hill_.n(); ++y)
        for (int x : members(hill_.place.dag.pa[y] - hill_.rules.knowledge.required[y] - tried_[y]))
            if (-hill_.change(y, x) < least - tolerance) {
                least = -hill_.change(y, x);
                cheapest = {y, x};
            }
    return cheapest;
}

std::vector<int> Kicks::nodes_near(Edge edge, int distance) const {
    const auto& [pa, ch] = hill_.place.dag;
    NodeSet found(hill_.n());
    found.insert(edge.y), found.insert(edge.x);
    std::vector<int> nodes;
    list(found, nodes);
    for (; distance > 0; --distance) {
        for (int v : nodes) found |= pa[v] | ch[v];
        list(found, nodes);
    }
    return nodes;
}

/// One of the nodes and one of its parents at random; nothing if it has none, or the edge is required.
std::optional<Kicks::Edge> Kicks::draw_edge(const std::vector<int>& nodes) {
    const int y = nodes[random_.next() % nodes.size()];
    std::vector<int> parents;
    list(hill_.place.dag.pa[y], parents);
    if (parents.empty()) return std::nullopt;
    const int x = parents[random_.next() % parents.size()];
    if (hill_.rules.knowledge.required[y].has(x)) return std::nullopt;
    return Edge{y, x};
}

/// Draw edges into the nodes, and reverse those that are covered (Chickering 1995), where knowledge
/// allows it: another member of the equivalence class.
void Kicks::walk(const std::vector<int>& nodes) {
    const auto& pa = hill_.place.dag.pa;
    for (auto draws = rules_.reversals; draws > 0; --draws) {
        const auto edge = draw_edge(nodes);
        if (!edge) continue;
        const auto [y, x] = *edge;
        if (!hill_.rules.knowledge.forbidden[x].has(y) && equal(pa[y] - x, pa[x]))
            hill_.make({Change::reverse, y, x, hill_.gain(Change::reverse, y, x)});
    }
}

/// The pair is tabu from then on.
void Kicks::take_away(Edge edge) {
    const auto [y, x] = edge;
    hill_.make({Change::remove, y, x, hill_.change(y, x)});
    hill_.forbid_moves_on(y, x);
}

/// Take an edge away, and edges beside it; climb in order while these pairs are tabu, and climb
/// again; both times from a member of the class that a walk nearby leads to.
void Kicks::kick(Edge edge) {
    const auto nodes = nodes_near(edge, kNear), beside = nodes_near(edge, kBeside);
    take_away(edge);
    auto left = strength_ - 1;
    for (auto draws = kDraws * left; draws > 0 && left > 0; --draws)
        if (const auto another = draw_edge(beside)) {
            take_away(*another);
            --left;
        }
    for (const bool in_order : {true, false}) {
        walk(nodes);
        hill_.climb(Hill::kNever, in_order);
        hill_.lift_tabus();
    }
}

bool Kicks::iterate(std::int64_t budget) {
    if (!hill_.is_ready()) {
        hill_.prepare();
        choose_candidates();
        hill_.climb(Hill::kNever);
    }
    for (; budget > 0; --budget) {
        notice_interrupt();
        if (idle_ >= rules_.patience) return true;
        if (const auto edge = cheapest_edge()) {
            tried_[edge->y].insert(edge->x), tried_[edge->x].insert(edge->y);
            before_ = hill_.place;
            const double best = hill_.best_score;
            kick(*edge);
            ++kicks_, ++idle_;
            settle_for_better(best);
        } else {
            if (std::ranges::none_of(tried_.bits(), std::identity())) return true;
            std::ranges::fill(tried_.bits(), 0);
            strength_ = std::min(strength_ + 1, rules_.strongest);
        }
    }
    return false;
}

/// Go back if the kick led below the best; begin anew with weak kicks if it led above.
void Kicks::settle_for_better(double best_before) {
    Place& place = hill_.place;
    double& best = hill_.best_score;
    if (best > best_before) {  // or is it but rounding, of which many steps add up?
        place.score = total_of(hill_.score, place.dag.pa);
        best = total_of(hill_.score, hill_.best_parents);
    }
    if (place.score < best - tolerance_at(best)) place = before_;
    if (best > best_before + tolerance_at(best_before)) {
        idle_ /= 2;
        strength_ = 1;
        std::ranges::fill(tried_.bits(), 0);
    }
}

}  // namespace fedbn
