#include "search/grow_shrink.hpp"

#include "interrupt.hpp"

namespace fedbn {

GrowShrinkTree::GrowShrinkTree(int y, std::vector<int> candidates, std::vector<int> required,
                               std::int64_t max_parents)
    : y_(y), candidates_(std::move(candidates)), required_(std::move(required)), max_parents_(max_parents) {
    forget();
}

void GrowShrinkTree::forget() {
    vertices_.assign(1, Vertex(-1, -1, std::ssize(required_)));
    vertices_.shrink_to_fit();
    bytes_ = sizeof(Vertex);
}

void GrowShrinkTree::add_vertex(int above, int branch) {
    vertices_[above].branches[branch].to = int(vertices_.size());
    vertices_.emplace_back(above, vertices_[above].branches[branch].x, vertices_[above].size + 1);
    bytes_ += sizeof(Vertex);
}

/// The parents of a vertex before shrinking, ascending.
std::vector<int> GrowShrinkTree::grown(int vertex) const {
    std::vector<int> parents = required_;
    for (int v = vertex; v > 0; v = vertices_[v].above) parents.push_back(vertices_[v].added);
    std::ranges::sort(parents);
    return parents;
}

bool GrowShrinkTree::grew_by(int vertex, int x) const {
    for (int v = vertex; v > 0; v = vertices_[v].above)
        if (vertices_[v].added == x) return true;
    return false;
}

void GrowShrinkTree::grow(Score& score, int vertex) {
    notice_interrupt();
    const auto parents = grown(vertex);
    std::vector<int> others;
    std::ranges::set_difference(candidates_, parents, std::back_inserter(others));
    std::vector<double> gains(others.size());
    const double here = score.local(y_, parents);
    if (!others.empty()) score.local_with(y_, parents, others, gains);
    std::vector<std::pair<double, int>> better;
    for (std::size_t i = 0; i < others.size(); ++i)
        if (gains[i] - here > tolerance_at(here)) better.emplace_back(gains[i] - here, others[i]);
    std::ranges::stable_sort(better, std::greater{}, &std::pair<double, int>::first);
    auto& grown = vertices_[vertex];
    grown.is_grown = true;
    grown.branches.reserve(better.size());
    for (auto [gain, x] : better) grown.branches.push_back({x, -1});
    bytes_ += better.size() * sizeof(Branch);
}

/// Takes parents away until that gains nothing; returns their score.
double GrowShrinkTree::shrink(Score& score, std::vector<int>& parents) const {
    double here = score.local(y_, parents);
    std::vector<double> without(parents.size());
    while (true) {
        const double tolerance = tolerance_at(here);
        double best = here + tolerance;
        std::vector<int> rest;
        for (std::size_t i = 0; i < parents.size(); ++i) {
            without[i] = -kInfinity;
            if (std::ranges::binary_search(required_, parents[i])) continue;
            rest = parents;
            rest.erase(rest.begin() + std::ptrdiff_t(i));
            without[i] = score.local(y_, rest);
            best = std::max(best, without[i]);
        }
        if (best <= here + tolerance) return here;
        std::size_t chosen = 0;
        while (without[chosen] <= here + tolerance || without[chosen] < best - tolerance) ++chosen;
        here = without[chosen];
        parents.erase(parents.begin() + std::ptrdiff_t(chosen));
    }
}

double GrowShrinkTree::shrunk(Score& score, int vertex) {
    double& known = vertices_[vertex].shrunk;
    if (std::isnan(known)) {
        auto parents = grown(vertex);
        known = shrink(score, parents);
    }
    return known;
}

std::vector<int> GrowShrinkTree::parents(Score& score, int vertex) const {
    auto parents = grown(vertex);
    shrink(score, parents);
    return parents;
}

}  // namespace fedbn
