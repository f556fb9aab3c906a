// The record of operators: what there are, what they gain, and which of them a step voids. Cliques are tested here,
// paths in operator_validity.cpp.
#include "interrupt.hpp"
#include "search/class_search.hpp"

namespace fedbn {

void Cliques::begin(const NodeSets& adj, std::span<const int> clique, const Set auto& choice) {
    adj_ = &adj;
    clique_.clear();
    for (int v : clique) clique_.insert(v);
    choices_[0] = choice;
    added_.clear();
}

bool Cliques::next(bool deeper) {
    notice_interrupt();
    while (true) {
        auto choice = choices_[added()];
        if (const int v = deeper ? first(choice) : -1; v >= 0) {
            choice.erase(v);
            choices_[added() + 1] = choice & (*adj_)[v];
            clique_.insert(v);
            added_.push_back(v);
            return true;
        }
        if (added_.empty()) return false;
        clique_.erase(added_.back());
        added_.pop_back();
        deeper = true;
    }
}

void ClassSearch::keep(Row& row, Kind kind, int y, int x, double gain, const Set auto& set) {
    if (!(gain > rules_.floor)) return;
    row.operators.push_back({kind, y, x, set, gain, found_++, false, {}});
    row.ceiling = std::max(row.ceiling, gain);
}

/// Look at the operators of the stale pairs of a row.
void ClassSearch::refresh(Kind kind, int y) {
    Row& row = this->row(kind, y);
    std::erase_if(row.operators, [&](const Operator& op) { return row.stale.has(op.x); });
    switch (kind) {
        case Kind::insert: refresh_inserts(row, y); break;
        case Kind::remove: refresh_deletes(row, y); break;
        case Kind::turn: refresh_turns(row, y); break;
    }
    std::ranges::stable_sort(row.operators, std::greater{}, &Operator::gain);
    row.stale.clear();
    row.grown.clear();
}

void ClassSearch::void_row(Row& row) {
    row.stale = AllBelow{graph_.n()};
    row.grown.clear();
}

/// The cliques with these nodes are new.
void ClassSearch::grow(Row& row, std::vector<int> nodes) {
    if (row.grown.empty())
        row.grown = std::move(nodes);
    else
        void_row(row);
}

/// Void the pairs whose operators may have changed. `changed` has the nodes v with another Pa(v) or
/// Ne(v). With the skeleton, NA_vx changes where y is in Ne(v), NA_vy where x is, and the cliques of
/// Ne(v) where both are.
void ClassSearch::mark_stale(Kind kind, const NodeSet& changed, const Operator& by) {
    for (int v = 0; v < graph_.n(); ++v) {
        Row& row = this->row(kind, v);
        const bool near_x = graph_.cpdag.ne[v].has(by.x), near_y = graph_.cpdag.ne[v].has(by.y);
        if (changed.has(v)) {
            void_row(row);
        } else if (by.kind != Kind::turn && near_x && near_y) {
            if (by.kind == Kind::insert && kind == Kind::insert)
                grow(row, {by.x, by.y});
            else
                void_row(row);
        } else if (kind == Kind::turn) {  // its gain has a term of x
            row.stale |= changed;
        }
        if (by.kind != Kind::turn) {
            if (near_y || v == by.y) row.stale.insert(by.x);
            if (near_x || v == by.x) row.stale.insert(by.y);
        }
    }
}

bool ClassSearch::within_max_t(int size) {
    if (size <= rules_.max_t) return true;
    met_max_t_ = true;
    return false;
}

void ClassSearch::refresh_inserts(Row& row, int y) {
    const auto ne = graph_.cpdag.ne[y];
    const auto possible = AllBelow{graph_.n()} - graph_.adj[y] - apart_[y] - y;
    list(possible & row.stale, candidates_);
    cliques_.begin(graph_.adj, {}, ne);
    insert_candidates(row, y);
    if (row.grown.empty()) return;
    list(possible - row.stale, candidates_);
    NodeSet choice = ne;
    for (int z : row.grown) choice &= graph_.adj[z];
    cliques_.begin(graph_.adj, row.grown, choice);
    insert_candidates(row, y);
}

/// Keep what gains of Insert(x, y, T) for the candidates x and the cliques NA_yx ∪ T.
void ClassSearch::insert_candidates(Row& row, int y) {
    if (candidates_.empty()) return;
    bool deeper;
    do {
        const NodeSet& clique = cliques_.present();
        ends_.clear();
        for (int x : candidates_)
            if (is_subset(graph_.na(y, x), clique) && within_max_t(count(clique - graph_.na(y, x))))
                ends_.push_back(x);
        list(graph_.cpdag.pa[y] | clique, parents_);
        deeper = std::int64_t(parents_.size()) < rules_.max_parents;
        if (ends_.empty()) continue;
        if (!deeper) {
            met_max_parents_ = true;
            continue;
        }
        scores_.resize(ends_.size());
        score_.local_with(y, parents_, ends_, scores_);
        const double base = score_.local(y, parents_);
        for (std::size_t i = 0; i < ends_.size(); ++i)
            keep(row, Kind::insert, y, ends_[i], scores_[i] - base, clique - graph_.adj[ends_[i]]);
    } while (cliques_.next(deeper));
}

/// Keep what gains of Delete(x, y, H), over the cliques NA_yx \ H.
void ClassSearch::refresh_deletes(Row& row, int y) {
    const auto& [pa, ch, ne] = graph_.cpdag;
    for (int x : members((row.stale & (pa[y] | ne[y])) - together_[y])) {
        const auto na = graph_.na(y, x);
        cliques_.begin(graph_.adj, {}, na);
        do {
            list((pa[y] | cliques_.present()) - x, parents_);
            double gain = score_.local(y, parents_);
            parents_.push_back(x);
            gain -= score_.local(y, parents_);
            keep(row, Kind::remove, y, x, gain, na - cliques_.present());
        } while (cliques_.next());
    }
}

/// Keep what gains of Turn(x, y, C), over the cliques C of Ne(y).
void ClassSearch::refresh_turns(Row& row, int y) {
    const auto& [pa, ch, ne] = graph_.cpdag;
    list(row.stale & (ch[y] | ne[y]), candidates_);
    if (candidates_.empty()) return;
    const int parents = count(pa[y]);
    cliques_.begin(graph_.adj, {}, ne[y]);
    bool deeper;
    do {
        const NodeSet& clique = cliques_.present();
        deeper = parents + cliques_.added() < rules_.max_parents;
        for (int x : candidates_) {
            if (!turn_fits(y, x, clique)) continue;
            if (!deeper) {
                met_max_parents_ = true;
                continue;
            }
            keep(row, Kind::turn, y, x, turn_gain(y, x, clique), clique);
        }
    } while (cliques_.next(deeper));
}

/// The conditions of Turn(x, y, C) on Ne(y) alone: C is a clique of Ne(y) by construction.
bool ClassSearch::turn_fits(int y, int x, const NodeSet& clique) {
    if (clique.has(x)) return false;
    const auto na = graph_.na(y, x);
    if (graph_.cpdag.ne[y].has(x)) {
        if (is_subset(clique, na) || !separates(y, x, clique)) return false;
    } else if (!is_subset(na, clique)) {
        return false;
    }
    return within_max_t(count(clique - na));
}

/// Whether C ∩ NA_yx separates C \ NA_yx and NA_yx \ C in the graph over Ne(y) \ {x}.
bool ClassSearch::separates(int y, int x, const NodeSet& clique) const {
    const auto na = graph_.na(y, x);
    const NodeSet around = graph_.cpdag.ne[y] - (clique & na) - x;
    NodeSet reached = clique - na, look = reached;
    for (int v = first(look); v >= 0; v = first(look)) {
        look.erase(v);
        look |= (graph_.adj[v] & around) - reached;
        reached |= graph_.adj[v] & around;
    }
    return !any((reached & na) - clique);
}

/// Two terms, of y and of x.
double ClassSearch::turn_gain(int y, int x, const NodeSet& clique) {
    const auto& [pa, ch, ne] = graph_.cpdag;
    list(pa[y] | clique, parents_);
    double gain = -score_.local(y, parents_);
    parents_.push_back(x);
    gain += score_.local(y, parents_);
    NodeSet gained(graph_.n());  // neighbours of x that become its parents
    if (ne[y].has(x)) gained = clique & graph_.adj[x];
    list((pa[x] | gained) - y, parents_);
    gain += score_.local(x, parents_);
    parents_.push_back(y);
    return gain - score_.local(x, parents_);
}

}  // namespace fedbn
