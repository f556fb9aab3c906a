#include "consensus/min_cut.hpp"

namespace fedbn {

MinCut::MinCut(int n)
    : inside_(n), allowed_(n), reach_(n), rows_(n, n), used_(n, n), have_(n), origin_(n), queue_(n) {}

/// The row of v in the moral graph of the ancestral subgraph, without S.
void MinCut::fetch_row(const Input& g, int v) {
    have_[v] = 1;
    touched_.push_back(v);
    const auto row = rows_[v];
    const SetView children = g.dag().ch[v];
    if (is_subset(children, inside_)) {
        row = g.moral(v) & allowed_;
        return;
    }
    row = g.dag().pa[v] | (children & inside_);
    for (int c : members(children & inside_)) row |= g.dag().pa[c];
    row.erase(v);
    row &= allowed_;
}

/// Send one unit along the path from y to x that `origin_` holds.
void MinCut::use_path(int y, int x) {
    for (int c = x; c != y; c = origin_[c]) {
        const int v = origin_[c];
        if (used_[c].has(v))
            used_[c].erase(v);
        else
            used_[v].insert(c);
    }
}

/// One augmenting path from y to x in the residual graph; else `reach_` is what y reaches.
bool MinCut::augment(const Input& g, int y, int x) {
    reach_.clear();
    reach_.insert(y);
    queue_[0] = y;
    for (int start = 0, end = 1; start < end; ++start) {
        const int v = queue_[start];
        if (!have_[v]) fetch_row(g, v);
        fresh_ = rows_[v] - used_[v] - reach_;
        reach_ |= fresh_;
        for (int c : members(fresh_)) {
            origin_[c] = v;
            queue_[end++] = c;
        }
        if (reach_.has(x)) return true;
    }
    return false;
}

/// One unit over the edge x - y and over every common neighbour; how many that are.
int MinCut::send_along_short_paths(const Input& g, int x, int y) {
    int value = 0;
    if (rows_[y].has(x)) {
        ++value;
        used_[y].insert(x);
    }
    for (int c : members(rows_[y] & rows_[x])) {
        used_[y].insert(c);
        fetch_row(g, c);
        used_[c].insert(x);
        ++value;
    }
    return value;
}

int MinCut::max_flow(const Input& g, int x, int y) {
    touched_.clear();
    int value = 0;
    fetch_row(g, x);
    if (any(rows_[x])) {
        fetch_row(g, y);
        if (any(rows_[y])) {
            value = send_along_short_paths(g, x, y);
            for (; augment(g, y, x); ++value) use_path(y, x);
        }
    }
    forget_rows();
    return value;
}

/// No row is fetched, no edge used; `touched_` stays.
void MinCut::forget_rows() {
    for (int v : touched_) {
        have_[v] = 0;
        used_[v].clear();
    }
}

std::vector<int> MinCut::any_path(const Input& g, int x, int y) {
    touched_.clear();
    std::vector<int> path;
    if (augment(g, y, x)) {
        for (int c = x; c != y; c = origin_[c]) path.push_back(c);
        path.push_back(y);
    }
    forget_rows();
    return path;
}

std::vector<Arc> MinCut::arcs(const Input& g) const {
    std::vector<Arc> found;
    for (int v : members(reach_)) {
        const auto up = g.dag().pa[v] & (allowed_ - reach_), down = g.dag().ch[v] & (allowed_ - reach_);
        for (int w = 0; w < up.words(); ++w) {  // word by word, in the order of recorded paths
            for (Word word = up.word(w); word; word &= word - 1) found.push_back({64 * w + std::countr_zero(word), v});
            for (Word word = down.word(w); word; word &= word - 1) found.push_back({v, 64 * w + std::countr_zero(word)});
        }
    }
    return found;
}

}  // namespace fedbn
