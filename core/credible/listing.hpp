// DAGs one by one: the paths of a diagram, or a depth-first search where a diagram does not fit.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "credible/diagram.hpp"

namespace fedbn {

/// Choices of families, by node, one DAG after the other.
struct Choices {
    std::size_t number = 0;
    std::vector<std::int32_t> families;  // [number, n]
};

/// Families that must not go with each family; their nodes are parents in it.
using Barred = std::vector<std::vector<std::int32_t>>;

/// The paths of a diagram with excess at most `budget` and without a barred pair, depth first. It meets no
/// dead end but for what is barred.
class PathListing {
public:
    PathListing(const Diagram& diagram, double budget, Barred barred);
    int n() const { return diagram_.n(); }
    /// At most so many more paths; none at the end.
    std::pair<Choices, std::vector<double>> next(std::size_t most);

private:
    struct Step {
        std::size_t arc;  // to be tried next
        std::int32_t state;
        double spent;
    };
    void enter(std::int32_t state, double spent);
    bool is_barred(int family) const;

    const Diagram& diagram_;
    double limit_;
    Barred barred_;
    std::vector<std::vector<std::size_t>> first_arcs_;  // [layer][state]
    std::vector<Step> path_;                            // empty at the end
    std::vector<std::int32_t> taken_;                   // [node]: its family on the path
};

/// The DAGs within the problem's limit by depth-first search over the states of the diagram, without
/// merging them (Liao et al. 2019, section 4). It needs little memory and may take very long.
class DepthFirst {
public:
    explicit DepthFirst(const Problem& problem);
    /// More DAGs, until there are `most`, `max_steps` steps are taken in all or the search is stopped.
    Choices next(std::size_t most, std::int64_t max_steps, const Stop& stop);
    int n() const { return problem_.n(); }
    bool done() const { return depth_ < 0; }
    std::int64_t steps() const { return steps_; }

private:
    struct Step {
        std::vector<Word> row;  // the state
        int node = 0, family = 0;  // to be tried next
        double spent = 0, ahead = 0;  // `ahead` bounds what follows the node
    };
    void try_family(Step& now);

    const Problem& problem_;
    Completion completion_;
    std::vector<Step> path_;  // [n + 1]
    std::vector<std::int32_t> taken_;  // [node]: its family
    int depth_ = 0;
    std::int64_t steps_ = 0;
};

}  // namespace fedbn
