#include "search/class_search.hpp"

namespace fedbn {

ClassSearch::ClassSearch(Score& score, Dag start, Rules rules)
    : score_(score),
      graph_(std::move(start)),
      rules_(std::move(rules)),
      is_constrained_(rules_.knowledge && !rules_.knowledge->says_nothing()),
      apart_(graph_.n(), graph_.n()),
      together_(graph_.n(), graph_.n()),
      rows_(std::size_t(kKinds) * graph_.n()),
      present_score_(total()),
      cliques_(graph_.n()) {
    for (auto& row : rows_) row.stale = AllBelow{graph_.n()};
    if (!rules_.knowledge) return;
    const auto& [forbidden, required] = *rules_.knowledge;
    const auto not_caused = forbidden.transposed(), causes = required.transposed();
    for (int v = 0; v < graph_.n(); ++v) {
        apart_[v] = forbidden[v] & not_caused[v];
        together_[v] = required[v] | causes[v];
    }
}

std::optional<Dag> ClassSearch::member() {
    if (rules_.knowledge) return constrained_extension(graph_.cpdag, *rules_.knowledge);
    return graph_.settle() ? std::optional(graph_.dag) : std::nullopt;
}

std::vector<Lead> ClassSearch::leads(Kind kind) {
    std::vector<Lead> leads;
    for (int y = 0; y < graph_.n(); ++y) {
        refresh(kind, y);
        for (Operator& op : row(kind, y).operators) {
            if (!is_valid(op)) continue;
            ClassGraph moved = graph_;
            const bool was_moved = moved.apply(op);
            leads.push_back({op, was_moved ? std::optional(std::move(moved.cpdag)) : std::nullopt});
        }
    }
    return leads;
}

Outcome ClassSearch::climb(std::span<const Kind> kinds, std::optional<std::int64_t> budget) {
    const auto begin = score_.counted();
    int looked = 0;
    for (std::size_t position = 0; position < kinds.size();) {
        const Kind kind = kinds[position];
        for (int y = 0; y < graph_.n(); ++y) {
            if (!any(row(kind, y).stale)) continue;
            if (budget && score_.counted() - begin + looked > *budget) return Outcome::paused;
            refresh(kind, y);
            ++looked;
        }
        Operator* const op = choose(kind, tolerance_at(present_score_));
        if (!op) {
            ++position;
        } else if (is_constrained_ && !is_permitted(*op)) {
            op->barred = true;
        } else {
            present_score_ += op->gain;
            if (!step(*op)) return Outcome::broken;
            ++steps_[int(kind)];
            position = 0;
        }
    }
    return Outcome::done;
}

void ClassSearch::look(std::span<const Kind> kinds) {
    for (const Kind kind : kinds) {
        for (int y = 0; y < graph_.n(); ++y)
            if (any(row(kind, y).stale)) refresh(kind, y);
        if (choose(kind, tolerance_at(present_score_))) return;
    }
}

/// Among the valid operators whose gain is within the tolerance of the greatest, the first by
/// (y, x, set), or any at random; none if none gains more than the tolerance.
Operator* ClassSearch::choose(Kind kind, double tolerance) {
    const double best = greatest_gain(kind, tolerance);
    if (best <= tolerance) return nullptr;
    const double least = std::max(best - tolerance, tolerance);
    Operator* chosen = nullptr;
    int ties = 0;
    std::vector<Operator*> equals;
    for (int y = 0; y < graph_.n(); ++y) {
        if (row(kind, y).ceiling < least) continue;
        equals.clear();
        for (auto& op : row(kind, y).operators) {
            if (op.gain < least) break;
            if (!op.barred) equals.push_back(&op);
        }
        std::ranges::sort(equals, [this](const Operator* l, const Operator* r) {
            if (l->x != r->x) return l->x < r->x;
            return rules_.random_ties ? l->number > r->number : comes_before(l->set, r->set);
        });
        for (auto* op : equals) {
            if (!is_valid(*op)) continue;
            if (!rules_.random_ties) return op;
            if (rules_.random_ties->next() % ++ties == 0) chosen = op;
        }
    }
    return chosen;
}

/// The greatest gain of a valid operator, or the tolerance if none gains more. The row that promises
/// most is looked into; it keeps its promise, or its ceiling comes down.
double ClassSearch::greatest_gain(Kind kind, double tolerance) {
    const auto rows = std::span(rows_).subspan(std::size_t(kind) * graph_.n(), graph_.n());
    if (rows.empty()) return tolerance;
    while (true) {
        Row& top = *std::ranges::max_element(rows, {}, &Row::ceiling);
        if (top.ceiling <= tolerance) return tolerance;
        double best = tolerance;
        for (auto& op : top.operators) {
            if (op.gain <= tolerance) break;
            if (!op.barred && is_valid(op)) {
                best = op.gain;
                break;
            }
        }
        if (best >= top.ceiling) return best;
        top.ceiling = best;
    }
}

void ClassSearch::take_away(Dag without, int y, int x) {
    const Pdag before = std::move(graph_.cpdag);
    list(without.pa[y], parents_);
    present_score_ += score_.local(y, parents_);
    parents_.push_back(x);
    present_score_ -= score_.local(y, parents_);
    graph_ = ClassGraph(std::move(without));
    apart_[y].insert(x), apart_[x].insert(y);
    void_changed(before, Operator{.kind = Kind::remove, .y = y, .x = x, .set = NodeSet(graph_.n())});
}

void ClassSearch::allow(int y, int x) {
    for (auto [v, z] : {std::pair(y, x), std::pair(x, y)}) {
        apart_[v].erase(z);
        row(Kind::insert, v).stale.insert(z);
    }
}

/// Apply an operator and void what it touched; false if it was not valid.
bool ClassSearch::step(Operator op) {
    const Pdag before = graph_.cpdag;
    if (!graph_.apply(op)) return false;
    void_changed(before, op);
    return true;
}

/// Void what an operator touched; of it, the edge and the kind are looked at.
void ClassSearch::void_changed(const Pdag& before, const Operator& by) {
    const auto& [pa, ch, ne] = graph_.cpdag;
    NodeSet changed(graph_.n());
    bool directed = false;  // whether an undirected edge is not undirected any more
    for (int v = 0; v < graph_.n(); ++v) {
        if (!equal(before.pa[v], pa[v]) || !equal(before.ne[v], ne[v])) changed.insert(v);
        directed |= !is_subset(before.ne[v], ne[v]);
    }
    if (by.kind != Kind::insert || directed)  // paths may have closed
        for (auto& row : rows_) row.ceiling = row.best();
    mark_stale(Kind::remove, changed, by);
    mark_stale(Kind::turn, changed, by);
    if (by.kind == Kind::insert && ne[by.y].has(by.x))
        for (auto [v, z] : {std::pair(by.y, by.x), std::pair(by.x, by.y)})
            if (equal(before.pa[v], pa[v]) && equal(before.ne[v], ne[v] - z)) {
                changed.erase(v);
                row(Kind::insert, v).stale |= graph_.adj[z];
                grow(row(Kind::insert, v), {z});
            }
    mark_stale(Kind::insert, changed, by);
    if (is_constrained_)
        for (auto& row : rows_) {
            row.ceiling = kInfinity;
            for (auto& other : row.operators) other.barred = false;
        }
}

}  // namespace fedbn
