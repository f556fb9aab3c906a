// Decomposable scores: s(y, P) = J(P ∪ {y}) - J(P), with a function J of sets.
//
// Every score here gives all members of an equivalence class the same total, and so there is such a
// J: the log-score of a complete graph over the set. One stored number per set serves every node of
// the set as the child.
//
//     BDeu       J(A) = Σ_cells [ln Γ(k n_c + α) - ln Γ(α)], α = ess / Π_{a in A} r_a; the cells are
//                the observed configurations of A, unseen ones contribute exactly 0
//     BIC, AIC   J(A) = k Σ_cells n_c ln n_c - penalty (Π_{a in A} r_a - 1)
//     Gaussian   J(A) = constant[|A|] - exponent[|A|] ln det gram[A, A]   (BIC, AIC and BGe)
//     mixed      as the Gaussian BIC and AIC of blocks of columns, see mixed.hpp
//
// k is the row weight, by which every count is multiplied; k N ln k is left out of BIC and AIC, as it
// is the same for every set. Gaussian scores hold k in `constant`, `exponent` and `gram`.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "scores/counter.hpp"
#include "scores/row_parts.hpp"
#include "scores/store.hpp"
#include "scores/table.hpp"
#include "scores/terms.hpp"
#include "scores/workers.hpp"

namespace fedbn {

/// Threads may ask one score at the same time: each call is finished before the next begins. A score may have threads
/// of its own (`use_threads`), which share the sets of one `local_with`; its values have the same bytes with any number.
class Score {
public:
    virtual ~Score() = default;
    /// From now on, with that of the caller; also those of scores that share what is counted. (A score that computes
    /// nothing has no use for them.)
    virtual void use_threads(int) {}
    virtual int threads() const { return 1; }
    virtual ScoreKind kind() const = 0;
    virtual int n() const = 0;
    /// J of a set.
    virtual double joint(std::span<const int> members) = 0;
    /// s(y, P).
    virtual double local(int y, std::span<const int> parents) = 0;
    /// scores[i] := J(P ∪ {y, xs[i]}) - J(P ∪ {xs[i]}), that is s(y, P ∪ {xs[i]}).
    virtual void local_with(int y, std::span<const int> parents, std::span<const int> xs,
                            std::span<double> scores) = 0;
    /// How many sets were counted so far.
    virtual std::int64_t counted() const = 0;
    /// How often the store of counted sets was emptied.
    virtual int emptied() const = 0;
};

/// What the scores of one table share, at every rung and over some of its variables.
struct Counted {
    Counted(ScoreKind kind, GivenCodes codes, std::vector<int> arities, std::vector<Rung> rungs,
            std::size_t memory, int threads);

    /// Share the counting among so many.
    void use_threads(int threads);

    /// What a thread needs to count and to add up for itself, in cache lines of its own.
    struct alignas(kCacheLine) Work {
        Cells cells;
        Terms terms;
    };

    ScoreKind kind;
    std::vector<Rung> rungs;
    std::size_t memory;  // bytes: a quarter for bitmaps, half for the store
    std::unique_ptr<Workers> workers;  // none for one thread
    Table table;
    Counter counter;
    std::vector<Work> works;  // one for each worker
    Store store;
    std::vector<Key> signs;
    std::int64_t sets = 0;  // that were counted
    std::mutex turn;
    std::unique_ptr<Parts> parts;  // that the workers count in; none for one thread
};

/// BDeu, BIC and AIC of categorical data, for one of the rungs; the others share what is counted.
class DiscreteScore : public Score {
public:
    DiscreteScore(std::shared_ptr<Counted> counted, std::size_t rung);

    void use_threads(int threads) override;
    int threads() const override { return static_cast<int>(shared_->works.size()); }
    ScoreKind kind() const override { return shared_->kind; }
    int n() const override { return static_cast<int>(nodes_.size()); }
    double joint(std::span<const int> members) override;
    double local(int y, std::span<const int> parents) override;
    void local_with(int y, std::span<const int> parents, std::span<const int> xs,
                    std::span<double> scores) override;
    std::int64_t counted() const override;
    int emptied() const override;

    /// The same over some of the variables, in the order given.
    DiscreteScore over(std::span<const int> nodes) const;
    const Column& column(int v) const { return shared_->table.columns[nodes_[v]]; }
    int arity(int v) const { return column(v).arity; }
    const Table& table() const { return shared_->table; }
    const Rung& rung() const { return shared_->rungs[rung_]; }
    std::size_t rung_number() const { return rung_; }
    const std::vector<int>& nodes() const { return nodes_; }
    const std::shared_ptr<Counted>& shared() const { return shared_; }

private:
    struct Size {  // Π r; the product while it is exact, so that no order of the members matters
        double product = 1, logs = 0;
        Size times(int arity) const;
        double log() const;
    };

    /// A pair of sets, P ∪ {x} and P ∪ {x, y}, of which at least one is not known.
    struct Missing {
        std::size_t place;  // of x among those that are asked for
        int x;
        Key part_key, whole_key;
        double part, whole;  // NaN where it is not known
    };

    double joint_of_columns(std::span<const int> columns);
    double keep(Key key, std::span<const double> values);
    double known(Key key) const;
    std::span<const int> columns_of(std::span<const int> members);
    Size size_of(std::span<const int> columns) const;
    void count_missing(int child, std::span<const int> family);
    void count_alone(std::size_t place, int child, std::span<const int> family, Size size, bool first);
    void add_up(int worker, std::size_t place, int child, Size size);
    void keep_opened(const auto& counter, int child, Size size);

    std::shared_ptr<Counted> shared_;
    std::size_t rung_;
    std::vector<int> nodes_;  // which columns of the table the variables are
    std::vector<int> family_, others_, xs_;
    std::vector<Missing> missing_;
    std::vector<double> counted_;  // J of the parts and the wholes that are missing, for every rung
};

}  // namespace fedbn
