// Scores of tables of numbers and categories: the degenerate Gaussian of Andrews, Ramsey & Cooper (2019).
//
// A number is one column, a category of r states r - 1 indicators; a variable v is a block B_v of columns. With the
// correlations C of all columns,
//
//     J(A) = Σ_{v in A} constant_v - N/2 ln det C[B_A] - penalty (R_A² - Σ_{v in A} R_v²) / 2
//
// R is a rank. Where all blocks are regular together, R_A is Σ R_v, and s(v, P) costs the penalty R_v R_P times.
// A column of which the others leave at most kLeastShare of its variance is determined: it adds neither to the
// determinant nor to the rank. (Cholesky's factor by the largest pivot, ties by place.) Each member of A whose whole
// block the others determine costs `refusal`, which is more than any fit gains: such a family is never chosen.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scores/score.hpp"

namespace fedbn {

constexpr double kLeastShare = 1e-10;  // of a column's variance: what the others must leave of it

/// What a set of variables has, whatever the number of rows.
struct BlockFit {
    double log_det = 0;   // of the correlations of its columns
    double pairs = 0;     // (R_A² - Σ R_v²) / 2
    double determined = 0;  // members whose whole block the others determine
};

/// The correlations of all columns, block by block; of each block the columns that it does not determine itself.
class Blocks {
public:
    /// covariance: M rows of M; widths: how many of the columns each variable has.
    Blocks(std::span<const double> covariance, std::span<const int> widths);
    /// As they were: correlations of the columns that were kept.
    Blocks(std::vector<double> correlations, std::span<const int> ranks, std::vector<double> log_variances);

    int n() const { return static_cast<int>(starts_.size()) - 1; }
    int rank(int v) const { return starts_[v + 1] - starts_[v]; }
    int rank() const { return starts_.back(); }
    /// Σ ln variance over the columns that were kept of v.
    double log_variances(int v) const { return log_variances_[v]; }
    const std::vector<double>& correlations() const { return correlations_; }
    const std::vector<double>& log_variances() const { return log_variances_; }
    /// The members in any order.
    BlockFit fit(std::span<const int> members) const;

private:
    struct Work;
    std::pair<double, int> factorise(std::span<const int> members, Work& work) const;
    double correlation(int a, int b) const { return correlations_[std::size_t(a) * rank() + b]; }

    std::vector<double> correlations_, log_variances_;
    std::vector<int> starts_;
};

/// A criterion on blocks: rows with their weight, and what a parameter costs.
struct BlockRung {
    double rows;
    double penalty;
};

/// J of a fit, without the constants of its members.
double value_of(const BlockFit& fit, const BlockRung& rung, int all_columns);

/// BIC and AIC of numbers and categories, for one of the rungs; the others share what was factorised.
class MixedScore : public Score {
public:
    /// memory: bytes for the fits that are kept.
    MixedScore(std::shared_ptr<const Blocks> blocks, BlockRung rung, std::size_t memory);

    void use_threads(int threads) override;
    int threads() const override { return fits_->workers ? fits_->workers->threads() : 1; }
    ScoreKind kind() const override { return ScoreKind::mixed; }
    int n() const override { return static_cast<int>(nodes_.size()); }
    double joint(std::span<const int> members) override;
    double local(int y, std::span<const int> parents) override;
    void local_with(int y, std::span<const int> parents, std::span<const int> xs,
                    std::span<double> scores) override;
    std::int64_t counted() const override {
        const std::lock_guard turn(fits_->turn);
        return counted_;
    }
    int emptied() const override {
        const std::lock_guard turn(fits_->turn);
        return fits_->store.emptied();
    }

    /// The same table under another rung.
    MixedScore at(BlockRung rung) const;
    /// The same over some of the variables, in the order given.
    MixedScore over(std::span<const int> nodes) const;
    /// Whether a member of the family is determined by the others: its score says that it must not be.
    bool refuses(int y, std::span<const int> parents);
    int rank(int v) const { return blocks_->rank(nodes_[v]); }
    const std::shared_ptr<const Blocks>& blocks() const { return blocks_; }
    const BlockRung& rung() const { return rung_; }
    const std::vector<int>& nodes() const { return nodes_; }
    std::size_t memory() const { return memory_; }

    /// J of a set that nobody keeps: threads may ask at the same time.
    double joint_afresh(std::span<const int> members) const;

private:
    /// What the rungs share.
    struct Fits {
        explicit Fits(int n, std::size_t memory) : store(n, 3, memory) {}
        std::mutex turn;
        std::unique_ptr<Workers> workers;  // none for one thread
        Store store;
    };
    /// One of the sets P ∪ {x} and P ∪ {x, y}, which nobody knows.
    struct Missing {
        int x, y;  // y is -1 where it is not in the set
        Key key;
        BlockFit fit;
    };

    BlockFit fit(std::span<const int> members, int more = -1, int most = -1);
    std::optional<BlockFit> known(Key key) const;
    BlockFit keep(Key key, const BlockFit& found);
    void fit_ahead(int y, std::span<const int> parents, std::span<const int> xs);
    double value(const BlockFit& fit) const { return value_of(fit, rung_, blocks_->rank()); }

    std::shared_ptr<const Blocks> blocks_;
    BlockRung rung_;
    std::size_t memory_;
    std::shared_ptr<Fits> fits_;
    std::vector<Key> signs_;
    std::vector<int> nodes_, family_;
    std::vector<Missing> missing_;
    std::int64_t counted_ = 0;
};

}  // namespace fedbn
